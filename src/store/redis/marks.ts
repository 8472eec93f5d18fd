/**
 * Marks that show whether a Cluster has lost some of what hosts said.
 *
 * Servers of a Cluster are lost one by one, and what owners store lies on all of them, while what is followed
 * lies on one. So each host has a mark in each 256 slots, in a hash of which it has one field: a server
 * that comes back without its data, or is replaced by one without, lacks the marks of its slots. Any other
 * Redis is lost as a whole, which its policy shows, and has no marks.
 */

import type { RedisClient } from './address.ts';
import { mapConcurrent } from './commands.ts';
import type { RedisContext } from './context.ts';
import { fieldName, slotOf } from './keys.ts';

const slots = 16_384;
/** So few that looking at all is cheap, so many that whoever has 511 slots in a row has one. */
const count = 64;

/** The text between the braces of a mark's key, by the slots that it is for. */
export const markTags: readonly string[] = tags();

function tags(): readonly string[] {
  const found = new Map<number, string>();
  for (let number = 0; found.size < count; number += 1) {
    const tag = String(number);
    const part = Math.floor((slotOf(tag) * count) / slots);
    if (!found.has(part)) found.set(part, tag);
  }
  return [...found].sort(([a], [b]) => a - b).map(([, tag]) => tag);
}

export async function putMarks(context: RedisContext, host: string, mark: string): Promise<void> {
  await atMarks(context, host, (client, key, field) => client.hset(key, field, mark));
}

/** Tells whether all are there, and this one. */
export async function hasMarks(context: RedisContext, host: string, mark: string): Promise<boolean> {
  const found = await atMarks(context, host, (client, key, field) => client.hget(key, field));
  return found.every(each => each === mark);
}

export async function dropMarks(context: RedisContext, host: string): Promise<void> {
  await atMarks(context, host, (client, key, field) => client.hdel(key, field));
}

/** Asks at each key, for the field of the host; nothing where the Redis has no marks. */
async function atMarks<Answer>(
  context: RedisContext,
  host: string,
  ask: (client: RedisClient, key: string, field: string) => Promise<Answer>,
): Promise<readonly Answer[]> {
  if (context.address.kind !== 'cluster') return [];
  return mapConcurrent(context, markTags, (client, tag) =>
    ask(client, context.keys.mark(tag), fieldName(host)),
  );
}
