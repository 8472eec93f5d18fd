/** Asking Redis: scripts, and many questions at a time. */

import type { ChainableCommander, Redis } from 'ioredis';
import type { RedisContext } from './context.ts';
import { away, damaged, replyCode, strangeSchema } from './faults.ts';
import { fieldName } from './keys.ts';
import type { Script } from './lua.ts';

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

export type Fill = (questions: ChainableCommander) => ChainableCommander;

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
