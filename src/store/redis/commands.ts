/**
 * Asking Redis: scripts, and many questions at a time.
 *
 * A script is all that Redis does in one step, in Lua. Every script looks first and writes then, so that one
 * which stops has written nothing; and it puts in before it takes out, as Redis asks whether there is memory
 * left only before the first write. They answer with a word: `kept`, `conflict`, `stale` (see `runFenced`),
 * or `wrongtype` or `schema` with what is in the way (see `throwIfFault`).
 *
 * Arguments come as words, or as a count and so many words. Lists are handed on in pieces, for Lua takes a
 * few thousand values at a time.
 */

import { createHash } from 'node:crypto';
import type { ChainableCommander, Redis } from 'ioredis';
import type { RedisContext } from './context.ts';
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

/** A script of these parts, which may read its arguments and write lists. */
export function script(...parts: readonly string[]): Script {
  const text = [reading, ...parts].join('\n');
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

/** Ends a script if another program's key is there: each of KEYS is of the type given, or not there. */
export function expectTypes(...types: readonly ('string' | 'hash' | 'zset')[]): string {
  return `
local strange = wrong_type(${types.map(type => `'${type}'`).join(', ')})
if strange then return {'wrongtype', strange} end`;
}

/** Ends a script that `runFenced` did not send over the present connection; KEYS[1] is the fences. */
export const fenced = `
local writer, fence = word(), word()
if redis.call('HGET', KEYS[1], writer) ~= fence then return {'stale'} end`;

/**
 * Id of this server, in this life of its own: one that takes another's place, or was started again, may have
 * lost what was acknowledged. Empty if it does not say.
 */
export const serverLua = `
local function server()
  local info = redis.pcall('INFO', 'server')
  return type(info) == 'string' and string.match(info, 'run_id:(%w+)') or ''
end`;

/** Number of replicas that follow now; nil if the server does not say. */
export const replicasOf = `
local function replicas()
  local info = redis.pcall('INFO', 'replication')
  if type(info) ~= 'string' or not string.find(info, 'connected_slaves:') then return nil end
  local _, count = string.gsub(info, 'state=online', '')
  return count
end`;

export type Word = string | Buffer;

/** A list as scripts read it. */
export function words(list: readonly Word[]): readonly Word[] {
  return [String(list.length), ...list];
}

/** Splits a list of Redis or of a script, in which names and values take turns. */
export function pairs<T>(list: readonly T[]): readonly (readonly [T, T])[] {
  return list.flatMap((name, at) => {
    const value = list[at + 1];
    return at % 2 === 1 || value === undefined ? [] : [[name, value] as const];
  });
}

/** A list in parts of at most so many. */
export function* parts<T>(list: readonly T[], most: number): Generator<readonly T[]> {
  for (let start = 0; start < list.length; start += most) yield list.slice(start, start + most);
}

type Fill = (questions: ChainableCommander) => ChainableCommander;

/** Asks these questions in one message, one after the other; others may come between. */
export async function pipeline(client: Redis, fill: Fill): Promise<readonly unknown[]> {
  const results = (await fill(client.pipeline()).exec()) ?? [];
  return results.map(([error, result]) => {
    if (error !== null) throw error;
    return result;
  });
}

/** A script with its KEYS and its ARGV. */
export type ScriptCall = readonly [script: Script, keys: readonly string[], args: readonly Word[]];

/** The answer of a script: a word, and the values that belong to it. */
export interface ScriptReply {
  readonly is: string;
  readonly with: readonly unknown[];
}

/** The reply, where nothing of another's lies in the way; else rejects with `store_refused`. */
export function runScript({ connection }: RedisContext, ...call: ScriptCall): Promise<ScriptReply> {
  return connection.run(async client => throwIfFault(connection.where, await sendScript(client, ...call)));
}

/** Another process of the same host may take the fence in between so often. */
const mostTries = 3;

/**
 * Runs a script that begins with `fenced`, with the fences as its first key.
 *
 * A message over a connection that broke may reach Redis after what was said later over the next one. So each
 * connection takes a number before it writes, and Redis refuses what comes with another one. Changes of
 * policy need none: each is made upon the one before, or not at all.
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
      fence.current ??= client.hincrby(names.fences, name, 1).then(String);
      taken = fence.current;
      const fencedArgs = [name, await taken, ...args];
      // From here to the sending nothing else happens: the number is that of this connection.
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

/** Sends the script itself only to a server that does not know it yet. */
export async function sendScript(client: Redis, ...[script, keys, args]: ScriptCall): Promise<ScriptReply> {
  const rest = [String(keys.length), ...keys, ...args];
  try {
    return replyIn(await client.call('evalsha', [script.sha, ...rest]));
  } catch (error) {
    if (replyCode(error) !== 'NOSCRIPT') throw error;
    return replyIn(await client.call('eval', [script.text, ...rest]));
  }
}

export function replyIn(reply: unknown): ScriptReply {
  const [is, ...rest] = Array.isArray(reply) ? reply : [];
  return { is: String(is), with: rest };
}

/** The reply, where nothing of another's lies in the way; else throws `store_refused`. */
export function throwIfFault(where: string, reply: ScriptReply): ScriptReply {
  const what = String(reply.with[0]);
  switch (reply.is) {
    case 'wrongtype':
      throw damaged(where, what, 'it is of another type');
    case 'schema':
      throw strangeSchema(where, String(reply.with[1]), what);
  }
  return reply;
}
