/**
 * Paths: converts those of any bytes into strings and back, without loss, and knows the names that git and
 * Gitaly give to repositories and to the quarantines of pushes.
 *
 * A name on the disk need not be UTF-8. Bytes that are not valid UTF-8 become lone surrogates, U+DC80 for
 * 0x80 up to U+DCFF for 0xFF (Python calls this surrogateescape). So paths can be compared, split and joined
 * as strings, and still lead back to the same bytes.
 */

import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import { SoftquotaError } from '../errors.ts';

/** Converts the bytes of a path into a string; any bytes are allowed. */
export function decodePath(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (isUtf8(buffer)) return buffer.toString();
  // A string for each character would take a tenth of a second for a mebibyte.
  const units = Buffer.allocUnsafe(2 * buffer.length);
  let end = 0;
  for (let at = 0; at < buffer.length; ) {
    const { point, length } = characterAt(buffer, at);
    at += length;
    if (point < 0x10000) end = units.writeUInt16LE(point, end);
    else {
      end = units.writeUInt16LE(0xd7c0 + (point >> 10), end);
      end = units.writeUInt16LE(0xdc00 + (point & 0x3ff), end);
    }
  }
  return units.toString('utf16le', 0, end);
}

/** Reads the code point and the length of the UTF-8 character there; an invalid byte is a lone surrogate. */
function characterAt(bytes: Buffer, at: number): { readonly point: number; readonly length: number } {
  const first = bytes[at] as number;
  if (first < 0x80) return { point: first, length: 1 };
  const length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  let point = first & (0x7f >> length);
  for (let next = at + 1; next < at + length; next += 1) {
    const byte = bytes[next] ?? 0;
    if (byte >> 6 !== 0b10) return { point: 0xdc00 + first, length: 1 };
    point = (point << 6) | (byte & 0x3f);
  }
  const isShortest = length === 2 || (length === 3 && point >= 0x800) || (length === 4 && point >= 0x10000);
  const isSurrogate = point >> 11 === 0b11011;
  if (!isShortest || isSurrogate || point > 0x10ffff) return { point: 0xdc00 + first, length: 1 };
  return { point, length };
}

/**
 * Returns the path as the file system calls take it: as text if it is UTF-8, else as bytes. Throws
 * `bad_parameter` for a lone surrogate that stands for no byte: no file can be named so.
 */
export function encodePath(path: string): string | Buffer {
  if (path.isWellFormed()) return path;
  return Buffer.concat(Array.from(path, bytesOf));
}

function bytesOf(character: string): Buffer {
  if (character.isWellFormed()) return Buffer.from(character);
  const byte = character.charCodeAt(0) - 0xdc00;
  if (byte < 0x80 || byte > 0xff) {
    throw new SoftquotaError('bad_parameter', 'the path has a lone surrogate that stands for no byte');
  }
  return Buffer.of(byte);
}

// With the flag u, a pattern matches only lone surrogates.
const standsForNoByte = /[\ud800-\udc7f\udd00-\udfff]/u;

/**
 * Returns the path as `decodePath` would spell it; null if no file can have this path. A path from outside
 * may use surrogates for bytes that are valid UTF-8.
 */
export function canonicalPath(path: string): string | null {
  if (path.includes('\0') || standsForNoByte.test(path)) return null;
  const encoded = encodePath(path);
  return typeof encoded === 'string' ? encoded : decodePath(encoded);
}

export function below(directory: string, name: string): string {
  return directory === '/' ? `/${name}` : `${directory}/${name}`;
}

/** Tells whether `path` is `directory` or lies somewhere below it; both are normalized. */
export function isWithin(path: string, directory: string): boolean {
  return path === directory || directory === '/' || path.startsWith(`${directory}/`);
}

/** Splits a path into its names; `.` and doubled slashes are left out. */
export function namesOf(path: string): string[] {
  return path.split('/').filter(name => name !== '' && name !== '.');
}

/** Joins names to a path from `/`. */
export function pathOf(names: readonly string[]): string {
  return `/${names.join('/')}`;
}

/**
 * Returns true for a repository of a Gitaly, which collects its garbage itself: a project, a wiki, a snippet
 * or a pool.
 */
