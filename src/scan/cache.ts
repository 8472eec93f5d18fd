/**
 * The scan cache: what the directories of every unit held when they were last walked, and by what to see that
 * nothing has changed since.
 *
 * It costs exactness only where a place cannot be read, so no walk fails by it. A file that is
 * damaged or of another version is made again by `prepareCache`, before any thread has it open;
 * damage found later leaves the cache unused until the next start.
 */

import { hash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { messageOf } from '../errors.ts';
import { encodePath } from '../layout/index.ts';
import type { Signature } from './signature.ts';
import { signaturesIn, signaturesTable } from './signatures.ts';
import type { Sums } from './sums.ts';

const version = 1;

/** SQLite's codes for a file that is damaged, and for one that is no database. */
const damages: ReadonlySet<unknown> = new Set([11, 26]);

/** Pages of 4 KiB at which the log is carried over into the file. */
const logPages = 64;

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
        CREATE TABLE sums (path BLOB PRIMARY KEY, digest TEXT NOT NULL, sums TEXT NOT NULL) STRICT;
        PRAGMA user_version = ${version};
      `);
    }
    const { user_version: found } = database.prepare('PRAGMA user_version').get() ?? {};
    if (found !== version) throw new Unusable(`it is of version ${found}, not ${version}`);
    // An earlier version had a table of owners.
    database.exec(`DROP TABLE IF EXISTS owners; ${signaturesTable}`);
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

/** One thread's way to the cache. */
export interface Cache {
  /** The sums of the unit's directories; null if they are not cached. */
  read(unit: string): Sums | null;
  /** Remembers it; writes only what changed. */
  write(unit: string, sums: Sums): void;
  /** The signature of the unit; null if none is cached. */
  readSignature(unit: string): Signature | null;
  /** The small ones of these units' signatures, which are read together: that takes a third of the time. */
  readSmallSignatures(units: readonly string[]): Map<string, Signature>;
  /** Remembers it; writes only what changed. */
  writeSignature(unit: string, signature: Signature): void;
  /** Writes together what `work` writes, which takes as long as one write alone. */
  together(work: () => void): void;
  /** Forgets the units that are not among these. */
  keepOnly(units: Iterable<string>): void;
  close(): void;
}

export const noCache: Cache = {
  read: () => null,
  write() {},
  readSignature: () => null,
  readSmallSignatures: () => new Map(),
  writeSignature() {},
  together: work => work(),
  keepOnly() {},
  close() {},
};

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

  try {
    database = connect(file);
  } catch (error) {
    fault(messageOf(error));
    return noCache;
  }
  const digestOf = database.prepare('SELECT digest FROM sums WHERE path = ?');
  const sumsOf = database.prepare('SELECT digest, sums FROM sums WHERE path = ?');
  const put = database.prepare('INSERT OR REPLACE INTO sums VALUES (?, ?, ?)');
  const signatures = signaturesIn(database);

  return {
    read: unit =>
      attempt(null, () => {
        const row = sumsOf.get(keyOf(unit));
        if (row === undefined || typeof row.sums !== 'string') return null;
        if (hash('sha1', row.sums) !== row.digest) return null;
        // The digest says that it is what `write` put there.
        return JSON.parse(row.sums) as Sums;
      }),
    write: (unit, sums) =>
      attempt(undefined, () => {
        const key = keyOf(unit);
        // Names that are not UTF-8 have lone surrogates, which JSON escapes and SQLite would not keep.
        const json = JSON.stringify(sums);
        const digest = hash('sha1', json);
        if (digestOf.get(key)?.digest !== digest) put.run(key, digest, json);
      }),
    readSignature: unit => attempt(null, () => signatures.read(keyOf(unit))),
    readSmallSignatures: units => {
      const found = new Map<string, Signature>();
      attempt(undefined, database => {
        database.exec('BEGIN');
        try {
          for (const unit of units) {
            const signature = signatures.read(keyOf(unit), 'small');
            if (signature !== null) found.set(unit, signature);
          }
        } finally {
          if (database.isOpen && database.isTransaction) database.exec('ROLLBACK');
        }
      });
      return found;
    },
    writeSignature: (unit, signature) => attempt(undefined, () => signatures.write(keyOf(unit), signature)),
    together: work =>
      attempt(undefined, database => {
        database.exec('BEGIN IMMEDIATE');
        try {
          work();
          if (database.isOpen && database.isTransaction) database.exec('COMMIT');
        } finally {
          if (database.isOpen && database.isTransaction) database.exec('ROLLBACK');
        }
      }),
    keepOnly: units =>
      attempt(undefined, database => {
        database.exec('CREATE TEMP TABLE kept (path BLOB PRIMARY KEY) STRICT, WITHOUT ROWID');
        try {
          const keep = database.prepare('INSERT OR IGNORE INTO kept VALUES (?)');
          database.exec('BEGIN');
          for (const unit of units) keep.run(keyOf(unit));
          for (const table of ['sums', 'signatures'])
            database.exec(`DELETE FROM ${table} WHERE path NOT IN (SELECT path FROM kept)`);
          database.exec('COMMIT');
        } finally {
          if (database.isTransaction) database.exec('ROLLBACK');
          database.exec('DROP TABLE kept');
        }
      }),
    close,
  };
}

function keyOf(unit: string): Uint8Array {
  const encoded = encodePath(unit);
  return typeof encoded === 'string' ? Buffer.from(encoded) : encoded;
}

function isDamage(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && damages.has(error.errcode);
}
