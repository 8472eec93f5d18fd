/** Looks at files that somebody else may remove at any time. */

import { lstat, readdir, stat } from 'node:fs/promises';
import { systemCode } from '../../errors.ts';
import { encodePath } from '../../layout/index.ts';

/** The names in a directory, as bytes in Latin-1; none where there is none. */
export async function entryNames(path: string): Promise<readonly string[]> {
  try {
    return await readdir(encodePath(path), { encoding: 'latin1' });
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

/** A text of layout's paths as bytes, one character each. */
export function inLatin1(text: string): string {
  const encoded = encodePath(text);
  return (typeof encoded === 'string' ? Buffer.from(encoded) : encoded).toString('latin1');
}
