/**
 * A forge's database for the reader: its address (`sqlite:PATH`, `postgres://…`, `mysql://…`), limited
 * statements that only read, and its faults. Tables are read in pages by ascending ids, so that no statement
 * takes long and no page is read twice.
 */

import { setImmediate } from 'node:timers/promises';
import { messageOf } from '../errors.ts';
import type { Parsed } from '../parsed.ts';

/** Values of a row, in the order of the statement's columns. */
export type Row = readonly unknown[];

/** Limit of the characters that are read of a text; more than a name may have. */
export const mostCharacters = 600;

/** Owner's name and file of a row; null if unknown. */
export interface AboutRow {
  readonly owner: string | null;
  readonly path: string | null;
}

export interface SizeJudge {
  /** Starts to judge the sizes of a table, by the ids of its rows. */
  sizes(table: string): {
    /** Returns the size that counts for the row's owner; null if none does. */
    judged(id: number, value: unknown, about: () => AboutRow): number | null;
    /** Ends the judgement of a table that was read completely. */
    end(): void;
  };
}

/** A value for a `?` in a statement. */
export type SqlValue = bigint | number | string;

/** Marks for changes: equal marks mean that nothing has changed. */
export interface ChangeMarks {
  /** Mark of the whole database; null if it has none. */
  readonly whole: string | null;
  readonly tables: ReadonlyMap<string, string>;
}

export interface ForgeDatabase {
  readonly product: string;
  /** Returns the columns of each of these tables. A table that is missing or hidden is left out. */
  columns(tables: readonly string[]): Promise<ReadonlyMap<string, ReadonlySet<string>>>;
  /** Reads rows, with `?` for values. The statement has a time limit. */
  rows(sql: string, values: readonly SqlValue[]): Promise<readonly Row[]>;
  /** Lets `act` read one state of the database, if that delays nobody else. */
  consistently<T>(act: () => Promise<T>): Promise<T>;
  marks(tables: readonly string[]): Promise<ChangeMarks>;
  readonly pageRows: number;
  /** The database of a Gitaly Cluster, and the name of this host's storage there; absent without one. */
  readonly praefect?: { readonly db: ForgeDatabase; readonly storage: string };
  /** Judges the sizes of rows for the current reading. */
  judge: SizeJudge;
  quoted(name: string): string;
  /** Suffix that converts a column to a text. */
  readonly asText: string;
  close(): Promise<void>;
}

export const limits = {
  connectMs: 5000,
  /** Time for a trivial answer, after which a stopped server is noticed. */
  answerMs: 2500,
  statementMs: 30_000,
  /** Time between two statements after which the server ends a transaction. */
  idleMs: 60_000,
  pageRows: 20_000,
} as const;

export function columnsByTable(rows: readonly Row[]): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  for (const [table, column] of rows) {
    const columns = found.get(String(table)) ?? new Set();
    found.set(String(table), columns.add(String(column)));
  }
  return found;
}

/**
 * For each engine: codes of a failed sign-in, of a missing right, and of a missing table or column; and the
 * statement that grants the right.
 */
const servers = {
  postgres: {
    // invalid_password, invalid_authorization_specification
    signIn: ['28P01', '28000'],
    // insufficient_privilege
    denied: ['42501'],
    // undefined_table, undefined_column
    missing: ['42P01', '42703'],
    grant: ({ user }: DatabaseServerAddress) => `GRANT SELECT ON ALL TABLES IN SCHEMA public TO "${user}"`,
  },
  mysql: {
    signIn: ['ER_ACCESS_DENIED_ERROR', 'ER_ACCESS_DENIED_NO_PASSWORD_ERROR'],
    denied: ['ER_DBACCESS_DENIED_ERROR', 'ER_TABLEACCESS_DENIED_ERROR', 'ER_COLUMNACCESS_DENIED_ERROR'],
    missing: ['ER_NO_SUCH_TABLE', 'ER_BAD_FIELD_ERROR'],
    grant: ({ database, user }: DatabaseServerAddress) => `GRANT SELECT ON ${database}.* TO '${user}'@'%'`,
  },
} as const;

/** Returns the statement with which the database's administrator lets the user read; null for a file. */
export function grantFor(address: DatabaseAddress): string | null {
  if (address.engine === 'sqlite') return null;
  return servers[address.engine].grant(address);
}

