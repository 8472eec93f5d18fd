/** Rows, and what is shared by all who ask for them. A value that no record can have made throws. */

import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { decodeWtf8 } from '../../wtf8.ts';
import { unreadable } from './faults.ts';

export type TableRow = Readonly<Record<string, SQLOutputValue>>;

/** Units in one answer: a few milliseconds' work on both sides. */
export const unitsAtOnce = 200;

/** Does something in one transaction: all of it is kept, or nothing. */
export function inTransaction<Result>(db: DatabaseSync, act: () => Result): Result {
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = act();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    // On some faults SQLite has rolled back by itself.
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/** Rows handed over at a time: large enough to be quick, small enough that nobody waits for one. */
const chunkRows = 1000;

/** Gives the records of rows in chunks, one at least; throws `store_refused` at the first that is none. */
export function* chunksOf<Kept>(
  { file, table }: { readonly file: string; readonly table: string },
  rows: Iterable<TableRow>,
  record: (row: TableRow) => Kept,
): Generator<readonly Kept[]> {
  let chunk: Kept[] = [];
  try {
    for (const row of rows) {
      chunk.push(record(row));
      if (chunk.length < chunkRows) continue;
      yield chunk;
      chunk = [];
    }
  } catch (error) {
    throw unreadable(file, table, error);
  }
  yield chunk;
}

type Value = SQLOutputValue | undefined;

/**
 * A column of names or ids, read as text where that loses nothing: node:sqlite makes a text three times as
 * fast as bytes. Text would end at a NUL, and has no lone surrogates (which begin with ED).
 */
export function asText(column: string): string {
  const losesSome = ['00', 'ED', 'EFBFBD'].map(bytes => `instr(${column}, x'${bytes}')`).join(' OR ');
  return `CASE WHEN ${losesSome} THEN ${column} ELSE CAST(${column} AS TEXT) END AS ${column}`;
}

/** Takes bytes, and text of a column that `asText` names. */
export function textValue(value: Value, column: string): string {
  if (typeof value === 'string' && !value.includes(replacement)) return value;
  const decoded = value instanceof Uint8Array ? decodeWtf8(value) : null;
  if (decoded === null) throw new TypeError(`${column} is no text`);
  return decoded;
}

/** Stands for bytes that were no text. */
const replacement = '\ufffd';

export function digitsValue(value: Value, column: string): bigint {
  if (typeof value !== 'string' || !/^-?\d+$/.test(value)) throw new TypeError(`${column} is no number`);
  return BigInt(value);
}
