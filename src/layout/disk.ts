/**
 * Queries the disk: what exists, what a directory holds, where a path leads.
 *
 * A missing entry is a result; any other failure is thrown, since nobody may take it for an absence.
 *
 * A call to a disk that hangs never returns, and nobody can end it. So a thread reports each path to its
 * watcher before it uses the disk, and the watcher may throw `DiskHangs`, which is handled like any other
 * error of the system. A thread without a watcher reports nothing.
 *
 * Names are strings as in path.ts: bytes that are not UTF-8 are lone surrogates.
 */

import {
  accessSync,
  constants,
  type Dir,
  Dirent,
  lstatSync,
  opendirSync,
  readdirSync,
  readlinkSync,
  type Stats,
} from 'node:fs';
import { systemCode } from '../errors.ts';
import { below, decodePath, encodePath, namesOf, pathOf } from './path.ts';

/** Called before each use of a path; throws the system's error if the path must not be used. */
type LookListener = (path: string) => void;

let watcher: LookListener = () => {};

export function watchLooks(next: LookListener): void {
  watcher = next;
}

export function beforeLook(path: string): void {
  watcher(path);
}

const hangsCode = 'ETIMEDOUT';

/** Tells whether an error of the system, or its code, means that a disk does not answer. */
export function saysHangs(error: unknown): boolean {
  return error === hangsCode || systemCode(error) === hangsCode;
}

/** The system's code for a link that is not followed. */
export const notFollowed = 'ELOOP';

/** Thrown for a path on a disk that does not answer. */
export class DiskHangs extends Error {
  readonly code = hangsCode;
  readonly path: string;

  constructor(path: string) {
    super(`ETIMEDOUT: the disk does not answer, '${path}'`);
    this.path = path;
  }
}

/** Milliseconds within which two changes may leave the same time on the coarsest file systems. */
export const coarsestTimeMs = 2000;

type EntryType = 'directory' | 'link' | 'other';

/** Number of entries of a large directory after which the path is reported again. */
const entriesPerLook = 1024;

const absences: ReadonlySet<string | null> = new Set(['ENOENT', 'ENOTDIR']);

/** Returns the type of the entry at `path`, without following a link at its end; null if there is none. */
export function entryAt(path: string): EntryType | null {
  beforeLook(path);
  try {
    const stats = lstatSync(encodePath(path), { throwIfNoEntry: false });
    if (stats === undefined) return null;
    return stats.isDirectory() ? 'directory' : stats.isSymbolicLink() ? 'link' : 'other';
  } catch (error) {
    if (absences.has(systemCode(error))) return null;
    throw error;
  }
}

/** Returns the status of the directory at `path`; null if there is none, or the system fails. */
export function directoryStatus(path: string): Stats | null {
  try {
    beforeLook(path);
    const stats = lstatSync(encodePath(path), { throwIfNoEntry: false });
    return stats?.isDirectory() === true ? stats : null;
  } catch (error) {
    if (systemCode(error) === null) throw error;
    return null;
  }
}

/** Returns the device and inode of a directory; null if there is none; the code if the system fails. */
export function identityAt(path: string): string | null {
  try {
    beforeLook(path);
    const stats = lstatSync(encodePath(path), { bigint: true, throwIfNoEntry: false });
    return stats?.isDirectory() === true ? `${stats.dev}:${stats.ino}` : null;
  } catch (error) {
    const code = systemCode(error);
    if (code === null) throw error;
    return code;
  }
}

interface NamesByType {
  readonly directories: readonly string[];
  readonly links: readonly string[];
}

/** Lists the directories and the links in a directory; null if it is gone. */
export function namesByType(path: string): NamesByType | null {
  beforeLook(path);
  try {
    const stats = lstatSync(encodePath(path), { throwIfNoEntry: false });
    if (stats?.isDirectory() !== true) return null;
    const directories: string[] = [];
    const links: string[] = [];
    let entries = 0;
    for (const entry of list(path, stats.size)) {
      entries += 1;
      if (entries % entriesPerLook === 0) beforeLook(path);
      if (entry.isDirectory()) directories.push(entry.name);
      else if (entry.isSymbolicLink()) links.push(entry.name);
    }
    return { directories, links };
  } catch (error) {
    if (absences.has(systemCode(error)) && entryAt(path) !== 'directory') return null;
    throw error;
  }
}

/** The place to which a path leads, as far as it exists. */
export interface Destination {
  /** The names from `/`, links resolved; names that do not exist follow unchanged. */
  readonly names: readonly string[];
  /** Number of the names that exist. */
  readonly existing: number;
  /** Tells whether the last existing name is a directory. */
  readonly directory: boolean;
  /** The system's code if it failed at the next name; null if that name does not exist. */
  readonly error: string | null;
}

const mostLinks = 40;

