/**
 * Documents without a version, of which the last write wins. Each write has a number, by which other hosts
 * find the changes. The numbers belong to an epoch, which is drawn if the store has none.
 */

import { randomBytes } from 'node:crypto';
import type { DocumentRecord } from '../record-store.ts';
import type { DocumentNames, VolatileChange } from '../shared.ts';
import { expectTypes, fenced, pipeline, runFenced, script, words } from './commands.ts';
import type { RedisContext } from './connection.ts';
import { documentFields, documentIn, documentName, namesIn, parseStored } from './keys.ts';
import { scanFields } from './policy.ts';

/** Limit of names with the number of their last change; a host that is further behind reads all. */
const mostNames = 20_000;
/** Limit of names that are read one by one; of more, all documents are read. */
const mostRead = 1000;

/** KEYS: fences, volatile, its changes. */
const writeScript = script(
  fenced,
  expectTypes('hash', 'hash', 'zset'),
  `
local news, drawn, gone, new = word(), word(), words(), words()
local epoch, number = string.match(redis.call('HGET', KEYS[2], '.') or drawn .. ' 0', '^(%w+) (%d+)$')
number = string.format('%.0f', number + 1)
redis.call('HSET', KEYS[2], '.', epoch .. ' ' .. number)
drop(KEYS[2], gone)
put(KEYS[2], new)
for place = gone[1], gone[2] do redis.call('ZADD', KEYS[3], number, ARGV[place]) end
for place = new[1], new[2], 2 do redis.call('ZADD', KEYS[3], number, ARGV[place]) end
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

/** Returns the names of volatile documents written after a number; null: all have to be read. */
export async function volatileNamesAfter(
  { connection, keys }: RedisContext,
  number: number,
): Promise<readonly DocumentNames[] | null> {
  const [count, oldest, names] = await connection.run(client =>
    pipeline(client, all =>
      all
        .zcard(keys.volatileChanges)
        .zrange(keys.volatileChanges, '0', '0', 'WITHSCORES')
        .zrangebyscore(keys.volatileChanges, `(${number}`, '+inf', 'LIMIT', 0, mostRead + 1),
    ),
  );
  const [, lowest = '0'] = oldest as readonly string[];
  const isCut = Number(count) >= mostNames && Number(lowest) > number;
  const found = names as readonly string[];
  if (isCut || found.length > mostRead) return null;
  return found.map(name => parseStored(connection.where, keys.volatileChanges, name, () => namesIn(name)));
}

/** Returns those of the named volatile documents that exist; all of them without names. */
export async function readVolatile(
  context: RedisContext,
  names: readonly DocumentNames[] | null,
): Promise<readonly DocumentRecord[]> {
  const { connection, keys } = context;
  const documents: DocumentRecord[] = [];
  const take = (name: string, value: Buffer) =>
    documents.push(parseStored(connection.where, keys.volatile, name, () => documentIn(name, value)));
  if (names === null) {
    for await (const page of scanFields(context, keys.volatile)) {
      for (const [name, value] of page) if (name !== '.') take(name, value);
    }
    return documents;
  }
  const fields = names.map(documentName);
  const values =
    fields.length === 0 ? [] : await connection.run(client => client.hmgetBuffer(keys.volatile, ...fields));
  for (const [at, name] of fields.entries()) {
    const value = values[at];
    if (value) take(name, value);
  }
  return documents;
}
