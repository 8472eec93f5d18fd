/** Asking Redis: scripts, and many questions at a time. */

import type { Redis } from 'ioredis';
import type { RedisContext } from './context.ts';
import { damaged, replyCode, strangeSchema } from './faults.ts';
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

/** Asked at a time: enough to keep Redis busy, few enough that others need not wait. */
const window = 100;

/** One answer each, in their order; after a fault nothing more is asked. */
export async function mapConcurrent<T, Answer>(
  { connection }: RedisContext,
  list: readonly T[],
  ask: (client: Redis, one: T) => Promise<Answer>,
): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  for (const some of parts(list, window)) {
    await connection.run(async client => {
      for (const outcome of await Promise.allSettled(some.map(one => ask(client, one)))) {
        if (outcome.status === 'rejected') throw outcome.reason;
        answers.push(outcome.value);
      }
    });
  }
  return answers;
}
