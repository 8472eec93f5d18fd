/** Looks at files that somebody else may remove at any time. */

import { lstat, readdir } from 'node:fs/promises';
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

/** Tells whether a look failed because nothing is there. */
export function isGone(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '');
}
