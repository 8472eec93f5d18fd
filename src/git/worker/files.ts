/** Reads files and directories that somebody else may remove at any time. */

import type { Dirent } from 'node:fs';
import { lstat, opendir, readdir, stat } from 'node:fs/promises';
import { readBounded } from '../../bounded/index.ts';
import { systemCode } from '../../errors.ts';
import { decodePath, encodePath } from '../../layout/index.ts';

/** Yields the entries of a directory, few at a time, since there may be millions; none for a link. */
export async function* directoryEntries(path: string) {
  const location = encodePath(path);
  try {
    if (!(await lstat(location)).isDirectory()) return;
    for await (const entry of await openDirectory(location))
      yield {
        name: decodePath(entry.name),
        isFile: entry.isFile(),
        isDirectory: entry.isDirectory(),
      };
  } catch (error) {
    // If a file system does not tell types, an entry that vanishes ends the list of an existing directory.
    if (!isGone(error) || (await isThere(path))) throw error;
  }
}

/**
 * Names are bytes: if a file system does not tell types, Node asks for each entry by its name, and would not
 * find one that is in latin1. Its types do not know that it supports this.
 */
function openDirectory(location: string | Buffer): Promise<AsyncIterable<Dirent<Buffer>>> {
  return Reflect.apply(opendir, undefined, [location, { encoding: 'buffer', bufferSize: 256 }]);
}

export async function entryNames(path: string): Promise<readonly string[]> {
  try {
    const names = await readdir(encodePath(path), { encoding: 'latin1' });
    return names.map(name => decodePath(Buffer.from(name, 'latin1')));
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
}

export async function isThere(path: string): Promise<boolean> {
  return (await lstat(encodePath(path)).catch(() => null)) !== null;
}

/** Returns the device and inode of a directory, the same by whatever path; null if there is none. */
export async function identity(path: string, look = stat): Promise<string | null> {
  try {
    const { dev, ino } = await look(encodePath(path), { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return null;
  }
}

export function isGone(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '');
}

/** Reads the beginning of a file; null if it is gone, not a regular file, or unreadable. */
export function boundedText(path: string, mostBytes: number): string | null {
  try {
    const file = readBounded(encodePath(path), { mostBytes });
    return file.kind === 'file' ? decodePath(file.bytes) : null;
  } catch (error) {
    if (systemCode(error) === null) throw error;
    return null;
  }
}

/** Converts a path, as layout has it, into its bytes, one character each. */
export function inLatin1(text: string): string {
  const encoded = encodePath(text);
  return (typeof encoded === 'string' ? Buffer.from(encoded) : encoded).toString('latin1');
}
