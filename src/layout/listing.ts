/**
 * One directory's entries, whatever bytes their names are.
 *
 * Names are strings as in path.ts: bytes that are not UTF-8 stand as lone surrogates. A large directory is
 * read in pieces, so that a million entries are never in memory at once; for small ones that would take twice
 * as long.
 */

import { type Dir, Dirent, opendirSync, readdirSync, statSync } from 'node:fs';
import { systemCode } from '../errors.ts';
import { decodePath, encodePath } from './path.ts';

type DirectoryEntry = Pick<Dirent, 'name' | 'isFile' | 'isDirectory'>;

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
 * The size of a directory from which on it is read in pieces: of some thousand entries on most file systems.
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

/**
 * Null where the file system does not tell what its entries are: then one that vanishes would cost its whole
 * piece.
 */
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

/** A path as the file system takes it; `odd` where it may hold names that are not UTF-8. */
export function locationOf(path: string, odd: boolean): string | Buffer {
  return odd ? encodePath(path) : path;
}
