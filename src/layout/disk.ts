/**
 * Questions to the disk: what exists, what a directory holds, where a path leads.
 *
 * That something is not there is an answer; any other failure of the system is thrown, since
 * nobody may take it for an absence.
 *
 * A call to a disk that hangs never comes back, and nobody can end it. So a thread says before each look
 * where it is about to look, and may be told to keep away from there: that is an error of the system, and is
 * told like all others. Each thread has its own watcher; without one nothing is said.
 *
 * Names are strings as in path.ts: bytes that are not UTF-8 stand as lone surrogates.
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
  statSync,
} from 'node:fs';
import { systemCode } from '../errors.ts';
import { below, decodePath, encodePath, namesOf, pathOf } from './path.ts';

/** Called before each look at a path; throws the system's error for one that is not to be looked at. */
type LookListener = (path: string) => void;

let watcher: LookListener = () => {};

/** Has this thread's looks watched from now on. */
export function watchLooks(next: LookListener): void {
  watcher = next;
}

export function beforeLook(path: string): void {
  watcher(path);
}

const hangsCode = 'ETIMEDOUT';

/** Tells whether the system's error, or its code, says that a disk does not answer. */
export function saysHangs(error: unknown): boolean {
  return error === hangsCode || systemCode(error) === hangsCode;
}

/** The system's code for a link where none is followed. */
export const notFollowed = 'ELOOP';

/** The error for a path at which a disk does not answer. */
export class DiskHangs extends Error {
  readonly code = hangsCode;
  readonly path: string;

  constructor(path: string) {
    super(`ETIMEDOUT: the disk does not answer, '${path}'`);
    this.path = path;
  }
}

type EntryType = 'directory' | 'link' | 'other';

/** A large directory that is read in pieces is looked at again and again. */
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

/** The status of the directory at `path`; null: there is none, or the system does not say. */
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

/** Returns which directory is there; null: none is. Where the system does not say, its code stands for it. */
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

/** The names of the directories in a directory, and those of the links; null where it is gone. */
export function namesByType(path: string): NamesByType | null {
  beforeLook(path);
  const location = encodePath(path);
  try {
    const stats = lstatSync(location, { throwIfNoEntry: false });
    if (stats?.isDirectory() !== true) return null;
    const directories: string[] = [];
    const links: string[] = [];
    let entries = 0;
    for (const entry of list(location, stats.size).entries) {
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

/** Destination of a path, as far as it exists. */
export interface Destination {
  /** The names from `/`, links resolved; those that do not exist follow as they were written. */
  readonly names: readonly string[];
  /** Number of the names that exist. */
  readonly existing: number;
  /** Tells whether the last existing one is a directory. */
  readonly directory: boolean;
  /** The system's code where it would not say what the next name is; null where that is not there. */
  readonly error: string | null;
}

const mostLinks = 40;

/** Follows an absolute path; null where `..` comes after what does not exist. */
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

/** Goes along a path before its links are followed, so that the place that hangs is told, not the link. */
export function beforeFollow(path: string): void {
  const to = follow(path);
  const leadsTo = to === null ? path : pathOf(to.names);
  if (to !== null && saysHangs(to.error)) throw new DiskHangs(leadsTo);
  beforeLook(leadsTo);
}

/** Returns the type of what names lead to from a directory, over directories alone; null if they do not. */
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

interface Listing {
  /** Can be gone through once. */
  readonly entries: Iterable<DirectoryEntry>;
  /** Tells whether some names are not UTF-8, so that paths to them must be encoded. */
  readonly odd: boolean;
}

/** Character that Node shows for bytes that are not UTF-8; a name may also contain it. */
const replacement = '\ufffd';

const attempts = 5;

/**
 * The size of a directory from which on it is read in pieces, of some thousand entries on most file
 * systems: so a million entries are never in memory at once. Small ones would take twice as long.
 */
const largeBytes = 64 * 1024;

const entriesPerPiece = 1024;

/**
 * Lists a directory whose size is known; throws the system's error, also while its entries are gone through.
 * `location` is a path as the file system takes it.
 */
export function list(location: string | Buffer, sizeBytes: number): Listing {
  return (sizeBytes >= largeBytes ? listInPieces(location) : null) ?? listWhole(location);
}

/** Null where the file system tells no entries' kinds: one that vanishes would cost its whole piece. */
function listInPieces(location: string | Buffer): Listing | null {
  const directory = openBuffered(location);
  let first: BufferEntry | null;
  try {
    first = directory.readSync();
  } catch {
    first = null;
  }
  // Node's own class for an entry that it had to ask for is another one.
  if (first !== null && Object.getPrototypeOf(first) === Dirent.prototype) {
    return { entries: entriesFrom(directory, first), odd: true };
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
  // Node takes and gives buffers here; its types know names of text only.
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

function listWhole(location: string | Buffer): Listing {
  // Node asks for the type of each entry if the file system does not tell it. An entry that vanishes
  // meanwhile fails the listing with ENOENT, though the directory is there.
  for (let attempt = 1; ; attempt++) {
    try {
      return listOnce(location);
    } catch (error) {
      const code = systemCode(error);
      if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error;
      const isThere = statSync(location, { throwIfNoEntry: false })?.isDirectory() === true;
      if (!isThere || attempt === attempts) throw error;
    }
  }
}

function listOnce(location: string | Buffer): Listing {
  const entries = readdirSync(location, { withFileTypes: true });
  if (!entries.some(entry => entry.name.includes(replacement))) return { entries, odd: false };
  const raw = readdirSync(location, { withFileTypes: true, encoding: 'buffer' });
  return { entries: raw.map(decoded), odd: true };
}

/** Tells whether names in a directory can be asked about. */
export function isSearchable(location: string | Buffer): boolean {
  try {
    accessSync(location, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** A path as the file system takes it; `odd` where it may hold names that are not UTF-8. */
export function locationOf(path: string, odd: boolean): string | Buffer {
  return odd ? encodePath(path) : path;
}
