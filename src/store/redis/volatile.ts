/**
 * Documents without a version, of which the last write wins. Each write has a number, by which other hosts
 * find the changes. The numbers belong to an epoch, which is drawn if the store has none.
 */

import { randomBytes } from 'node:crypto';
import type { DocumentRecord } from '../record-store.ts';
import type { VolatileChange, VolatileWrite } from '../shared.ts';
import { expectTypes, fenced, pipeline, runFenced, script, words } from './commands.ts';
import type { RedisContext } from './connection.ts';
import { documentFields, documentIn, documentName, namesIn, parseStored } from './keys.ts';
import { fieldsAfter, numberChanges } from './numbered.ts';
import { scanFields } from './policy.ts';

/** Limit of names with the number of their last change; a host that is further behind reads all. */
const mostNames = 20_000;

/** KEYS: fences, volatile, its changes. */
const writeScript = script(
  fenced,
  numberChanges,
  expectTypes('hash', 'hash', 'zset'),
  `
local news, drawn, gone, new = word(), word(), words(), words()
local epoch, number = string.match(redis.call('HGET', KEYS[2], '.') or drawn .. ' 0', '^(%w+) (%d+)$')
number = string.format('%.0f', number + 1)
redis.call('HSET', KEYS[2], '.', epoch .. ' ' .. number)
drop(KEYS[2], gone)
put(KEYS[2], new)
number_changes(KEYS[3], number, gone, new)
redis.call('ZREMRANGEBYRANK', KEYS[3], 0, -${mostNames + 1})
redis.pcall('PUBLISH', news, 'volatile')
return {'kept'}`,
);

/** Writes and deletes volatile documents, whatever is there. */
export async function writeVolatile(context: RedisContext, change: VolatileChange): Promise<void> {
  const { documents = [], goneDocuments = [] } = change;
  const { volatile, volatileChanges, news } = context.keys;
  const args = [
    news,
    randomBytes(8).toString('hex'),
    ...words(goneDocuments.map(documentName)),
    ...words(documents.flatMap(documentFields)),
  ];
  await runFenced(context, writeScript, [volatile, volatileChanges], args);
}

/** Returns the volatile documents that were written or deleted after a number; null: all have to be read. */
export async function volatileAfter(
  context: RedisContext,
  number: number,
): Promise<readonly VolatileWrite[] | null> {
  const { connection, keys } = context;
  const { volatile: hash, volatileChanges: changes } = keys;
  const { fields, isMore } = await fieldsAfter(context, { hash, changes }, number);
  // Read last: what was cut off meanwhile may be missing.
  const [count, oldest] = await connection.run(client =>
    pipeline(client, all => all.zcard(changes).zrange(changes, '0', '0', 'WITHSCORES')),
  );
  const [, lowest = '0'] = oldest as readonly string[];
  if (isMore || (Number(count) >= mostNames && Number(lowest) > number)) return null;
  return fields.map(([name, value]) =>
    value === null
      ? parseStored(connection.where, changes, name, () => ({ ...namesIn(name), text: null }))
      : parseStored(connection.where, hash, name, () => documentIn(name, value)),
  );
}

/** Returns all volatile documents. */
export async function readVolatile(context: RedisContext): Promise<readonly DocumentRecord[]> {
  const { connection, keys } = context;
  const documents: DocumentRecord[] = [];
  for await (const page of scanFields(context, keys.volatile)) {
    for (const [name, value] of page) {
      if (name === '.') continue;
      documents.push(parseStored(connection.where, keys.volatile, name, () => documentIn(name, value)));
    }
  }
  return documents;
}
