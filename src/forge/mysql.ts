/** A forge's MySQL or MariaDB database: one connection with read-only transactions. */

import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise';
import {
  columnsByTable,
  type DatabaseServerAddress,
  type ForgeDatabase,
  limits,
  type Row,
  type SqlValue,
  serverFault,
} from './database.ts';
import { RowJudge } from './odd-rows.ts';

export async function openMysql(address: DatabaseServerAddress): Promise<ForgeDatabase> {
  let connection: Connection | null = null;
  try {
    connection = await createConnection({
      ...(address.host.startsWith('/')
        ? { socketPath: address.host }
        : { host: address.host, port: address.port }),
      user: address.user,
      password: address.password ?? '',
      database: address.database,
      ...(address.tls === 'disable' ? {} : { ssl: { rejectUnauthorized: address.tls === 'verify-full' } }),
      connectTimeout: limits.connectMs,
      rowsAsArray: true,
      supportBigNumbers: true,
      multipleStatements: false,
      // By default the driver would compile code for each shape of rows.
      disableEval: true,
    });
    // If an idle connection breaks, the next statement fails and reports it.
    connection.on('error', () => {});
    const [version] = await rowsOf(connection, 'SELECT VERSION()', []);
    const product = String(version?.[0]);
    const isMaria = product.includes('MariaDB');
    const seconds = limits.statementMs / 1000;
    const settings = isMaria
      ? [`SET SESSION max_statement_time = ${seconds}`]
      : [
          `SET SESSION max_execution_time = ${limits.statementMs}`,
          // By default the times of the last changes may be a day old.
          'SET SESSION information_schema_stats_expiry = 0',
        ];
    for (const setting of ['SET SESSION TRANSACTION READ ONLY', ...settings]) {
      await rowsOf(connection, setting, []);
    }
    return databaseOn(connection, address, isMaria ? product : `MySQL ${product}`);
  } catch (error) {
    connection?.destroy();
    throw serverFault(address, error);
  }
}

function databaseOn(connection: Connection, address: DatabaseServerAddress, product: string): ForgeDatabase {
  let unsettled = 0;
  const rows = async (...asked: [sql: string, values: readonly SqlValue[], timeoutMs?: number]) => {
    try {
      return await rowsOf(connection, ...asked);
    } catch (error) {
      throw serverFault(address, error);
    }
  };
  const inSchema = (tables: readonly string[]) =>
    `WHERE table_schema = DATABASE() AND table_name IN (${tables.map(() => '?').join(', ')})`;
  return {
    product,
    pageRows: limits.pageRows,
    judge: new RowJudge(),
    asText: '',
    quoted: name => `\`${name}\``,
    rows,
    columns: async tables => {
      const sql = `SELECT table_name, column_name FROM information_schema.columns ${inSchema(tables)}`;
      return columnsByTable(await rows(sql, tables));
    },
    consistently: async act => {
      await rows('START TRANSACTION READ ONLY, WITH CONSISTENT SNAPSHOT', [], limits.answerMs);
      // After a fault the connection is closed, which ends the transaction.
      const result = await act();
      await rows('COMMIT', [], limits.answerMs);
      return result;
    },
    // Times of changes have whole seconds, so another change may follow within the current second.
    marks: async tables => {
      const found = await rows(
        `SELECT table_name, COALESCE(UNIX_TIMESTAMP(update_time), 0), UNIX_TIMESTAMP(NOW())
         FROM information_schema.tables ${inSchema(tables)}`,
        tables,
        limits.answerMs,
      );
      const marks = found.map(([table, changed, now]): [string, string] => {
        const isSettled = Number(now) - Number(changed) > 1;
        return [String(table), isSettled ? String(changed) : `${changed}+${++unsettled}`];
      });
      return { whole: null, tables: new Map(marks) };
    },
    close: async () => connection.destroy(),
  };
}

async function rowsOf(
  connection: Connection,
  sql: string,
  values: readonly SqlValue[],
  timeout = limits.statementMs + limits.connectMs,
): Promise<readonly Row[]> {
  const [rows] = await connection.query<RowDataPacket[][]>({ sql, values: [...values], timeout });
  // With rowsAsArray each row is an array; statements without rows return a header instead.
  return Array.isArray(rows) ? rows : [];
}
