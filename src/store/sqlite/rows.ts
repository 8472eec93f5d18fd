/** Helpers to read rows and to write in transactions. A value that no record can have made throws. */

import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { decodeWtf8 } from '../../wtf8.ts';
import { unreadable } from './faults.ts';

export type TableRow = Readonly<Record<string, SQLOutputValue>>;

/** Units in one answer: a few milliseconds' work on both sides. */
export const unitsAtOnce = 200;

/** Runs `act` in one transaction: all of it is stored, or nothing. */
export function inTransaction<Result>(db: DatabaseSync, act: () => Result): Result {
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = act();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    // On some errors SQLite rolls back by itself.
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/** Rows in a chunk: large enough to be fast, small enough to delay nobody. */
const chunkRows = 1000;

/** Returns the records of rows in chunks, at least one; throws `store_refused` at the first invalid row. */
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
 * Reads a column of names or ids as text if that loses nothing: node:sqlite makes a text three times as fast
 * as bytes. Text would end at a NUL, and cannot have lone surrogates (which begin with ED).
 */
export function asText(column: string): string {
  const losesSome = ['00', 'ED', 'EFBFBD'].map(bytes => `instr(${column}, x'${bytes}')`).join(' OR ');
  return `CASE WHEN ${losesSome} THEN ${column} ELSE CAST(${column} AS TEXT) END AS ${column}`;
}

/** Returns the text of a column that was read as bytes or by `asText`. */
export function textValue(value: Value, column: string): string {
  if (typeof value === 'string' && !value.includes(replacement)) return value;
  const decoded = value instanceof Uint8Array ? decodeWtf8(value) : null;
  if (decoded === null) throw new TypeError(`${column} is no text`);
  return decoded;
}

/** Stands for bytes that are no text. */
const replacement = '\ufffd';

export function digitsValue(value: Value, column: string): bigint {
  if (typeof value !== 'string' || !/^-?\d+$/.test(value)) throw new TypeError(`${column} is no number`);
  return BigInt(value);
}
