/** Reading owners, some at a time, as columns; see unit-rows.ts. */

import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { encodeWtf8 } from '../../wtf8.ts';
import type { OwnerRecord } from '../record-store.ts';
import { choiceValue, wholeValue } from '../untrusted.ts';
import { unreadable } from './faults.ts';
import { asText, textValue } from './rows.ts';

/** The fields of some owners; those of one owner have the same place in each. */
export interface OwnerColumns {
  readonly keys: readonly string[];
  /** Null where the name is the key. */
  readonly names: readonly (string | null)[];
  readonly ids: readonly number[];
  /** 1 where it is no user. */
  readonly areOrganizations: readonly number[];
  readonly since: readonly number[];
}

type Row = Readonly<Record<number, SQLOutputValue>>;

const ownersAtOnce = 1000;
const after = 'FROM owners WHERE key > ? ORDER BY owners.key LIMIT ?';

/** Gives all owners; throws `store_refused` at the first row that cannot be one. */
export function ownerReader(db: DatabaseSync, file: string): () => Generator<OwnerColumns> {
  const together = db.prepare(
    'SELECT sum(name IS NULL), max(key), json_group_array(CAST(key AS TEXT)), ' +
      'json_group_array(iif(name = key, NULL, CAST(name AS TEXT))), json_group_array(id), ' +
      "json_group_array(CASE type WHEN 'user' THEN 0 WHEN 'organization' THEN 1 END), json_group_array(since) " +
      `FROM (SELECT * ${after})`,
  );
  const singly = db.prepare(`SELECT ${asText('key')}, id, ${asText('name')}, type, since ${after}`);
  together.setReturnArrays(true);
  singly.setReturnArrays(true);

  function next(last: string | Uint8Array): {
    readonly owners: OwnerColumns;
    readonly last: string | Uint8Array;
  } {
    const [row] = together.all(last, ownersAtOnce);
    const usual = row && usualColumns(row);
    if (row?.[1] instanceof Uint8Array && usual) return { owners: usual, last: row[1] };
    const owners = columnsOf(singly.all(last, ownersAtOnce).map(recordOf));
    return { owners, last: encodeWtf8(owners.keys.at(-1) ?? '') };
  }

  return function* () {
    // Bytes come after every text.
    let last: string | Uint8Array = '';
    for (let isMore = true; isMore; ) {
      try {
        const found = next(last);
        last = found.last;
        isMore = found.owners.keys.length === ownersAtOnce;
        yield found.owners;
      } catch (error) {
        throw unreadable(file, 'owners', error);
      }
    }
  };
}

/** The owners that the columns are of. */
export function* ownersFrom(columns: OwnerColumns): Generator<OwnerRecord> {
  const { keys, names, ids, areOrganizations, since } = columns;
  for (const [at, key] of keys.entries()) {
    const type = areOrganizations[at] === 1 ? 'organization' : 'user';
    yield { key, id: ids[at] ?? 0, name: names[at] ?? key, type, since: since[at] ?? 0 };
  }
}

/** The columns of usual owners, whose values are together; null where they are not usual. */
function usualColumns(row: Row): OwnerColumns | null {
  const { 0: nameless, 2: keyList, 3: nameList, ...lists } = row;
  const keys = textsIn(keyList);
  const names = textsIn(nameList);
  const [ids, areOrganizations, since] = [lists[4], lists[5], lists[6]].map(wholesIn);
  if (nameless !== 0 || !(keys && names && ids && areOrganizations && since)) return null;
  return keys.every(isText) ? { keys, names, ids, areOrganizations, since } : null;
}

/** Reads a JSON list of texts; null where one of them may be other than it was kept. */
function textsIn(list: SQLOutputValue | undefined): (string | null)[] | null {
  const text = String(list);
  if (text.includes('\ufffd') || text.includes('\\u0000')) return null;
  const values: unknown = JSON.parse(text);
  return Array.isArray(values) && values.every(value => value === null || isText(value)) ? values : null;
}

/** Reads a JSON list of whole numbers; null where there is anything else. */
function wholesIn(list: SQLOutputValue | undefined): number[] | null {
  const values: unknown = JSON.parse(String(list));
  return Array.isArray(values) && values.every(Number.isSafeInteger) ? values : null;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** The columns of owners, whatever they are. */
function columnsOf(owners: readonly OwnerRecord[]): OwnerColumns {
  return {
    keys: owners.map(({ key }) => key),
    names: owners.map(({ key, name }) => (name === key ? null : name)),
    ids: owners.map(({ id }) => id),
    areOrganizations: owners.map(({ type }) => Number(type === 'organization')),
    since: owners.map(({ since }) => since),
  };
}

/** Rows are lists here, whose places are their keys. */
function recordOf(row: Row): OwnerRecord {
  return {
    key: textValue(row[0], 'key'),
    id: wholeValue(row[1], 'id'),
    name: textValue(row[2], 'name'),
    type: choiceValue(row[3], 'type', ['user', 'organization']),
    since: wholeValue(row[4], 'since'),
  };
}
