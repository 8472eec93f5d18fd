/**
 * A forge's SQLite file, opened for reading only.
 *
 * With `journal_mode = DELETE`, an open cursor blocks the forge's next write, which fails after half a
 * second. So each statement is short and read completely, and no transaction spans two statements. The size
 * of a page is chosen by the duration of the previous one. With `WAL` readers block nobody, and the same
 * statements are used.
 */

import { existsSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { readBounded } from '../bounded/index.ts';
import { messageOf, systemCode } from '../errors.ts';
import { printable } from '../text.ts';
import { type ChangeMarks, type ForgeDatabase, ForgeFault, type Row, type SqlValue } from './database.ts';
import { RowJudge } from './odd-rows.ts';

/** Milliseconds for which a page should hold its lock, and a statement waits for the lock of the forge. */
const pageMs = 8;
const busyMs = 5000;
const leastRows = 100;
const mostRows = 20_000;

export function openSqlite(path: string): ForgeDatabase {
  try {
    return new SqliteDatabase(path);
  } catch (error) {
    throw faultOf(path, error);
  }
}

class SqliteDatabase implements ForgeDatabase {
  readonly product: string;
  judge = new RowJudge();
  readonly asText = '';
  readonly #path: string;
  readonly #db: DatabaseSync;
  readonly #isImmutable: boolean;
  readonly #identity: string;
  #pageRows = 1000;

  constructor(path: string) {
    this.#path = path;
    // A file in WAL mode without a log is not in use. Opening it normally would create a log.
    this.#isImmutable = hasWalMode(path) && !existsSync(`${path}-wal`);
    this.#identity = identityOf(path, this.#isImmutable);
    const url = pathToFileURL(path);
    url.search = this.#isImmutable ? 'mode=ro&immutable=1' : 'mode=ro';
    this.#db = new DatabaseSync(url, { readOnly: true, timeout: 0 });
    const [version] = this.#all('SELECT sqlite_version()', []);
    this.product = `SQLite ${String(version?.[0])}`;
  }

  get pageRows(): number {
    return this.#pageRows;
  }

  quoted(name: string): string {
    return `"${name}"`;
  }

  async columns(tables: readonly string[]): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
    const found = new Map<string, ReadonlySet<string>>();
    for (const table of tables) {
      const names = this.#all('SELECT name FROM pragma_table_info(?)', [table]).map(([name]) => String(name));
      if (names.length > 0) found.set(table, new Set(names));
    }
    return found;
  }

  async rows(sql: string, values: readonly SqlValue[]): Promise<readonly Row[]> {
    const start = performance.now();
    const rows = this.#all(sql, values);
    const ms = performance.now() - start;
    if (rows.length >= this.#pageRows) {
      const fitting = Math.round((this.#pageRows * pageMs) / Math.max(ms, 0.1));
      this.#pageRows = Math.max(leastRows, Math.min(mostRows, fitting, this.#pageRows * 2));
    }
    return rows;
  }

  /** Runs `act` without a transaction, which would need a lock. Changes in between appear in the marks. */
  async consistently<T>(act: () => Promise<T>): Promise<T> {
    const result = await act();
    this.#refuseReplaced();
    return result;
  }

  async marks(tables: readonly string[]): Promise<ChangeMarks> {
    this.#refuseReplaced();
    const [version] = this.#all('PRAGMA data_version', []);
    return { whole: String(version?.[0]), tables: new Map(tables.map(table => [table, ''])) };
  }

  async close(): Promise<void> {
    this.#db.close();
  }

  #refuseReplaced(): void {
    const isOther = identityOf(this.#path, this.#isImmutable) !== this.#identity;
    if (isOther || (this.#isImmutable && existsSync(`${this.#path}-wal`))) throw replaced(this.#path);
  }

  #all(sql: string, values: readonly SqlValue[]): readonly Row[] {
    const until = performance.now() + busyMs;
    for (;;) {
      try {
        const statement = this.#db.prepare(sql);
        statement.setReturnArrays(true);
        // Otherwise one number above 2^53 would make the whole statement fail.
        statement.setReadBigInts(true);
        const rows: readonly unknown[] = statement.all(...values);
        return rows.filter(row => Array.isArray(row));
      } catch (error) {
        if (!isBusy(error) || performance.now() > until) throw faultOf(this.#path, error);
        Atomics.wait(pause, 0, 0, pauseMs);
      }
    }
  }
}

/**
 * Milliseconds between two attempts. SQLite itself would wait longer each time, and miss the gaps between the
 * writes of a busy forge.
 */
const pauseMs = 0.5;
const pause = new Int32Array(new SharedArrayBuffer(4));
const busyCode = 5;

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === busyCode;
}

/** Version of the file format for WAL mode, and its offset in the file. */
const walVersion = 2;
const versionsAt = 18;

function hasWalMode(path: string): boolean {
  const file = readBounded(path, { follow: true, mostBytes: versionsAt + 2 });
  return (
    file.kind === 'file' && file.bytes[versionsAt] === walVersion && file.bytes[versionsAt + 1] === walVersion
  );
}

/** SQLite does not notice changes of a file that was opened as immutable, so size and time are compared. */
function identityOf(path: string, isImmutable: boolean): string {
  const { dev, ino, size, mtimeNs } = statSync(path, { bigint: true });
  return isImmutable ? `${dev}:${ino}:${size}:${mtimeNs}` : `${dev}:${ino}`;
}

function replaced(path: string): ForgeFault {
  return new ForgeFault(
    'unreachable',
    `${printable(path)} has been opened or replaced by another program`,
    'nothing: it is opened again',
  );
}

function faultOf(path: string, error: unknown): ForgeFault {
  if (error instanceof ForgeFault) return error;
  const shown = printable(path);
  const why = messageOf(error);
  const code = systemCode(error);
  const options = { cause: error };
  if (code === 'EACCES' || code === 'EPERM') {
    const mend = `give the daemon's user read permission for ${shown} and for the directory that it is in`;
    return new ForgeFault('rights', `${shown} cannot be read: ${why}`, mend, options);
  }
  if (/no such (?:table|column)/.test(why)) {
    return new ForgeFault('schema', `${shown}: ${why}`, 'see the versions in docs/forges', options);
  }
  const mend = 'see why; it is tried again by itself';
  return new ForgeFault('unreachable', `${shown} cannot be read: ${why}`, mend, options);
}
