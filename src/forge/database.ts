/**
 * A forge's database as the reader uses it: its address (`sqlite:PATH`, `postgres://…`, `mysql://…`), bounded
 * statements that only read, and its faults. A table is read in pages by ascending ids, so that no statement
 * is long and no page is asked for twice.
 */

import { setImmediate } from 'node:timers/promises';
import { messageOf } from '../errors.ts';
import type { Parsed } from '../parsed.ts';

/** The columns of a row, in the order of the statement. */
export type Row = readonly unknown[];

/** Characters of a text that are read, at most; more than a name may have. */
export const mostCharacters = 600;

/** The name of the row's owner, and its file; null where nobody can tell. */
export interface AboutRow {
  readonly owner: string | null;
  readonly path: string | null;
}

export interface SizeJudge {
  /** Judges the sizes of a table, by the ids of its rows. */
  sizes(table: string): {
    /** Gives the size that counts for the row's owner; null: none does. */
    judged(id: number, value: unknown, about: () => AboutRow): number | null;
    /** The table has been read to its end. */
    end(): void;
  };
}

/** A value that is put in place of a `?`. */
export type SqlValue = bigint | number | string;

/** Tells whether something may have changed; equal marks mean that nothing has. */
export interface ChangeMarks {
  /** Covers everything in the database; null if the database has no such mark. */
  readonly whole: string | null;
  readonly tables: ReadonlyMap<string, string>;
}

/** A replica of a repository, by the database of a Gitaly Cluster. */
export interface Replica {
  /** The path of the replica below a storage. */
  readonly path: string;
  readonly place: GitlabPlace;
  /** This storage is the primary one; without one it is the first by name. */
  readonly isBilled: boolean;
}

export interface GitlabPlace {
  /** The name by which GitLab's rows lead to it: `@hashed/HASH`. */
  readonly name: string;
  /** `.wiki` or `.design` for one beside a project; else empty. */
  readonly beside: string;
}

/** The replicas that a cluster has of GitLab's repositories. */
interface Replicas {
  each(take: (replica: Replica) => void): Promise<void>;
  /** Null: it is none, or not known. */
  placeOf(path: string): Promise<GitlabPlace | null>;
}

export interface ForgeDatabase {
  readonly product: string;
  /** The columns of each of these tables; a table that is missing, or cannot be seen, is left out. */
  columns(tables: readonly string[]): Promise<ReadonlyMap<string, ReadonlySet<string>>>;
  /** Reads rows, with `?` for values. The statement has a time limit. */
  rows(sql: string, values: readonly SqlValue[]): Promise<readonly Row[]>;
  /** Has `act` read one state of the database, if that keeps nobody waiting. */
  consistently<T>(act: () => Promise<T>): Promise<T>;
  marks(tables: readonly string[]): Promise<ChangeMarks>;
  readonly pageRows: number;
  /** Only of a GitLab with a Gitaly Cluster. */
  readonly replicas?: Replicas;
  /** Judges the rows of this reader. */
  judge: SizeJudge;
  quoted(name: string): string;
  /** Stands behind a column of another type that is taken as a text. */
  readonly asText: string;
  close(): Promise<void>;
}

export const limits = {
  connectMs: 5000,
  /** Answers without work come in this time, so that a stopped server is noticed soon. */
  answerMs: 2500,
  statementMs: 30_000,
  /** Between two statements of one transaction, a server ends it after this. */
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

/** By engine: codes of a refused sign-in, a missing right, a missing table or column; the right's words. */
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

/** The statement by which the database's administrator lets the user read; null: a file needs none. */
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
  /** A name or an address, or with a slash at its beginning the place of a Unix socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string | null;
  readonly database: string;
  /** `require` encrypts, and `verify-full` also checks the server's certificate. */
  readonly tls: TlsMode;
  /** PostgreSQL only; null for the user's search path. */
  readonly schema: string | null;
}

export type DatabaseAddress = { readonly engine: 'sqlite'; readonly path: string } | DatabaseServerAddress;

type TlsMode = 'disable' | 'require' | 'verify-full';

export const defaultPorts = { postgres: 5432, mysql: 3306 } as const;

const tlsModes: readonly TlsMode[] = ['disable', 'require', 'verify-full'];

/** Reads what an administrator wrote. A user or password with special characters is percent-encoded. */
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

/** Reads the modes of libpq, of MySQL and of forges; null for others. */
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

/** A reason why a forge's database could not be read, or is not believed, with its fix. */
export class ForgeFault extends Error {
  override readonly name = 'ForgeFault';
  readonly code: ForgeFaultCode;
  /** A sentence or a command for the administrator. */
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

/** A fault as it is; else what nobody foresaw. */
export function forgeFaultOf(error: unknown, mend = 'see the log; it is tried again by itself'): ForgeFault {
  if (error instanceof ForgeFault) return error;
  return new ForgeFault('unreachable', messageOf(error), mend, { cause: error });
}

/** Columns that have a file's size, of which a table has one. */
const sizeColumns: readonly string[] = ['size', 'file_compressed_size'];
/** Columns whose texts have the forge's own bound or none. */
const textColumns: readonly string[] = [
  ...['name', 'lower_name', 'owner_name', 'email', 'path', 'disk_path', 'storage_path'],
  ...['oid', 'uuid', 'hash_sha256', 'model_type', 'source_type'],
];

/** The columns of a statement, no text of which is longer than a name may be. */
export function boundedColumns(db: ForgeDatabase, columns: readonly string[]): string {
  const bounded = (name: string) => `SUBSTR(${db.quoted(name)}${db.asText}, 1, ${mostCharacters})`;
  return columns.map(name => (textColumns.includes(name) ? bounded(name) : db.quoted(name))).join(', ');
}

const unknownRow: AboutRow = { owner: null, path: null };

/**
 * Hands rows on whose size is good, or was. `columns`: those of the table; `about`: for the others, of which
 * the file counts for nobody.
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

/** Gives each row, with its id, which is the first column. `mostRows`: to ask for at once. */
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
    // A database without a server never waits: others have their turn between two pages.
    await setImmediate();
    const last = rows.at(-1)?.[0];
    after = typeof last === 'bigint' || typeof last === 'string' ? last : Number(last);
  }
}

/** Reads a number that drivers give as a number, as text or not at all. */
export function numberAt(row: Row, index: number): number {
  const value = row[index];
  return value === null || value === undefined ? 0 : Number(value);
}

export function textAt(row: Row, index: number): string {
  const value = row[index];
  return typeof value === 'string' ? value : value === null || value === undefined ? '' : String(value);
}

/** Reads a flag, which SQLite and MySQL keep as a number. */
export function flagAt(row: Row, index: number): boolean {
  const value = row[index];
  return value === true || value === 1 || value === '1' || value === 't' || value === 1n;
}
