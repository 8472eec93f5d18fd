/** Databases with made rows, in each engine's own types, which a reader may only read. */

import { join } from 'node:path';
import type { Test } from 'tap';
import { temporaryFolder } from '../temporary-folder.ts';
import { type Engine, sqlIn, startServer } from './fixture.ts';

/** `key`: a number that is the primary key. */
type ColumnType = 'key' | 'number' | 'text' | 'flag' | 'time';

/** Columns by table. */
export type Tables = Readonly<Record<string, Readonly<Record<string, ColumnType>>>>;

type Value = number | string | boolean | null;

export type Rows = Readonly<Record<string, readonly Readonly<Record<string, Value>>[]>>;

const types: Readonly<Record<Engine, Readonly<Record<ColumnType, string>>>> = {
  sqlite: {
    key: 'INTEGER PRIMARY KEY',
    number: 'INTEGER',
    text: 'TEXT',
    flag: 'NUMERIC',
    time: 'DATETIME',
  },
  postgres: {
    key: 'BIGINT PRIMARY KEY',
    number: 'BIGINT',
    text: 'TEXT',
    flag: 'BOOLEAN',
    time: 'TIMESTAMPTZ',
  },
  mysql: {
    key: 'BIGINT PRIMARY KEY',
    number: 'BIGINT',
    text: 'VARCHAR(191)',
    flag: 'BOOLEAN',
    time: 'DATETIME(3)',
  },
};

export interface MadeDatabase {
  readonly address: string;
  /** The place of the server's socket; empty for a file. */
  readonly host: string;
  /** Runs statements as the forge does. */
  sql(text: string): Promise<void>;
}

/** `more`: statements after those that make the tables. */
export async function openMade(
  t: Test,
  engine: Engine,
  tables: Tables,
  rows: Rows,
  more = '',
): Promise<MadeDatabase> {
  // One commit for all rows: each for itself would wait for the disk.
  const made = `${tablesSql(engine, tables)}\n${more}\nBEGIN;\n${rowsSql(engine, rows)}\nCOMMIT;\n`;
  if (engine === 'sqlite') {
    const path = join(temporaryFolder(t), 'forge.db');
    const run = sqlIn(path);
    run(made);
    return { address: `sqlite:${path}`, host: '', sql: async text => run(text) };
  }
  const server = await startServer(t, engine, made);
  const sql = async (text: string) => {
    await server.sql(text, 'gitea');
  };
  return { address: server.address('softquota', 'secret'), host: server.host, sql };
}

function tablesSql(engine: Engine, tables: Tables): string {
  return Object.entries(tables)
    .map(([table, columns]) => {
      const list = Object.entries(columns).map(
        ([name, type]) => `${quoted(engine, name)} ${types[engine][type]}`,
      );
      return `CREATE TABLE ${quoted(engine, table)} (${list.join(', ')});`;
    })
    .join('\n');
}

function rowsSql(engine: Engine, rows: Rows): string {
  return Object.entries(rows)
    .flatMap(([table, list]) => list.map(row => insert(engine, table, row)))
    .join('\n');
}

function insert(engine: Engine, table: string, row: Readonly<Record<string, Value>>): string {
  const names = Object.keys(row).map(name => quoted(engine, name));
  const values = Object.values(row).map(value => {
    if (value === null) return 'NULL';
    if (typeof value === 'string') return `'${value.replaceAll("'", "''")}'`;
    return typeof value === 'boolean' && engine === 'sqlite' ? Number(value) : String(value);
  });
  return `INSERT INTO ${quoted(engine, table)} (${names.join(', ')}) VALUES (${values.join(', ')});`;
}

function quoted(engine: Engine, name: string): string {
  return engine === 'mysql' ? `\`${name}\`` : `"${name}"`;
}
