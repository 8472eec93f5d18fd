/** A forge's database as the reader uses it: bounded statements that only read. */

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

/** The limits of every connection. */
export const limits = {
  connectMs: 5000,
  statementMs: 30_000,
  /** Between two statements of one transaction, a server ends it after this. */
  idleMs: 60_000,
} as const;
