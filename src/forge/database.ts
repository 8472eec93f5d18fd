/** A forge's database as the reader uses it: bounded statements that only read. */

import { messageOf } from '../errors.ts';
import { type DatabaseServerAddress, shownAddress } from './address.ts';
import { ForgeFault } from './fault.ts';

/** The columns of a row, in the order of the statement. */
export type Row = readonly unknown[];

/** Tells whether something may have changed; equal marks mean that nothing has. */
export interface ChangeMarks {
  /** Covers everything in the database; null if the database has no such mark. */
  readonly whole: string | null;
  /** By table. */
  readonly tables: ReadonlyMap<string, string>;
}

export interface ForgeDatabase {
  /** The name and version of the server or library. */
  readonly product: string;
  /** The columns of each of these tables; a table that is missing, or cannot be seen, is left out. */
  columns(tables: readonly string[]): Promise<ReadonlyMap<string, ReadonlySet<string>>>;
  /** Reads rows, with `?` for values. The statement has a time limit. */
  rows(sql: string, values: readonly (number | string)[]): Promise<readonly Row[]>;
  /** Has `act` read one state of the database, if that keeps nobody waiting. */
  consistently<T>(act: () => Promise<T>): Promise<T>;
  marks(tables: readonly string[]): Promise<ChangeMarks>;
  /** The most rows to ask for in one statement. */
  readonly pageRows: number;
  /** Writes a name of a table or column. */
  quoted(name: string): string;
  close(): Promise<void>;
}

/** The limits of every connection to a server. */
export const limits = {
  connectMs: 5000,
  statementMs: 30_000,
  /** Between two statements of one transaction, a server ends it after this. */
  idleMs: 60_000,
  pageRows: 20_000,
} as const;

/** Gathers rows of a table's name and a column's. */
export function columnsByTable(rows: readonly Row[]): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  for (const [table, column] of rows) {
    const columns = found.get(String(table)) ?? new Set();
    found.set(String(table), columns.add(String(column)));
  }
  return found;
}

/**
 * For each engine, the codes with which a server refuses a user, or says that a table or a column is missing,
 * and the statement that gives the right to read.
 */
const servers = {
  postgres: {
    // invalid_password, invalid_authorization_specification, insufficient_privilege
    denied: ['28P01', '28000', '42501'],
    // undefined_table, undefined_column
    missing: ['42P01', '42703'],
    grant: ({ user }: DatabaseServerAddress) => `GRANT SELECT ON ALL TABLES IN SCHEMA public TO "${user}"`,
  },
  mysql: {
    denied: [
      'ER_ACCESS_DENIED_ERROR',
      'ER_DBACCESS_DENIED_ERROR',
      'ER_TABLEACCESS_DENIED_ERROR',
      'ER_COLUMNACCESS_DENIED_ERROR',
      'ER_ACCESS_DENIED_NO_PASSWORD_ERROR',
    ],
    missing: ['ER_NO_SUCH_TABLE', 'ER_BAD_FIELD_ERROR'],
    grant: ({ database, user }: DatabaseServerAddress) => `GRANT SELECT ON ${database}.* TO '${user}'@'%'`,
  },
} as const;

export function serverFault(address: DatabaseServerAddress, error: unknown): ForgeFault {
  if (error instanceof ForgeFault) return error;
  const { denied, missing, grant } = servers[address.engine];
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const message = `${shownAddress(address)}: ${messageOf(error)}`;
  const options = { cause: error };
  if (denied.some(one => one === code)) {
    const mend = `correct the user or the password, or give the right to read: ${grant(address)}`;
    return new ForgeFault('rights', message, mend, options);
  }
  if (missing.some(one => one === code)) {
    return new ForgeFault('schema', message, 'see the versions in docs/forges', options);
  }
  const mend = 'start the database, or correct [forge]; it is tried again by itself';
  return new ForgeFault('unreachable', message, mend, options);
}
