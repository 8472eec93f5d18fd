/**
 * The signature of a unit: the status of its directories when it was walked, and the result of that walk.
 *
 * Creating, removing or renaming an entry changes the status of its directory. So as long as all statuses are
 * the same, the walk's result stands, and no directory is read. A repository's fan-out is left out: every
 * push, fetch and gc changes another directory too. So are its `hooks` and `info`, into which no push writes.
 * Some changes show in no status: a file that is written in place, an object that is put into an existing
 * fan-out directory, a new hook. Walks without a signature find these: those after a push or a check, and
 * those of the weekly verification.
 *
 * A unit gets no signature while something in it may change without a trace, or with time alone: places that
 * cannot be read, git's unfinished files, directories that changed so shortly before that the next change may
 * have the same time, and files that may still be being written.
 *
 * Signatures are kept in the scan cache. A lost cache costs only time, so no walk fails by it. `prepareCache`
 * makes a file again that is damaged or of another version, before any thread has it open; damage found later
 * leaves the cache unused until the next start.
 */

import { createHash, type Hash } from 'node:crypto';
import { lstatSync, rmSync, type Stats } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { messageOf, systemCode } from '../errors.ts';
import { beforeLook, coarsestTimeMs, encodePath } from '../layout/index.ts';
import type { FoundByWalk, WalkRequest } from './task.ts';

interface Signature extends FoundByWalk {
  /** Covers the result, the statuses of the directories, and the settings of the walk. */
  readonly digest: string;
  /**
   * The directories whose statuses count, each as the index of its parent, which comes before it. The unit is
   * the first.
   */
  readonly parents: readonly number[];
  readonly names: readonly string[];
}

/** Version of the form of signatures; those of another version are never current. */
const version = 5;

/** A file that changed more recently may still be being written. */
const youngFileMs = 60_000;
/** Time in which a file system may change the blocks of a file that nobody writes. */
const youngBlocksMs = 600_000;

const directoriesPerPulse = 512;

const noThrow = { throwIfNoEntry: false } as const;

/**
 * Adds the status of a directory to a hash. The number of links and the size are part of it, since some file
 * systems keep times only to the second. Times are exact to a fraction of a microsecond, which suffices:
 * changes that matter come seconds later.
 */
function addStatus(hash: Hash, { dev, ino, nlink, size, mtimeMs, ctimeMs }: Stats): void {
  hash.update(new Float64Array([dev, ino, nlink, size, mtimeMs, ctimeMs]));
}

/** Makes a signature during a walk. */
export class SignatureDraft {
  readonly #request: WalkRequest;
  readonly #startedAt: number;
  readonly #parents: number[] = [];
  readonly #names: string[] = [];
  readonly #statuses = createHash('sha1');
  #isDoubtful = false;

  /** `startedAt`: when the walk began, before its first look, in milliseconds since 1970. */
  constructor(request: WalkRequest, startedAt: number) {
    this.#request = request;
    this.#startedAt = startedAt;
  }

