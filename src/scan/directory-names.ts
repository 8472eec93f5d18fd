/**
 * Answers questions of a push about a repository: which names exist, whether it has refs, and whether its
 * configuration denies --force. Synchronous, for threads.
 */

import { readdirSync } from 'node:fs';
import { readBounded } from '../bounded/index.ts';
import { systemCode } from '../errors.ts';
import { beforeLook, configValue, decodePath, encodePath, entryAt } from '../layout/index.ts';

const mostConfigBytes = 64 * 1024;
const mostPackedRefsBytes = 128 * 1024 * 1024;

/**
 * Returns the names that a unit has, as a file or directory, or as a packed ref of this name or below it. A
 * link on the way counts as existing. Null: they cannot be read.
 */
export function existingNames(unit: string, names: readonly string[]): readonly string[] | null {
  const wanted = names.filter(isPlain);
  try {
    const packed = packedAmong(unit, new Set(wanted));
    return packed && wanted.filter(name => packed.has(name) || isThere(unit, name));
  } catch (error) {
    if (systemCode(error) === null) throw error;
    return null;
  }
}

/** Limit of directories that are read. A new repository has three: `refs`, `refs/heads` and `refs/tags`. */
const mostRefDirectories = 20;

/**
 * Tells whether a repository has refs; one with too many directories to read counts as having some. Throws
 * the system's error.
 */
export function hasRefs(unit: string): boolean {
  const waiting = ['refs'];
  for (const [looked, name] of waiting.entries()) {
    if (looked >= mostRefDirectories) return true;
    const path = `${unit}/${name}`;
    beforeLook(path);
    const entries = readdirSync(encodePath(path), { withFileTypes: true, encoding: 'latin1' });
    if (entries.some(entry => !entry.isDirectory())) return true;
    waiting.push(...entries.map(entry => `${name}/${entry.name}`));
  }
  return isThere(unit, 'packed-refs');
}

/** Tells whether a repository's own configuration makes git refuse --force, as after `git init --shared`. */
export function deniesForce(unit: string): boolean {
  const path = `${unit}/config`;
  beforeLook(path);
  const file = readBounded(encodePath(path), { mostBytes: mostConfigBytes });
  if (file.kind !== 'file') return false;
  const said = configValue(decodePath(file.bytes), 'receive.denyNonFastForwards');
  return said.found === 'no value' || (said.found === 'value' && /^(?:true|yes|on|1)$/i.test(said.value));
}

/** Tells whether a name leads straight down, without empty parts, `.` and `..`. */
function isPlain(name: string): boolean {
  return !name.includes('\0') && name.split('/').every(part => part !== '' && part !== '.' && part !== '..');
}

function isThere(unit: string, name: string): boolean {
  let path = unit;
  for (const part of name.split('/')) {
    path += `/${part}`;
    try {
      const entry = entryAt(path);
      if (entry === null || entry === 'link') return entry === 'link';
    } catch (error) {
      if (systemCode(error) === 'ENAMETOOLONG') return false;
      throw error;
    }
  }
  return true;
}

/** Returns the wanted names among the packed refs; null: the file of packed refs is too large. */
function packedAmong(unit: string, wanted: ReadonlySet<string>): ReadonlySet<string> | null {
  const found = new Set<string>();
  if (![...wanted].some(name => name.startsWith('refs/'))) return found;
  const path = `${unit}/packed-refs`;
  beforeLook(path);
  const file = readBounded(encodePath(path), { mostBytes: mostPackedRefsBytes });
  if (file.kind !== 'file') return found;
  if (!file.whole) return null;
  // Each line has the id of an object and a ref; other lines begin with # or ^.
  for (const line of decodePath(file.bytes).split('\n')) {
    const name = line.slice(line.indexOf(' ') + 1);
    for (let end = name.length; end > 0; end = name.lastIndexOf('/', end - 1)) {
      const above = name.slice(0, end);
      if (wanted.has(above)) found.add(above);
    }
  }
  return found;
}
