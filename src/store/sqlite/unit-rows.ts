/**
 * Units as rows, and as columns on their way between threads: a list for each field is copied many times
 * quicker than an object for each unit.
 */

import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { leafIndex, leaves } from '../../quota/index.ts';
import { reachOf, type UnitRecord } from '../store.ts';
import { encodeWtf8 } from '../wtf8.ts';
import { unreadable } from './faults.ts';
import { asText, choiceValue, leafValue, textValue, wholeValue } from './values.ts';

/** The other thread takes about a millisecond for them. */
export const unitsAtOnce = 1000;

/** The fields of some units; those of one unit have the same place in each. */
export interface UnitColumns {
  readonly ids: readonly string[];
  /** Null where the name is the id. */
  readonly names: readonly (string | null)[];
  readonly hosts: readonly string[];
  readonly owners: readonly (string | null)[];
  /** Places in `leaves`. */
  readonly leaves: Uint8Array;
  /** 1 where it is so. */
  readonly areReported: Uint8Array;
  readonly arePartial: Uint8Array;
  readonly bytes: readonly number[];
  readonly files: readonly number[];
  readonly measuredAt: readonly number[];
  readonly seq: readonly number[];
  readonly reachable: readonly number[];
  readonly unreachable: readonly number[];
}

/**
 * Reads the units that come after this id, some at a time: those who ask get no more than they can take.
 * Throws `store_refused` at the first row that cannot be one.
 */
export function unitReader(db: DatabaseSync, file: string): (after: string | null) => UnitColumns {
  const statement = db.prepare(
    `SELECT ${asText('id')}, kind, ${asText('host')}, ${asText('name')}, ${asText('owner')}, leaf, bytes, files, ` +
      'partial, measured_at, seq, reachable, unreachable FROM units WHERE id > ? ORDER BY units.id LIMIT ?',
  );
  statement.setReturnArrays(true);
  return after => {
    try {
      return columnsOf(statement.all(after === null ? '' : encodeWtf8(after), unitsAtOnce));
    } catch (error) {
      throw unreadable(file, 'units', error);
    }
  };
}

/** Rows are lists here, whose places are their keys. */
function columnsOf(rows: readonly Readonly<Record<number, SQLOutputValue>>[]): UnitColumns {
  const wholes = (place: number, column: string) => rows.map(row => wholeValue(row[place], column));
  return {
    ids: rows.map(row => textValue(row[0], 'id')),
    areReported: Uint8Array.from(rows, row =>
      Number(choiceValue(row[1], 'kind', ['walked', 'reported']) === 'reported'),
    ),
    hosts: rows.map(row => textValue(row[2], 'host')),
    names: rows.map(row => (row[3] === null ? null : textValue(row[3], 'name'))),
    owners: rows.map(row => (row[4] === null ? null : textValue(row[4], 'owner'))),
    leaves: Uint8Array.from(rows, row => leafIndex(leafValue(row[5]))),
    bytes: wholes(6, 'bytes'),
    files: wholes(7, 'files'),
    arePartial: Uint8Array.from(rows, row => wholeValue(row[8], 'partial')),
    measuredAt: wholes(9, 'measured_at'),
    seq: wholes(10, 'seq'),
    reachable: wholes(11, 'reachable'),
    unreachable: wholes(12, 'unreachable'),
  };
}

/** The units that the columns are of. */
export function* unitsFrom(columns: UnitColumns): Generator<UnitRecord> {
  const { names, hosts, owners, areReported, arePartial, bytes, files, measuredAt, seq } = columns;
  const { reachable, unreachable } = columns;
  for (const [at, id] of columns.ids.entries()) {
    yield {
      id,
      kind: areReported[at] === 1 ? 'reported' : 'walked',
      host: hosts[at] ?? '',
      name: names[at] ?? id,
      owner: owners[at] ?? null,
      leaf: leaves[columns.leaves[at] ?? 0] ?? leaves[0],
      bytes: bytes[at] ?? 0,
      files: files[at] ?? 0,
      partial: arePartial[at] === 1,
      measuredAt: measuredAt[at] ?? 0,
      seq: seq[at] ?? 0,
      ...reachOf(reachable[at] ?? 0, unreachable[at] ?? 0),
    };
  }
}