  /**
   * Adds a directory, and returns its index here. Its status must have been read before its entries.
   * `parent`: the index of the directory that holds it; -1 for the unit itself.
   */
  addDirectory(parent: number, name: string, status: Stats): number {
    if (this.#isDoubtful) return -1;
    this.#parents.push(parent);
    addStatus(this.#statuses, status);
    // A time ahead counts, too: the clock was set back, and will pass that time once more.
    if (Math.max(status.mtimeMs, status.ctimeMs) > this.#startedAt - coarsestTimeMs) this.doubt();
    return this.#names.push(name) - 1;
  }

  addFile(changedAt: number): void {
    const young = this.#request.measure === 'apparent' ? youngFileMs : youngBlocksMs;
    if (changedAt > this.#startedAt - young) this.doubt();
  }

  /** Prevents a signature: something may change without changing a directory's status. */
  doubt(): void {
    this.#isDoubtful = true;
  }

  /** Returns the signature; null if there may be none. */
  finish(found: FoundByWalk): Signature | null {
    if (this.#isDoubtful) return null;
    const digest = this.#statuses.update(termsOf(this.#request, found)).digest('base64');
    return { ...found, digest, parents: this.#parents, names: this.#names };
  }
}

/** Tells whether a unit is as the signature says; calls `pulse` every few hundred directories. */
export function isSignatureCurrent(request: WalkRequest, signature: Signature, pulse: () => void): boolean {
  const { parents, names, digest } = signature;
  const statuses = createHash('sha1');
  const paths: string[] = [];
  try {
    for (const [index, name] of names.entries()) {
      if (index % directoriesPerPulse === directoriesPerPulse - 1) pulse();
      const above = paths[parents[index] ?? -1];
      const named = above === undefined ? request.unit.path : `${above}/${name}`;
      const path = named === `${request.unit.path}/objects` ? (request.objectsAt ?? named) : named;
      paths.push(path);
      beforeLook(path);
      const status = lstatSync(encodePath(path), noThrow);
      if (status?.isDirectory() !== true) return false;
      addStatus(statuses, status);
    }
  } catch (error) {
    if (systemCode(error) === null) throw error;
    // The walk will report the error.
    return false;
  }
  return statuses.update(termsOf(request, signature)).digest('base64') === digest;
}

/** Terms of a signature: a change of the result, the owner or the walk settings invalidates it. */
function termsOf({ unit, inner, exclude, measure, objectsAt }: WalkRequest, found: FoundByWalk): string {
  const { bytes, files, directories, objectBytes } = found;
  const places = inner.map(path => path.slice(unit.path.length));
  return JSON.stringify([
    version,
    unit.kind,
    unit.owner,
    measure,
    [...exclude],
    places,
    [bytes, files, directories, objectBytes],
    ...(objectsAt === undefined ? [] : [objectsAt]),
  ]);
}

const cacheVersion = 3;

/** SQLite's codes for a file that is damaged, and for one that is no database. */
const damages: ReadonlySet<unknown> = new Set([11, 26]);

/** Size of the write-ahead log, in pages of 4 KiB, at which it is carried over into the file. */
const logPages = 64;

/** Limit of directories whose signatures are written together. Each takes some twenty bytes of the log. */
const mostGathered = 5000;

/**
 * Makes the file ready for a `Cache`. Returns why it was made again, or null. Throws if the disk refuses.
 */
export function prepareCache(file: string): string | null {
  const fault = prepare(file);
  if (fault === null) return null;
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${file}${suffix}`, { force: true });
  const again = prepare(file);
  if (again !== null) throw new Error(`${file} cannot be made anew: ${again}`);
  return fault;
}

/** Returns why the file cannot be used; null if it can. */
function prepare(file: string): string | null {
  let database: DatabaseSync | null = null;
  try {
    database = connect(file);
    const { tables } = database.prepare('SELECT count(*) AS tables FROM sqlite_schema').get() ?? {};
    if (tables === 0) {
      database.exec(`
        CREATE TABLE signatures (
          path BLOB PRIMARY KEY, digest TEXT NOT NULL, signature TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        PRAGMA user_version = ${cacheVersion};
      `);
    }
    const { user_version: found } = database.prepare('PRAGMA user_version').get() ?? {};
    if (found !== cacheVersion) return `it is of version ${found}, not ${cacheVersion}`;
    const { quick_check: check } = database.prepare('PRAGMA quick_check(1)').get() ?? {};
    return check === 'ok' ? null : String(check);
  } catch (error) {
    if (isDamage(error)) return messageOf(error);
    throw error;
  } finally {
    database?.close();
  }
}

/**
 * Opens the file, without syncs: a crash of the system may cost the cache, but nothing waits for the disk.
 * The log stays small, since on a disk that is nearly full it takes space from the store.
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

/** One thread's access to the cache. */
export class Cache {
  readonly #fault: (why: string) => void;
  readonly #told = new Set<string>();
  /** Null: nothing is cached. */
  #open: ReturnType<typeof opened> | null = null;
  #gathered: (readonly [unit: string, signature: Signature])[] = [];
  #gatheredDirectories = 0;

  /**
   * Opens a prepared file; null for no cache. `fault` gets the reasons why something could not be stored,
   * each once.
   */
  constructor(file: string | null, fault = (_why: string): void => {}) {
    this.#fault = fault;
    if (file !== null) this.#open = this.#attempt(null, () => opened(file));
  }

  /** The signature of the unit; null if none is cached. */
  readSignature(unit: string): Signature | null {
    const row = this.#attempt(undefined, () => this.#open?.signatureOf.get(keyOf(unit)));
    return row === undefined ? null : signatureIn(String(row.signature));
  }

  /**
   * Stores a signature. Many are written together, which takes little longer than one alone. If the thread
   * ends before that, the next walks of these units read everything.
   */
  writeSignature(unit: string, signature: Signature): void {
    this.#gathered.push([unit, signature]);
    this.#gatheredDirectories += signature.names.length;
    if (this.#gatheredDirectories >= mostGathered) this.flush();
  }

  /** Writes the gathered signatures. */
  flush(): void {
    const gathered = this.#gathered;
    const open = this.#open;
    this.#gathered = [];
    this.#gatheredDirectories = 0;
    if (gathered.length === 0 || open === null) return;
    const { database, digestOf, put } = open;
    this.#attempt(undefined, () => {
      database.exec('BEGIN IMMEDIATE');
      try {
        for (const [unit, signature] of gathered) {
          const path = keyOf(unit);
          if (digestOf.get(path)?.digest === signature.digest) continue;
          // Names that are not UTF-8 have lone surrogates, which JSON escapes and SQLite would not keep.
          put.run(path, signature.digest, JSON.stringify(signature));
        }
        database.exec('COMMIT');
      } finally {
        if (database.isTransaction) database.exec('ROLLBACK');
      }
    });
  }

  close(): void {
    this.flush();
    this.#open?.database.close();
    this.#open = null;
  }

  /** Returns `otherwise` if the work fails. */
  #attempt<T>(otherwise: T, work: () => T): T {
    try {
      return work();
    } catch (error) {
      const why = messageOf(error);
      if (!this.#told.has(why)) this.#fault(why);
      this.#told.add(why);
      if (isDamage(error)) {
        this.#gathered = [];
        this.close();
      } else this.#emptyLog();
      return otherwise;
    }
  }

  /** Frees the space of the log for the store, if the disk is full. */
  #emptyLog(): void {
    try {
      this.#open?.database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // Another thread uses the log, or the disk has no space for that either.
    }
  }
}

function opened(file: string) {
  const database = connect(file);
  try {
    const signatureOf = database.prepare('SELECT signature FROM signatures WHERE path = ?');
    const digestOf = database.prepare('SELECT digest FROM signatures WHERE path = ?');
    const put = database.prepare('INSERT OR REPLACE INTO signatures VALUES (?, ?, ?)');
    return { database, signatureOf, digestOf, put };
  } catch (error) {
    database.close();
    throw error;
  }
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
