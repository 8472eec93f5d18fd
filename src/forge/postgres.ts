/** A forge's PostgreSQL database: one connection with read-only transactions. */

import { Client } from 'pg';
import {
  columnsByTable,
  type DatabaseServerAddress,
  type ForgeDatabase,
  limits,
  type Row,
  serverFault,
} from './database.ts';
import { RowJudge } from './odd-rows.ts';

/** Makes a statement that a running server answers at once. */
const brief = (text: string) => ({ text, query_timeout: limits.answerMs });

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
  const { schema } = address;
  const beginning = [
    'BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY',
    `SET LOCAL statement_timeout = ${limits.statementMs}`,
    `SET LOCAL lock_timeout = ${limits.connectMs}`,
    `SET LOCAL idle_in_transaction_session_timeout = ${limits.idleMs}`,
    ...(schema === null ? [] : [`SET LOCAL search_path = ${client.escapeIdentifier(schema)}`]),
  ].join('; ');
  let isInTransaction = false;

  async function answered<Result>(asked: Promise<Result>): Promise<Result> {
    try {
      return await asked;
    } catch (error) {
      throw serverFault(address, error);
    }
  }

  async function consistently<T>(act: () => Promise<T>): Promise<T> {
    await answered(client.query(brief(beginning)));
    isInTransaction = true;
    // After a fault the connection is closed, which ends the transaction.
    const result = await act();
    isInTransaction = false;
    await answered(client.query(brief('COMMIT')));
    return result;
  }

  async function query(text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    if (!isInTransaction) return consistently(() => query(text, values));
    const { rows } = await answered(client.query({ text, values: [...values], rowMode: 'array' }));
    return rows;
  }

  // If an idle connection breaks, the next statement fails and reports it.
  client.on('error', () => {});
  try {
    await client.connect();
    const asked = 'SELECT current_setting($1), pg_is_in_recovery()';
    const { rows } = await client.query({ text: asked, values: ['server_version'], rowMode: 'array' });
    // A replica does not count changes of its tables.
    const [version, isReplica] = rows[0] ?? [];
    const position = isReplica === true ? 'pg_last_wal_replay_lsn()' : 'pg_current_wal_insert_lsn()';
    return {
      product: `PostgreSQL ${String(version)}`,
      pageRows: limits.pageRows,
      judge: new RowJudge(),
      asText: '::text',
      quoted: name => `"${name}"`,
      // A partition may have the former name of its table, but only some of its rows.
      columns: async tables =>
        columnsByTable(
          await query(
            `SELECT table_name, column_name FROM information_schema.columns
             WHERE table_schema = ANY (current_schemas(false)) AND table_name = ANY ($1)
             AND (table_schema, table_name) NOT IN (
               SELECT nspname, relname FROM pg_catalog.pg_inherits
               JOIN pg_catalog.pg_class ON pg_class.oid = inhrelid
               JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace)`,
            [tables],
          ),
        ),
      rows: (sql, values) => {
        let index = 0;
        return query(
          sql.replaceAll('?', () => `$${++index}`),
          values,
        );
      },
      consistently,
      // The position in the server's log covers all databases. Counters of changed rows cover a table, but
      // may be some seconds late.
      marks: async tables => {
        const found = await query(
          `SELECT ${position}::text, relname, n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_user_tables
           WHERE schemaname = ANY (current_schemas(false)) AND relname = ANY ($1)`,
          [tables],
        );
        const whole = found[0]?.[0] ?? null;
        return {
          whole: whole === null ? null : String(whole),
          tables: new Map(found.map(([, table, changes]) => [String(table), String(changes)])),
        };
      },
      close: () => client.end().catch(() => {}),
    };
  } catch (error) {
    await client.end().catch(() => {});
    throw serverFault(address, error);
  }
}
