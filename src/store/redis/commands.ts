/**
 * Runs scripts and pipelines on Redis.
 *
 * Redis runs a script in Lua as one step. Every script checks first and writes then, so that a script that
 * stops has written nothing. It puts in before it takes out, since Redis checks only before the first write
 * whether there is memory left. Scripts answer with a word: `kept`, `conflict`, `stale` (see `runFenced`), or
 * `wrongtype` or `schema` with the key in the way (see `throwIfFault`).
 *
 * Arguments are single words, or a count and as many words. Lists are passed on in pieces, for Lua takes only
 * a few thousand values at a time.
 */

import { createHash } from 'node:crypto';
import type { ChainableCommander, Redis } from 'ioredis';
import { SoftquotaError } from '../../errors.ts';
import type { RedisContext } from './connection.ts';
import { away, damaged, replyCode, strangeSchema } from './faults.ts';
import { fieldName } from './keys.ts';

interface Script {
  readonly text: string;
  readonly sha: string;
}

const reading = `
local at = 0
local function word() at = at + 1; return ARGV[at] end
local function words()
  local count = tonumber(word())
  local first = at + 1
  at = at + count
  return { first, at }
end
local function pieces(list, act)
  for from = list[1], list[2], 1000 do
    act(unpack(ARGV, from, math.min(from + 999, list[2])))
  end
end
local function put(key, list) pieces(list, function(...) redis.call('HSET', key, ...) end) end
local function drop(key, list) pieces(list, function(...) redis.call('HDEL', key, ...) end) end
local function wrong_type(...)
  for place, kind in ipairs({...}) do
    local found = redis.call('TYPE', KEYS[place]).ok
    if found ~= 'none' and found ~= kind then return KEYS[place] end
  end
end`;

