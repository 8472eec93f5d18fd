/**
 * A hash of texts with a sorted set of the numbers of their last changes, by which other hosts find what has
 * changed since they read it last.
 */

import { pairs } from './commands.ts';
import type { RedisContext } from './connection.ts';

/** Limit of changes that are read at a time; one write has no more. */
const pageSize = 1000;

/** Numbers the deleted fields and those that were written. */
export const numberChanges = `
local function number_changes(changes, number, gone, new)
  for place = gone[1], gone[2] do redis.call('ZADD', changes, number, ARGV[place]) end
  for place = new[1], new[2], 2 do redis.call('ZADD', changes, number, ARGV[place]) end
end`;

/**
 * Reads what was changed after a number, in whole writes. Returns the number of the last change that was
 * read, and the changed fields, with null for those that were deleted.
 */
export async function fieldsAfter(
  { connection }: RedisContext,
  { hash, changes }: { readonly hash: string; readonly changes: string },
  number: number,
) {
  const found = await connection.run(client =>
    client.zrangebyscore(changes, `(${number}`, '+inf', 'WITHSCORES', 'LIMIT', 0, pageSize + 1),
  );
  const all = pairs(found);
  const isMore = all.length > pageSize;
  const last = all.at(-1)?.[1];
  // The page may have only a part of its last write.
  const page = isMore ? all.filter(([, number]) => number !== last) : all;
  const names = page.map(([name]) => name);
  const values = names.length === 0 ? [] : await connection.run(client => client.hmgetBuffer(hash, ...names));
  return {
    number: Number(page.at(-1)?.[1] ?? number),
    fields: names.map((name, at) => [name, values[at] ?? null] as const),
    isMore,
  };
}