export function serverFault(address: DatabaseServerAddress, error: unknown): ForgeFault {
  if (error instanceof ForgeFault) return error;
  const { signIn, denied, missing, grant } = servers[address.engine];
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const message = `${shownAddress(address)}: ${messageOf(error)}`;
  const options = { cause: error };
  if (signIn.some(one => one === code)) {
    return new ForgeFault('rights', message, 'correct the user or the password in [forge]', options);
  }
  if (denied.some(one => one === code)) {
    return new ForgeFault('rights', message, `give the right to read: ${grant(address)}`, options);
  }
  if (missing.some(one => one === code)) {
    return new ForgeFault('schema', message, 'see the versions in docs/forges', options);
  }
  const mend = 'start the database, or correct [forge]; it is tried again by itself';
  return new ForgeFault('unreachable', message, mend, options);
}

export interface DatabaseServerAddress {
  readonly engine: 'postgres' | 'mysql';
  /** A name, an address, or the path of a Unix socket, which begins with a slash. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string | null;
  readonly database: string;
  /** `require` encrypts; `verify-full` also checks the server's certificate. */
  readonly tls: TlsMode;
  /** Schema of PostgreSQL; null for the user's search path. */
  readonly schema: string | null;
}

export type DatabaseAddress = { readonly engine: 'sqlite'; readonly path: string } | DatabaseServerAddress;

type TlsMode = 'disable' | 'require' | 'verify-full';

export const defaultPorts = { postgres: 5432, mysql: 3306 } as const;

const tlsModes: readonly TlsMode[] = ['disable', 'require', 'verify-full'];