/** Makes a script of these parts, with helpers to read arguments and write lists. */
export function script(...parts: readonly string[]): Script {
  const text = [reading, ...parts].join('\n');
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

/** Ends a script if a key belongs to another program: each of KEYS has to be of its type, or not exist. */
export function expectTypes(...types: readonly ('string' | 'hash' | 'zset')[]): string {
  return `
local strange = wrong_type(${types.map(type => `'${type}'`).join(', ')})
if strange then return {'wrongtype', strange} end`;
}

/** Ends a script that `runFenced` did not send over the present connection; KEYS[1] is the hash of fences. */
export const fenced = `
local writer, fence = word(), word()
if redis.call('HGET', KEYS[1], writer) ~= fence then return {'stale'} end`;

/**
 * The id of this server's process: another server, or one that was restarted, may have lost acknowledged
 * writes. Empty if it does not say.
 */
export const serverLua = `
local function server()
  local info = redis.pcall('INFO', 'server')
  return type(info) == 'string' and string.match(info, 'run_id:(%w+)') or ''
end`;

export type Word = string | Buffer;

/** Makes a list in the form that scripts read. */
export function words(list: readonly Word[]): readonly Word[] {
  return [String(list.length), ...list];
}

/** Splits a list of Redis or a script into its alternating names and values. */
export function pairs<T>(list: readonly T[]): readonly (readonly [T, T])[] {
  return list.flatMap((name, at) => {
    const value = list[at + 1];
    return at % 2 === 1 || value === undefined ? [] : [[name, value] as const];
  });
}

type Fill = (questions: ChainableCommander) => ChainableCommander;

/**
 * Sends these commands in one message. They run one after the other; commands of others may come in between.
 */
export async function pipeline(client: Redis, fill: Fill): Promise<readonly unknown[]> {
  const results = (await fill(client.pipeline()).exec()) ?? [];
  return results.map(([error, result]) => {
    if (error !== null) throw error;
    return result;
  });
}

/** A script with its KEYS and its ARGV. */
type ScriptCall = readonly [script: Script, keys: readonly string[], args: readonly Word[]];

/** The answer of a script: a word, and the values that belong to it. */
interface ScriptReply {
  readonly is: string;
  readonly with: readonly unknown[];
}

/** Runs a script and returns its reply. Rejects with `store_refused` if other content lies in the way. */
export function runScript({ connection }: RedisContext, ...call: ScriptCall): Promise<ScriptReply> {
  return connection.run(async client => throwIfFault(connection.where, await sendScript(client, ...call)));
}

/** Limit of attempts, since another process of the same host may take the fence in between. */
const mostTries = 3;

/**
 * Runs a script that begins with `fenced`, with the fences as its first key.
 *
 * A message over a broken connection may reach Redis after later messages over the next one. So each
 * connection takes a number before it writes, and Redis refuses writes with another number. Changes of policy
 * need none: each is made upon the one before, or not at all.
 */
export async function runFenced(
  context: RedisContext,
  ...[script, keys, args]: ScriptCall
): Promise<ScriptReply> {
  const { connection, keys: names, writer, fence } = context;
  const name = fieldName(writer);
  for (let tries = 0; tries < mostTries; tries += 1) {
    let taken: Promise<string> | null = null;
    const reply = await connection.run(async client => {
      fence.current ??= client.hincrby(names.fences, name, 1).then(String, (error: unknown) => {
        // The server may take it later.
        fence.current = null;
        throw error;
      });
      taken = fence.current;
      const fencedArgs = [name, await taken, ...args];
      // Nothing else runs from here to the sending, so the number is that of this connection.
      if (fence.current !== taken) return { is: 'stale', with: [] };
      return throwIfFault(
        connection.where,
        await sendScript(client, script, [names.fences, ...keys], fencedArgs),
      );
    });
    if (reply.is !== 'stale') return reply;
    if (fence.current === taken) fence.current = null;
  }
  throw away(connection.where, 'another daemon writes with the name of this host at the same time');
}

/** Milliseconds to wait for replicas: a change is acknowledged or refused within 2 s. */
const replicaMs = 1200;

const outcomeUnknown =
  'it is not known whether the change was made. It may come into force within moments; to ask for it again does no harm';

/**
 * Runs a script that changes policy, and waits for replicas if the settings ask for that.
 *
 * WAIT counts only writes of its own connection. So both are sent together to one server, and if the
 * connection breaks both fail.
 */
export async function runReplicated(
  { policyConnection, waitReplicas }: RedisContext,
  ...call: ScriptCall
): Promise<ScriptReply> {
  const { where } = policyConnection;
  let isSent = false;
  const asked = policyConnection.run(async client => {
    isSent = true;
    if (waitReplicas === 0) return { reply: await sendScript(client, ...call), replicas: 0 };
    const [reply, replicas] = await acknowledged(client, call, waitReplicas);
    return { reply: replyIn(reply), replicas };
  });
  const { reply, replicas } = await asked.catch((error: unknown) => {
    throw isSent ? unlessRefused(error) : error;
  });
  if (reply.is === 'few') {
    throw away(
      where,
      `only ${Number(reply.with[0])} of ${waitReplicas} replicas (WAIT_REPLICAS) are there: nothing was changed`,
    );
  }
  if (throwIfFault(where, reply).is === 'kept' && replicas < waitReplicas) {
    throw away(
      where,
      `the change was made, but only ${replicas} of ${waitReplicas} replicas (WAIT_REPLICAS) acknowledged it within ` +
        `${replicaMs / 1000} s; it may be in force all the same`,
    );
  }
  return reply;
}

/** Adds to an error that the outcome is unknown, unless Redis refused the change or it was never sent. */
function unlessRefused(error: unknown): unknown {
  if (!(error instanceof SoftquotaError) || error.code !== 'store_away') return error;
  const wasNotSent = error.cause instanceof Error && error.cause.message.includes('enableOfflineQueue');
  if (wasNotSent || replyCode(error.cause) !== null) return error;
  return new SoftquotaError('store_away', `${error.message}; ${outcomeUnknown}`, { cause: error });
}

/**
 * Sends the script's text, never its hash: to a server that did not know the hash, the text would be sent
 * only after WAIT, which would then acknowledge a change that is not written yet.
 */
function acknowledged(
  client: Redis,
  [script, keys, args]: ScriptCall,
  waitReplicas: number,
): Promise<[unknown, number]> {
  return Promise.all([
    client.call('eval', [script.text, String(keys.length), ...keys, ...args]),
    // The script's own answer says whether the change was made.
    client.wait(waitReplicas, replicaMs).catch(() => 0),
  ]);
}

/** Sends a script by its hash, and its text only to a server that does not know it yet. */
export async function sendScript(client: Redis, ...[script, keys, args]: ScriptCall): Promise<ScriptReply> {
  const rest = [String(keys.length), ...keys, ...args];
  try {
    return replyIn(await client.call('evalsha', [script.sha, ...rest]));
  } catch (error) {
    if (replyCode(error) !== 'NOSCRIPT') throw error;
    return replyIn(await client.call('eval', [script.text, ...rest]));
  }
}

function replyIn(reply: unknown): ScriptReply {
  const [is, ...rest] = Array.isArray(reply) ? reply : [];
  return { is: String(is), with: rest };
}

/** Returns the reply; throws `store_refused` if other content lies in the way. */
function throwIfFault(where: string, reply: ScriptReply): ScriptReply {
  const what = String(reply.with[0]);
  switch (reply.is) {
    case 'wrongtype':
      throw damaged(where, what, 'it is of another type');
    case 'schema':
      throw strangeSchema(where, String(reply.with[1]), what);
  }
  return reply;
}
