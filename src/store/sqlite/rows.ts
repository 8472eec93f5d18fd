/** Tables as records: the columns of each are declared once, for reading and for writing. */

import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';
import { SoftquotaError } from '../../errors.ts';
import { isLeaf, type Leaf } from '../../quota/index.ts';
import { decodeWtf8, encodeWtf8 } from '../../wtf8.ts';
import { leafValue } from '../share.ts';
import { unreadable } from './faults.ts';

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
export function* chunksOf<Row, Kept>(
  { file, table }: { readonly file: string; readonly table: string },
  rows: Iterable<Row>,
  record: (row: Row) => Kept,
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

/**
 * A column of a table. What the table itself checks (whole numbers in range, choices, nothing missing) is not
 * checked again; another value that no record can have made throws a TypeError when it is read.
 */
interface TableColumn<Value> {
  write(value: Value): SQLInputValue;
  read(value: SQLOutputValue, name: string): Value;
  /** Returns the expression that reads the column; default: its name. */
  select?(name: string): string;
}

const asItIs = { write: (value: SQLInputValue) => value, read: (value: SQLOutputValue) => value };
const bytes: TableColumn<string> = { write: encodeWtf8, read: textValue };

/** The kinds of columns. The casts are safe: the tables take nothing else. */
export const column = {
  whole: asItIs as TableColumn<number>,
  flag: { write: Number, read: value => value === 1 } satisfies TableColumn<boolean>,
  choice: <Choice extends string>() => asItIs as TableColumn<string> as TableColumn<Choice>,
  leaf: { write: leafToKeep, read: leafValue } satisfies TableColumn<Leaf>,
  digits: { write: String, read: digitsValue } satisfies TableColumn<bigint>,
  text: bytes,
  /**
   * Names or ids, which are read as text if that loses nothing: node:sqlite makes a text three times as fast
   * as bytes. Text would end at a NUL, and cannot have lone surrogates (which begin with ED).
   */
  name: { ...bytes, select: textOrBytes } satisfies TableColumn<string>,
};

export function orNull<Value>({ write, read, ...rest }: TableColumn<Value>): TableColumn<Value | null> {
  return {
    ...rest,
    write: value => (value === null ? null : write(value)),
    read: (value, name) => (value === null ? null : read(value, name)),
  };
}

function textOrBytes(name: string): string {
  const losesSome = ['00', 'ED', 'EFBFBD'].map(some => `instr(${name}, x'${some}')`).join(' OR ');
  return `CASE WHEN ${losesSome} THEN ${name} ELSE CAST(${name} AS TEXT) END`;
}

/** Stands for bytes that are no text. */
const replacement = '\ufffd';

function textValue(value: SQLOutputValue, name: string): string {
  if (typeof value === 'string' && !value.includes(replacement)) return value;
  const decoded = value instanceof Uint8Array ? decodeWtf8(value) : null;
  if (decoded === null) throw new TypeError(`${name} is no text`);
  return decoded;
}

function digitsValue(value: SQLOutputValue, name: string): bigint {
  if (typeof value !== 'string' || !/^-?\d+$/.test(value)) throw new TypeError(`${name} is no number`);
  return BigInt(value);
}

function leafToKeep(leaf: string): Leaf {
  if (!isLeaf(leaf)) throw new SoftquotaError('invalid', `a record has the leaf ${leaf}, which there is not`);
  return leaf;
}

/** The columns of a table by field; their names are those of the fields, in snake case. */
export type ColumnsOf<Row> = { readonly [Field in keyof Row]-?: TableColumn<Row[Field]> } & Columns;

type Columns = Readonly<Record<string, TableColumn<unknown>>>;

export type QueryValues = Record<string, SQLInputValue>;

type Query<Kept> = (values?: QueryValues) => Generator<readonly Kept[]>;

interface NamedColumn extends TableColumn<unknown> {
  readonly field: string;
  readonly name: string;
}

/** Reads and writes the rows of a table. Throws if the table or a column is missing. */
export class Table<Row extends object> {
  readonly #db: DatabaseSync;
  readonly #place: { readonly file: string; readonly table: string };
  readonly #columns: readonly NamedColumn[];
  readonly #keys: readonly NamedColumn[];
  readonly #put: StatementSync;
  readonly #drop: StatementSync;

  /** `keys`: the number of columns, the first ones, that identify a row; 0: there is one row at most. */
  constructor(db: DatabaseSync, file: string, table: string, columns: ColumnsOf<Row>, keys = 1) {
    this.#db = db;
    this.#place = { file, table };
    this.#columns = Object.entries<TableColumn<unknown>>(columns).map(([field, column]) => ({
      ...column,
      field,
      name: field.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`),
    }));
    this.#keys = this.#columns.slice(0, keys);
    // A read says best which column is missing.
    this.query();
    const names = this.#columns.map(({ name }) => name);
    const places = names.map(() => '?');
    const [one, number] = keys === 0 ? ['one, ', '1, '] : ['', ''];
    this.#put = db.prepare(
      `REPLACE INTO ${table} (${one}${names.join(', ')}) VALUES (${number}${places.join(', ')})`,
    );
    const isKey = this.#keys.map(({ name }) => `${name} = ?`);
    this.#drop = db.prepare(`DELETE FROM ${table} WHERE ${isKey.join(' AND ') || 'TRUE'}`);
  }

  put(row: Row): void {
    this.#put.run(...this.#columns.map(({ field, write }) => write(Reflect.get(row, field))));
  }

  /** Deletes the row with the values of these key columns, if it is there. */
  drop(key: Partial<Row>): void {
    this.#drop.run(...this.#keys.map(({ field, write }) => write(Reflect.get(key, field))));
  }

  /** Prepares a query, and returns a function that reads its rows as records in chunks. */
  query(rest?: string): Query<Row>;
  query<Kept>(rest: string, record: (row: Row) => Kept): Query<Kept>;
  query(rest = '', record = (row: Row): unknown => row): Query<unknown> {
    const columns = this.#columns.map(({ name, select }) => `${select?.(name) ?? name} AS ${name}`);
    const statement = this.#db.prepare(`SELECT ${columns.join(', ')} FROM ${this.#place.table} ${rest}`);
    statement.setReturnArrays(true);
    return (values = {}) => {
      // The cast is safe: rows are arrays.
      const rows = statement.iterate(values) as Iterable<unknown> as Iterable<readonly SQLOutputValue[]>;
      return chunksOf(this.#place, rows, row => record(this.#rowOf(row)));
    };
  }

  #rowOf(values: readonly SQLOutputValue[]): Row {
    const row: Record<string, unknown> = {};
    for (const [index, { field, name, read }] of this.#columns.entries()) {
      row[field] = read(values[index] ?? null, name);
    }
    // The cast is safe: each field has what its column reads.
    return row as Row;
  }
}
