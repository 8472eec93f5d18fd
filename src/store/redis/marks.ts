/**
 * Marks that show whether a Cluster has lost some of what hosts said.
 *
 * Servers of a Cluster are lost one by one, and what owners store lies on all of them, while what is followed
 * lies on one. So each host has a mark in each 256 slots, in a hash of which it has one field: a server
 * that comes back without its data, or is replaced by one without, lacks the marks of its slots. Any other
 * Redis is lost as a whole, which its policy shows.
 */

import { mapConcurrent } from './asked.ts';
import type { Connection } from './connection.ts';
import { fieldName, type Keys } from './keys.ts';

const slots = 16_384;
/** So few that looking at all is cheap, so many that whoever has 511 slots in a row has one. */
const count = 64;

/** What stands between the braces of a mark's key, by the slots that it is for. */
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

/** As the Cluster specification has it: CRC16 (XMODEM), modulo 16384. */
function slotOf(tag: string): number {
  let sum = 0;
  for (const byte of Buffer.from(tag)) {
    sum ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum & 0x8000 ? (sum << 1) ^ 0x1021 : sum << 1) & 0xffff;
  }
  return sum % slots;
}

export async function putMarks(
  connection: Connection,
  keys: Keys,
  host: string,
  mark: string,
): Promise<void> {
  await mapConcurrent(connection, markTags, (client, tag) =>
    client.hset(keys.mark(tag), fieldName(host), mark),
  );
}

/** Tells whether all are there, and this one. */
export async function hasMarks(
  connection: Connection,
  keys: Keys,
  host: string,
  mark: string,
): Promise<boolean> {
  const found = await mapConcurrent(connection, markTags, (client, tag) =>
    client.hget(keys.mark(tag), fieldName(host)),
  );
  return found.every(each => each === mark);
}

export async function dropMarks(connection: Connection, keys: Keys, host: string): Promise<void> {
  await mapConcurrent(connection, markTags, (client, tag) => client.hdel(keys.mark(tag), fieldName(host)));
}