/** Parses an address from the configuration. Special characters in user and password are percent-encoded. */
export function parseDatabaseAddress(text: string): Parsed<DatabaseAddress> {
  const sqlite = /^sqlite:(.+)$/s.exec(text);
  if (sqlite?.[1] !== undefined) return sqliteAt(sqlite[1]);
  if (!/^(?:postgres|postgresql|mysql):\/\//i.test(text)) return wrong('not an address of a database');
  if (!URL.canParse(text)) return wrong('not a whole address');
  return serverAt(new URL(text));
}

function sqliteAt(path: string): Parsed<DatabaseAddress> {
  if (!path.startsWith('/') || path.includes('\0')) return wrong('not an absolute path after sqlite:');
  return { ok: true, value: { engine: 'sqlite', path } };
}

function serverAt(url: URL): Parsed<DatabaseAddress> {
  const engine = url.protocol === 'mysql:' ? 'mysql' : 'postgres';
  const parts = [url.hostname, url.username, url.password, url.pathname.slice(1)].map(decoded);
  const [host, user, password, database] = parts;
  if (host === undefined || user === undefined || password === undefined || database === undefined) {
    return wrong('not percent-encoded UTF-8');
  }
  if (user === '') return wrong('an address without a user');
  if (database === '' || database.includes('/')) return wrong('an address without the name of a database');
  const known = engine === 'postgres' ? ['sslmode', 'schema'] : ['sslmode'];
  const unknown = [...url.searchParams.keys()].find(name => !known.includes(name));
  if (unknown !== undefined) return wrong(`an address with "${unknown}", which is not known here`);
  const tls = tlsModeOf(url.searchParams.get('sslmode') ?? 'disable');
  if (tls === null) return wrong(`an address whose sslmode is none of ${tlsModes.join(', ')}`);
  return {
    ok: true,
    value: {
      engine,
      host: host === '' ? 'localhost' : host.replace(/^\[(.*)\]$/, '$1'),
      port: url.port === '' ? defaultPorts[engine] : Number(url.port),
      user,
      password: password === '' ? null : password,
      database,
      tls,
      schema: url.searchParams.get('schema'),
    },
  };
}

/** Reads the TLS modes of libpq, of MySQL and of forges; null for others. */
export function tlsModeOf(text: string): TlsMode | null {
  switch (text.toLowerCase()) {
    case '':
    case 'disable':
    case 'false':
      return 'disable';
    case 'require':
    case 'prefer':
    case 'skip-verify':
      return 'require';
    case 'verify-full':
    case 'verify-ca':
    case 'true':
      return 'verify-full';
    default:
      return null;
  }
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function wrong(problem: string): Parsed<DatabaseAddress> {
  return { ok: false, problem };
}

function shownAddress(address: DatabaseAddress): string {
  if (address.engine === 'sqlite') return address.path;
  const { engine, host, port, database } = address;
  return host.startsWith('/')
    ? `${engine} ${database} at ${host}`
    : `${engine} ${database} at ${host}:${port}`;
}

type ForgeFaultCode = 'configuration' | 'unreachable' | 'rights' | 'schema' | 'gone';

/** Reason why a forge's database cannot be read or is not believed, with advice. */
export class ForgeFault extends Error {
  override readonly name = 'ForgeFault';
  readonly code: ForgeFaultCode;
  /** Advice for the administrator: a sentence or a command. */
  readonly mend: string;

  constructor(
    code: ForgeFaultCode,
    message: string,
    mend: string,
    options: { readonly cause?: unknown } = {},
  ) {
    super(message, options);
    this.code = code;
    this.mend = mend;
  }
}

/** Returns a fault as it is, and wraps any other error. */
export function forgeFaultOf(error: unknown, mend = 'see the log; it is tried again by itself'): ForgeFault {
  if (error instanceof ForgeFault) return error;
  return new ForgeFault('unreachable', messageOf(error), mend, { cause: error });
}

/** Columns with the size of a file. A table has at most one. */
const sizeColumns: readonly string[] = ['size', 'file_compressed_size'];
/** Text columns, which are cut when they are read. */
const textColumns: readonly string[] = [
  ...['name', 'lower_name', 'owner_name', 'email', 'path', 'disk_path', 'storage_path'],
  ...['oid', 'uuid', 'hash_sha256', 'model_type', 'source_type'],
];

/** Lists columns for a statement, with texts cut at the longest length of a name. */
export function boundedColumns(db: ForgeDatabase, columns: readonly string[]): string {
  const bounded = (name: string) => `SUBSTR(${db.quoted(name)}${db.asText}, 1, ${mostCharacters})`;
  return columns.map(name => (textColumns.includes(name) ? bounded(name) : db.quoted(name))).join(', ');
}

const unknownRow: AboutRow = { owner: null, path: null };

/**
 * Passes on the rows whose size is valid, with the last valid size in place of an invalid one. `about`
 * describes rows without a valid size, whose files count for nobody.
 */
export function judgedRows(
  { judge }: ForgeDatabase,
  table: string,
  columns: readonly string[],
  about: (row: Row) => AboutRow = () => unknownRow,
): { take(id: number, row: Row, give: (id: number, row: Row) => void): void; end(): void } {
  const at = columns.findIndex(name => sizeColumns.includes(name));
  if (at === -1) return { take: (id, row, give) => give(id, row), end: () => {} };
  const sizes = judge.sizes(table);
  return {
    take: (id, row, give) => {
      const size = sizes.judged(id, row[at], () => about(row));
      if (size !== null) give(id, size === Number(row[at]) ? row : row.with(at, size));
    },
    end: sizes.end,
  };
}

/** Reads a table and passes each row on with its id, which is the first column. `mostRows` limits a page. */
export async function eachRow(
  db: ForgeDatabase,
  table: string,
  columns: readonly string[],
  give: (id: number, row: Row) => void,
  { about, mostRows = Number.POSITIVE_INFINITY }: { about?: (row: Row) => AboutRow; mostRows?: number } = {},
): Promise<void> {
  const id = db.quoted('id');
  const sql = `SELECT ${boundedColumns(db, columns)} FROM ${db.quoted(table)} WHERE ${id} > ? ORDER BY ${id} LIMIT`;
  const judged = judgedRows(db, table, columns, about);
  let after: SqlValue = -1;
  for (;;) {
    const most = Math.min(mostRows, db.pageRows);
    const rows = await db.rows(`${sql} ${most}`, [after]);
    for (const row of rows) judged.take(Number(row[0]), row, give);
    if (rows.length < most) return judged.end();
    // SQLite does not wait for anything, so other work gets its turn between two pages here.
    await setImmediate();
    const last = rows.at(-1)?.[0];
    after = typeof last === 'bigint' || typeof last === 'string' ? last : Number(last);
  }
}

/** Reads a number, which drivers return as a number, a text or null. */
export function numberAt(row: Row, index: number): number {
  const value = row[index];
  return value === null || value === undefined ? 0 : Number(value);
}

export function textAt(row: Row, index: number): string {
  const value = row[index];
  return typeof value === 'string' ? value : value === null || value === undefined ? '' : String(value);
}

/** Reads a flag, which SQLite and MySQL store as a number. */
export function flagAt(row: Row, index: number): boolean {
  const value = row[index];
  return value === true || value === 1 || value === '1' || value === 't' || value === 1n;
}
