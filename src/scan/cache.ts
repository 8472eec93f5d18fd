/**
 * The scan cache: the signature of each unit, by which a sweep sees that nothing has changed since it was
 * last walked.
 *
 * It costs time only, so no walk fails by it. A file that is damaged or of another version is made again by
 * `prepareCache`, before any thread has it open; damage found later leaves the cache unused until the next
 * start.
 */

import { rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { messageOf } from '../errors.ts';
import { encodePath } from '../layout/index.ts';
import type { Signature } from './signature.ts';

const version = 3;

/** SQLite's codes for a file that is damaged, and for one that is no database. */
const damages: ReadonlySet<unknown> = new Set([11, 26]);

/** Pages of 4 KiB at which the log is carried over into the file. */
const logPages = 64;

/** In directories, of which each takes some twenty bytes: the log grows with what is written together. */
const mostGathered = 5000;

class Unusable extends Error {}

/**
 * Makes the file ready for `openCache`; gives why it had to be made again, or null. Throws where
 * the disk does not let it be made.
 */
export function prepareCache(file: string): string | null {
  try {
    prepare(file);
    return null;
  } catch (error) {
    if (!(error instanceof Unusable) && !isDamage(error)) throw error;
    for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${file}${suffix}`, { force: true });
    prepare(file);
    return messageOf(error);
  }
}

function prepare(file: string): void {
  const database = connect(file);
  try {
    const { tables } = database.prepare('SELECT count(*) AS tables FROM sqlite_schema').get() ?? {};
    if (tables === 0) {
      database.exec(`
        CREATE TABLE signatures (
          path BLOB PRIMARY KEY, digest TEXT NOT NULL, signature TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        PRAGMA user_version = ${version};
      `);
    }
    const { user_version: found } = database.prepare('PRAGMA user_version').get() ?? {};
    if (found !== version) throw new Unusable(`it is of version ${found}, not ${version}`);
    const { quick_check: check } = database.prepare('PRAGMA quick_check(1)').get() ?? {};
    if (check !== 'ok') throw new Unusable(String(check));
  } finally {
    database.close();
  }
}

/**
 * A crash of the system may cost the cache, never the disk a wait: hence no sync. Its log stays small, since
 * what it takes of a disk that is nearly full is missing to the store.
 */
function connect(file: string): DatabaseSync {
  const database = new DatabaseSync(file, { timeout: 2000 });
  try {
    database.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = OFF;
      PRAGMA wal_autocheckpoint = ${logPages};
      PRAGMA journal_size_limit = 0;
    `);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Forgets all units of a prepared cache. */
export function emptyCache(file: string): void {
  const database = connect(file);
  try {
    database.exec('DELETE FROM signatures');
  } finally {
    database.close();
  }
}

/** One thread's way to the cache. */
export interface Cache {
  /** The signature of the unit; null if none is cached. */
  readSignature(unit: string): Signature | null;
  /**
   * Remembers it. Many are written together, which takes little longer than one alone: if the thread ends
   * before, the next walks of these units read everything.
   */
  writeSignature(unit: string, signature: Signature): void;
  /** Writes what is gathered. */
  flush(): void;
  close(): void;
}

export const noCache: Cache = {
  readSignature: () => null,
  writeSignature() {},
  flush() {},
  close() {},
};

function prepared(database: DatabaseSync) {
  const signatureOf = database.prepare('SELECT signature FROM signatures WHERE path = ?');
  const digestOf = database.prepare('SELECT digest FROM signatures WHERE path = ?');
  const put = database.prepare('INSERT OR REPLACE INTO signatures VALUES (?, ?, ?)');
  return { signatureOf, digestOf, put };
}

/** Opens a prepared cache. `fault` is told why something could not be kept, once for each reason. */
export function openCache(file: string, fault: (why: string) => void): Cache {
  const told = new Set<string>();
  let database: DatabaseSync | null = null;

  /** `work` done with the database, or `otherwise` where that fails. */
  function attempt<T>(otherwise: T, work: (database: DatabaseSync) => T): T {
    if (database === null) return otherwise;
    try {
      return work(database);
    } catch (error) {
      const why = messageOf(error);
      if (!told.has(why)) fault(why);
      told.add(why);
      if (isDamage(error)) close();
      else emptyLog();
      return otherwise;
    }
  }

  /** On a full disk the store is to have the room. */
  function emptyLog(): void {
    try {
      database?.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // Others are at it, or the disk has no room for that either.
    }
  }

  function close(): void {
    database?.close();
    database = null;
  }

  let statements: ReturnType<typeof prepared>;
  try {
    database = connect(file);
    statements = prepared(database);
  } catch (error) {
    fault(messageOf(error));
    close();
    return noCache;
  }
  const { signatureOf, digestOf, put } = statements;
  let gathered: (readonly [unit: string, signature: Signature])[] = [];
  let gatheredDirectories = 0;

  function read(unit: string): Signature | null {
    const row = signatureOf.get(keyOf(unit));
    return row === undefined ? null : signatureIn(String(row.signature));
  }

  function write(unit: string, signature: Signature): void {
    const path = keyOf(unit);
    if (digestOf.get(path)?.digest === signature.digest) return;
    // Names that are not UTF-8 have lone surrogates, which JSON escapes and SQLite would not keep.
    put.run(path, signature.digest, JSON.stringify(signature));
  }

  function flush(): void {
    if (gathered.length === 0) return;
    const all = gathered;
    gathered = [];
    gatheredDirectories = 0;
    attempt(undefined, database => {
      database.exec('BEGIN IMMEDIATE');
      try {
        for (const [unit, signature] of all) write(unit, signature);
        database.exec('COMMIT');
      } finally {
        if (database.isTransaction) database.exec('ROLLBACK');
      }
    });
  }

  return {
    readSignature: unit => attempt(null, () => read(unit)),
    writeSignature: (unit, signature) => {
      gathered.push([unit, signature]);
      gatheredDirectories += signature.names.length;
      if (gatheredDirectories >= mostGathered) flush();
    },
    flush,
    close: () => {
      flush();
      close();
    },
  };
}

/** Returns null for a damaged row. A row that can be read but is wrong has another digest. */
function signatureIn(text: string): Signature | null {
  try {
    const signature: Signature = JSON.parse(text);
    return Array.isArray(signature.names) && Array.isArray(signature.parents) ? signature : null;
  } catch {
    return null;
  }
}

function keyOf(unit: string): Uint8Array {
  const encoded = encodePath(unit);
  return typeof encoded === 'string' ? Buffer.from(encoded) : encoded;
}

function isDamage(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && damages.has(error.errcode);
}
