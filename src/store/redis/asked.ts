/** Asking Redis: scripts, transactions, and many questions at a time. */

import { setImmediate } from 'node:timers/promises';
import type { ChainableCommander, Cluster, Redis } from 'ioredis';
import type { RedisClient } from './address.ts';
import type { Connection } from './connection.ts';
import { away, damaged, newer, replyCode } from './faults.ts';
import type { Script } from './lua.ts';

export type Word = string | Buffer;

/** A list as scripts read it. */
export function words(list: readonly Word[]): readonly Word[] {
  return [String(list.length), ...list];
}

/** What a script answered: its word, and what it gave with it. */
export interface ScriptReply {
  readonly is: string;
  readonly with: readonly unknown[];
}

/** Sends the script itself only to a server that does not know it yet. */
export async function runScript(
  client: RedisClient,
  script: Script,
  keys: readonly string[],
  args: readonly Word[],
): Promise<ScriptReply> {
  try {
    return answerIn(await client.call('evalsha', [script.sha, String(keys.length), ...keys, ...args]));
  } catch (error) {
    if (replyCode(error) !== 'NOSCRIPT') throw error;
    return answerIn(await client.call('eval', [script.text, String(keys.length), ...keys, ...args]));
  }
}

export function answerIn(reply: unknown): ScriptReply {
  const [is, ...rest] = Array.isArray(reply) ? reply : [];
  return { is: String(is), with: rest };
}

/** The answer, where nothing of another's lies in the way; else throws `store_refused`. */
export function sound(where: string, answer: ScriptReply): ScriptReply {
  const what = String(answer.with[0]);
  switch (answer.is) {
    case 'wrongtype':
      throw damaged(where, what, 'it is of another type');
    case 'schema':
      throw strangeSchema(where, String(answer.with[1]), what);
  }
  return answer;
}

/** `schema` is what the policy's key has of it. */
export function strangeSchema(where: string, key: string, schema: string): Error {
  return /^\d+$/.test(schema)
    ? newer(where, key, schema)
    : damaged(where, key, 'it does not say which schema it has');
}

type Fill = (questions: ChainableCommander) => ChainableCommander;

/** These questions together, one after the other; others may come between. */
export async function pipeline(client: RedisClient, fill: Fill): Promise<readonly unknown[]> {
  return resultsOf(await fill(client.pipeline()).exec());
}

/** All of these at one moment. A Redis whose memory is full takes no transactions, also to read only. */
export async function multi(client: RedisClient, fill: Fill): Promise<readonly unknown[]> {
  return resultsOf(await fill(client.multi()).exec());
}

function resultsOf(results: readonly [Error | null, unknown][] | null): readonly unknown[] {
  if (results === null) throw new Error('a transaction was not carried out');
  return results.map(([error, result]) => {
    if (error !== null) throw error;
    return result;
  });
}

/** Looks at all of a long list, and lets others go on meanwhile. */
export async function inTurns<T, Result>(
  list: readonly T[],
  look: (one: T) => Result,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (const one of list) {
    results.push(look(one));
    if (results.length % 1000 === 0) await setImmediate();
  }
  return results;
}

/** Asked at a time: enough to keep Redis busy, few enough that others need not wait. */
const window = 100;

/** One answer each, in their order; after a fault nothing more is asked. */
export async function mapConcurrent<T, ScriptReply>(
  connection: Connection,
  list: readonly T[],
  ask: (client: RedisClient, one: T) => Promise<ScriptReply>,
): Promise<readonly ScriptReply[]> {
  const answers: ScriptReply[] = [];
  for (let start = 0; start < list.length; start += window) {
    const some = list.slice(start, start + window);
    await connection.run(async client => {
      for (const outcome of await Promise.allSettled(some.map(one => ask(client, one)))) {
        if (outcome.status === 'rejected') throw outcome.reason;
        answers.push(outcome.value);
      }
    });
  }
  return answers;
}

/** The server that has this key, as long as nothing is moved. */
export async function serverOf(client: Redis | Cluster, key: string, where: string): Promise<Redis> {
  if (!('slots' in client)) return client;
  const slot = await client.cluster('KEYSLOT', key);
  const place = client.slots[slot]?.[0];
  const found = client.nodes('master').find(({ options: { host, port } }) => `${host}:${port}` === place);
  if (found === undefined) throw away(where, `no server is known for the key ${key}`);
  return found;
}