export function isOfGitaly(path: string): boolean {
  return /\/@(?:hashed|snippets|pools|cluster)\//.test(path);
}

/** Returns true for any repository of a Gitaly Cluster, whose path does not say of what kind it is. */
export function isOfCluster(path: string): boolean {
  return path.includes('/@cluster/');
}

/** Returns true for a pool: it holds the objects that forks share, and nobody pushes to it. */
export function isPool(path: string): boolean {
  return /\/(?:@pools|@cluster\/pools)\//.test(path);
}

/*
 * Quarantines: the directories in which git stores the objects of a push until it is accepted.
 *
 * git makes them below `objects`, named `tmp_objdir-incoming-XXXXXX` (`incoming-XXXXXX` before 2.32). The
 * worker renames one to `tmp_objdir-gone-XXXXXX` before it removes it. Gitaly has two more places below its
 * storage: one for edits and merges, named after the repository, and `objects` in the snapshot of a
 * transaction. Here, these quarantines are named by their paths below the storage.
 */

const quarantineName = /^(?:tmp_objdir-)?incoming-[A-Za-z0-9]{6}$/;
const ofEdit = /^\+gitaly\/tmp\/quarantine-([0-9a-f]{16})-\d{1,20}$/;
const ofSnapshot =
  /^\+gitaly\/snapshots\/[\w-]{1,64}\/[\w-]{1,64}\/(.+)\/objects\/(?:tmp_objdir-)?incoming-[A-Za-z0-9]{6}$/s;

/** Tells whether this may be the name of a push's quarantine below `objects`. */
export function isQuarantineName(name: string): boolean {
  return quarantineName.test(name);
}

/**
 * Returns the path of a unit's quarantine; null if no quarantine of this unit can have that name. Gitaly
 * names quarantines of edits after the path of their repository, so that one cannot be taken for another's.
 * `objects`: see `objectsPathOf`.
 */
export function quarantinePath(unit: string, name: string, objects = `${unit}/objects`): string | null {
  if (isQuarantineName(name)) return `${objects}/${name}`;
  const [, ofRepository] = ofEdit.exec(name) ?? [];
  if (ofRepository !== undefined) {
    const storage = storageNaming(unit, ofRepository);
    return storage === null ? null : `${storage}/${name}`;
  }
  const [, below] = ofSnapshot.exec(name) ?? [];
  if (below === undefined || !unit.endsWith(`/${below}`)) return null;
  // `below` is the end of the unit's own path, so it has no `..`.
  return `${unit.slice(0, -below.length)}${name}`;
}

/** Finds the storage above the unit: the hash is that of the unit's path below it. Null if there is none. */
function storageNaming(unit: string, hash: string): string | null {
  for (let storage = dirname(unit); storage !== '/'; storage = dirname(storage)) {
    const below = unit.slice(storage.length + 1);
    if (createHash('sha1').update(below).digest('hex').startsWith(hash)) return storage;
  }
  return null;
}

/** The measured state of a quarantine. */
export interface Quarantine {
  readonly name: string;
  /** Device, inode and time of birth, which tell it from another quarantine of the same name. */
  readonly id: string;
  /** Bytes of regular files, by `[scan] MEASURE`. */
  readonly bytes: number;
  /** One pack or loose object in it, as a path below it; null: none, except perhaps a pack of no object. */
  readonly sample: string | null;
}

export type QuarantineLook =
  | { readonly is: 'seen'; readonly quarantine: Quarantine }
  | { readonly is: 'absent' }
  /** Neither the daemon nor the worker may read it, or neither did in time. */
  | { readonly is: 'unreadable' };

/** A file that a push brings. */
export interface LargeBlob {
  /** The id of its content. */
  readonly object: string;
  /** Its size in a checkout, as `git cat-file -s` says it. */
  readonly bytes: number;
}

export type LargeBlobsLook =
  /** The largest files over a size, the largest first; empty if there are none. */
  | { readonly is: 'seen'; readonly blobs: readonly LargeBlob[] }
  /** The files cannot be found out in time, or not at all. */
  | { readonly is: 'unknown'; readonly why: string };