/** Follows an absolute path; null if `..` comes after a name that does not exist. */
export function follow(path: string): Destination | null {
  const pending = namesOf(path).reverse();
  let names: string[] = [];
  let directory = true;
  let links = 0;
  const stoppedAt = (error: string | null): Destination | null => {
    if (pending.includes('..')) return null;
    return { names: [...names, ...pending.reverse()], existing: names.length, directory, error };
  };
  for (let name = pending.at(-1); name !== undefined; name = pending.at(-1)) {
    if (name === '..') {
      if (!directory) return null;
      names.pop();
      pending.pop();
      continue;
    }
    const at = pathOf([...names, name]);
    try {
      const entry = entryAt(at);
      if (entry === null) return stoppedAt(null);
      if (entry === 'link') {
        links += 1;
        if (links > mostLinks) return stoppedAt('ELOOP');
        const target = decodePath(readlinkSync(encodePath(at), { encoding: 'buffer' }));
        if (target.startsWith('/')) names = [];
        pending.splice(-1, 1, ...namesOf(target).reverse());
        continue;
      }
      directory = entry === 'directory';
    } catch (error) {
      const code = systemCode(error);
      if (code === null) throw error;
      return stoppedAt(absences.has(code) ? null : code);
    }
    names.push(name);
    pending.pop();
  }
  return stoppedAt(null);
}

/** Checks a path whose links the system will follow, so that an error names the place that hangs. */
export function beforeFollow(path: string): void {
  const to = follow(path);
  const leadsTo = to === null ? path : pathOf(to.names);
  if (to !== null && saysHangs(to.error)) throw new DiskHangs(leadsTo);
  beforeLook(leadsTo);
}

/** Returns the type of an entry below a directory; null if the way to it is not through directories alone. */
export function entryBelow(directory: string, names: readonly string[]): EntryType | null {
  let path = directory;
  let entry: EntryType | null = 'directory';
  for (const name of names) {
    if (entry !== 'directory') return null;
    path = below(path, name);
    entry = entryAt(path);
  }
  return entry;
}

type DirectoryEntry = Pick<Dirent, 'name' | 'isFile' | 'isDirectory' | 'isSymbolicLink'>;

/** Character that Node shows for bytes that are not UTF-8. A name may also really contain it. */
const replacement = '\ufffd';

/**
 * Size from which a directory is read in pieces, so that a million entries are never in memory at once; most
 * file systems have some thousand entries in this size. Small directories would take twice as long in pieces.
 */
const largeBytes = 64 * 1024;

const entriesPerPiece = 1024;

/**
 * Lists a directory of a known size. The result may be iterated once, and throws the system's error, also
 * during the iteration.
 */
export function list(path: string, sizeBytes: number): Iterable<DirectoryEntry> {
  const location = encodePath(path);
  return (sizeBytes >= largeBytes ? listInPieces(location) : listWhole(location)) ?? listNames(path);
}

/** Returns null if the file system tells no types: one vanished entry would fail a whole piece. */
function listInPieces(location: string | Buffer): Iterable<DirectoryEntry> | null {
  const directory = openBuffered(location);
  let first: BufferEntry | null;
  try {
    first = directory.readSync();
  } catch {
    first = null;
  }
  // Node uses another class for an entry whose type it had to query.
  if (first !== null && Object.getPrototypeOf(first) === Dirent.prototype) {
    return entriesFrom(directory, first);
  }
  directory.closeSync();
  return null;
}

function* entriesFrom(directory: BufferDirectory, first: BufferEntry): Generator<DirectoryEntry, void> {
  try {
    for (let entry: BufferEntry | null = first; entry !== null; entry = directory.readSync()) {
      yield decoded(entry);
    }
  } finally {
    directory.closeSync();
  }
}

type BufferEntry = Dirent<Buffer>;
type BufferDirectory = Pick<Dir, 'closeSync'> & { readSync(): BufferEntry | null };

function openBuffered(location: string | Buffer): BufferDirectory {
  const options = { encoding: 'buffer', bufferSize: entriesPerPiece };
  // Node supports buffers here, but its types do not.
  return Reflect.apply(opendirSync, undefined, [location, options]);
}

function decoded(entry: BufferEntry): DirectoryEntry {
  return {
    name: decodePath(entry.name),
    isFile: () => entry.isFile(),
    isDirectory: () => entry.isDirectory(),
    isSymbolicLink: () => entry.isSymbolicLink(),
  };
}

/**
 * Returns null if something is gone. Node queries the type of each entry if the file system does not tell it;
 * if only an entry vanished meanwhile, the directory can still be listed by its names.
 */
function listWhole(location: string | Buffer): readonly DirectoryEntry[] | null {
  try {
    return listOnce(location);
  } catch (error) {
    if (absences.has(systemCode(error))) return null;
    throw error;
  }
}

function listOnce(location: string | Buffer): readonly DirectoryEntry[] {
  const entries = readdirSync(location, { withFileTypes: true });
  if (!entries.some(entry => entry.name.includes(replacement))) return entries;
  const raw = readdirSync(location, { withFileTypes: true, encoding: 'buffer' });
  return raw.map(decoded);
}

/**
 * Queries the type of one entry after the other, so that callers see the progress. A vanished entry has no
 * type.
 */
function* listNames(path: string): Generator<DirectoryEntry, void> {
  for (const bytes of readdirSync(encodePath(path), { encoding: 'buffer' })) {
    const name = decodePath(bytes);
    const stats = lstatSync(encodePath(below(path, name)), { throwIfNoEntry: false });
    yield {
      name,
      isFile: () => stats?.isFile() === true,
      isDirectory: () => stats?.isDirectory() === true,
      isSymbolicLink: () => stats?.isSymbolicLink() === true,
    };
  }
}

/** Tells whether this process may search a directory for names. */
export function isSearchable(path: string): boolean {
  try {
    accessSync(encodePath(path), constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
