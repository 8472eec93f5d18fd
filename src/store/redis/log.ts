/** The log of changes: numbered entries, each of which names the one before. */

import type { OwnerRecord, Position, RecordChanges } from '../record-store.ts';
import type { Change } from '../shared.ts';
import { pairs } from './commands.ts';
import type { RedisContext } from './context.ts';
import { strangeSchema } from './faults.ts';
import { fieldName } from './keys.ts';
import { pipeline } from './pipeline.ts';
import { decodeFieldName, namesIn, numberIn, ownerIn, parseStored, toldIn } from './values.ts';

/** Longer changes are not told in the log, which thus stays small; the policy is read instead. */
const longestChange = 16_384;

/** The text of an entry for a change of policy: JSON of it, or nothing where that is too long. */
export function tellable(change: RecordChanges): string {
  const { owners = [], goneOwners = [], documents = [], goneDocuments = [] } = change;
  const text = JSON.stringify({ owners, goneOwners, documents, goneDocuments });
  return text.length > longestChange ? '' : text;
}

/** The answer of XREVRANGE, with one entry at most. */
export function newestNumber(entries: unknown): number {
  const [newest] = entriesIn(entries);
  return newest === undefined ? 0 : newest.number;
}

interface Entry {
  readonly number: number;
  readonly fields: Readonly<Record<string, string>>;
}

function entriesIn(reply: unknown): readonly Entry[] {
  // The shape of what XRANGE and XREVRANGE give.
  return (reply as readonly [string, readonly string[]][]).map(([id, list]) => ({
    number: numberIn(id.replace(/-0$/, '')),
    fields: Object.fromEntries(pairs(list)),
  }));
}

/**
 * Null: there is a gap. The newest number is read first, so that what comes meanwhile is not taken for one.
 */
export async function changesAfter(
  { connection, keys: { policy, log } }: RedisContext,
  number: number,
  limit: number,
): Promise<readonly Change[] | null> {
  return connection.run(async client => {
    // A store that begins or is emptied meanwhile has its schema before or after.
    const [before, exists, schema, newest, found] = await pipeline(client, all =>
      all
        .hget(policy, 'schema')
        .exists(policy)
        .hget(policy, 'schema')
        .xrevrange(log, '+', '-', 'COUNT', 1)
        .xrange(log, `${number + 1}-0`, '+', 'COUNT', limit),
    );
    if (before !== '1' && schema !== '1' && exists === 1)
      throw strangeSchema(connection.where, policy, String(schema ?? ''));
    return parseStored(connection.where, log, 'an entry', () => {
      const entries = entriesIn(found);
      let last = number;
      for (const entry of entries) {
        if (numberIn(entry.fields.after ?? '') !== last) return null;
        last = entry.number;
      }
      if (entries.length === 0 && newestNumber(newest) !== number) return null;
      return entries.map(changeIn);
    });
  });
}

/** Entries that are looked through at a time. */
const pageSize = 500;

/** Looks from the newest entry back. Null: it is not in there any more. */
export async function markOf(
  { connection, keys: { log } }: RedisContext,
  { generation, version }: Pick<Position, 'generation' | 'version'>,
): Promise<string | null> {
  for (let end = '+'; ; ) {
    const page = await connection.run(client => client.xrevrange(log, end, '-', 'COUNT', pageSize));
    const entries = parseStored(connection.where, log, 'an entry', () => entriesIn(page));
    for (const { fields } of entries) {
      if (fields.is !== 'policy' || fields.generation !== fieldName(generation)) continue;
      if (fields.version === String(version)) return decodeFieldName(fields.mark ?? '');
    }
    const oldest = entries.at(-1);
    if (oldest === undefined || entries.length < pageSize) return null;
    end = `(${oldest.number}-0`;
  }
}

function changeIn({ number, fields }: Entry): Change {
  const { is, owners = '', generation = '', version = '', mark = '', change = '', names = '' } = fields;
  switch (is) {
    case 'policy':
      return {
        number,
        is,
        position: {
          generation: decodeFieldName(generation),
          version: numberIn(version),
          mark: decodeFieldName(mark),
        },
        change: change === '' ? null : toldIn(change),
      };
    case 'volatile':
      return { number, is, names: names === '' ? null : names.split(' ').map(namesIn) };
    case 'owners':
      return { number, is, owners: owners.split('\n').map(ownerLine) };
    case 'shares':
      return { number, is, ownerKeys: owners.split(' ').map(decodeFieldName) };
  }
  throw new TypeError(`no kind of change: ${is}`);
}

function ownerLine(line: string): OwnerRecord {
  const space = line.indexOf(' ');
  return ownerIn(line.slice(0, space), line.slice(space + 1));
}
