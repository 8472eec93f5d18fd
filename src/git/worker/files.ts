/** Looks at files that somebody else may remove at any time. */

import { lstat, opendir, readdir, stat } from 'node:fs/promises';
import { readBounded } from '../../bounded/index.ts';
import { systemCode } from '../../errors.ts';
import { decodePath, encodePath } from '../../layout/index.ts';

/** The entries of a directory, few at a time: there may be millions. A link is none, and leads elsewhere. */
export async function* directoryEntries(path: string) {
  const location = encodePath(path);
  try {
    if (!(await lstat(location)).isDirectory()) return;
    for await (const entry of await opendir(location, { encoding: 'latin1', bufferSize: atATime }))
      yield {
        name: decodePath(Buffer.from(entry.name, 'latin1')),
        isFile: entry.isFile(),
        isDirectory: entry.isDirectory(),
      };
  } catch (error) {
    // Some file systems tell no kinds: one that vanishes ends the list, and the directory is there.
    if (!isGone(error) || (await isThere(path))) throw error;
  }
}

const atATime = 256;

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

/** Returns one text for a directory, whatever name it is reached by; null: there is none. */
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

/** The beginning of a file; null: it is none, another user's, or gone. */
export function boundedText(path: string, mostBytes: number): string | null {
  try {
    const file = readBounded(encodePath(path), { mostBytes });
    return file.kind === 'file' ? decodePath(file.bytes) : null;
  } catch (error) {
    if (systemCode(error) === null) throw error;
    return null;
  }
}

/** A text of layout's paths as bytes, one character each. */
export function inLatin1(text: string): string {
  const encoded = encodePath(text);
  return (typeof encoded === 'string' ? Buffer.from(encoded) : encoded).toString('latin1');
}
