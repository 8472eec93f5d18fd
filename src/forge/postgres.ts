/** A forge's PostgreSQL database: one connection, on which every statement is in a read-only transaction. */

import { Client } from 'pg';
import type { DatabaseServerAddress } from './address.ts';
import {
  type ChangeMarks,
  columnsByTable,
  type ForgeDatabase,
  limits,
  type Row,
  serverFault,
} from './database.ts';

export async function openPostgres(address: DatabaseServerAddress): Promise<ForgeDatabase> {
  const client = new Client({
    host: address.host,
    port: address.port,
    user: address.user,
    password: address.password ?? undefined,
    database: address.database,
    ssl: address.tls === 'disable' ? false : { rejectUnauthorized: address.tls === 'verify-full' },
    application_name: 'softquota',
    connectionTimeoutMillis: limits.connectMs,
    query_timeout: limits.statementMs + limits.connectMs,
  });
  // A connection that breaks while nothing is asked: the next statement says so.
  client.on('error', () => {});
  try {
    await client.connect();
    const version = await client.query({ text: 'SHOW server_version', rowMode: 'array' });
    const recovering = await client.query({ text: 'SELECT pg_is_in_recovery()', rowMode: 'array' });
    const product = `PostgreSQL ${String(version.rows[0]?.[0])}`;
    return new PostgresDatabase(client, address, product, recovering.rows[0]?.[0] === true);
  } catch (error) {
    await client.end().catch(() => {});
    throw serverFault(address, error);
  }
}

class PostgresDatabase implements ForgeDatabase {
  readonly pageRows = limits.pageRows;
  readonly product: string;
  readonly #client: Client;
  readonly #address: DatabaseServerAddress;
  /** A replica, which counts no changes of its tables. */
  readonly #isReplica: boolean;
  #isInTransaction = false;

  constructor(client: Client, address: DatabaseServerAddress, product: string, isReplica: boolean) {
    this.#client = client;
    this.#address = address;
    this.product = product;
    this.#isReplica = isReplica;
  }

  quoted(name: string): string {
    return `"${name}"`;
  }

  async columns(tables: readonly string[]): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
    // A part of a divided table may have the table's former name, but only some of its rows.
    const rows = await this.#query(
      `SELECT table_name, column_name FROM information_schema.columns
       WHERE table_schema = ANY (current_schemas(false)) AND table_name = ANY ($1)
       AND (table_schema, table_name) NOT IN (
         SELECT nspname, relname FROM pg_catalog.pg_inherits
         JOIN pg_catalog.pg_class ON pg_class.oid = inhrelid
         JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace)`,
      [tables],
    );
    return columnsByTable(rows);
  }

  rows(sql: string, values: readonly (number | string)[]): Promise<readonly Row[]> {
    let index = 0;
    return this.#query(
      sql.replaceAll('?', () => `$${++index}`),
      values,
    );
  }

  async consistently<T>(act: () => Promise<T>): Promise<T> {
    const { schema } = this.#address;
    const local = [
      'BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY',
      `SET LOCAL statement_timeout = ${limits.statementMs}`,
      `SET LOCAL lock_timeout = ${limits.connectMs}`,
      `SET LOCAL idle_in_transaction_session_timeout = ${limits.idleMs}`,
      ...(schema === null ? [] : [`SET LOCAL search_path = ${this.#client.escapeIdentifier(schema)}`]),
    ];
    await this.#answered(this.#client.query(local.join('; ')));
    this.#isInTransaction = true;
    try {
      const result = await act();
      await this.#end('COMMIT');
      return result;
    } catch (error) {
      await this.#end('ROLLBACK').catch(() => {});
      throw error;
    }
  }

  /**
   * The position in the server's log covers all databases; the counters of changed rows are those of a table,
   * and may be some seconds late.
   */
  async marks(tables: readonly string[]): Promise<ChangeMarks> {
    const position = this.#isReplica ? 'pg_last_wal_replay_lsn()' : 'pg_current_wal_insert_lsn()';
    const rows = await this.#query(
      `SELECT ${position}::text, relname, n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_user_tables
       WHERE schemaname = ANY (current_schemas(false)) AND relname = ANY ($1)`,
      [tables],
    );
    const whole = rows[0]?.[0] ?? null;
    return {
      whole: whole === null ? null : String(whole),
      tables: new Map(rows.map(([, table, changes]) => [String(table), String(changes)])),
    };
  }

  async close(): Promise<void> {
    await this.#client.end().catch(() => {});
  }

  async #query(text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    if (!this.#isInTransaction) return this.consistently(() => this.#query(text, values));
    const asked = this.#client.query({ text, values: [...values], rowMode: 'array' });
    const { rows } = await this.#answered(asked);
    return rows;
  }

  async #end(how: 'COMMIT' | 'ROLLBACK'): Promise<void> {
    this.#isInTransaction = false;
    await this.#answered(this.#client.query(how));
  }

  async #answered<Result>(asked: Promise<Result>): Promise<Result> {
    try {
      return await asked;
    } catch (error) {
      throw serverFault(this.#address, error);
    }
  }
}
