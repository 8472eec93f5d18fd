/** Looking at places on the disk that may have several names, be gone, or be closed to this user. */

import { realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { readBounded } from '../bounded/index.ts';
import { encodePath } from '../layout/index.ts';

/** Tells whether two absolute paths lead to the same place, links resolved as far as there is anything. */
export function isSamePath(one: string, other: string): boolean {
  return one === other || resolved(one) === resolved(other);
}

function resolved(path: string): string {
  try {
    return realpathSync.native(encodePath(path), { encoding: 'latin1' });
  } catch {
    const parent = dirname(path);
    return parent === path ? path : `${resolved(parent)}/${path.slice(parent.length)}`;
  }
}

/** The bits of the mode; null where nothing is found. */
export function modeOf(path: string): number | null {
  try {
    return statSync(path).mode & 0o7777;
  } catch {
    return null;
  }
}

/** The beginning of a file; empty where none can be read. */
export function beginningOf(
  file: string,
  options: { readonly mostBytes: number; readonly follow?: boolean },
): string {
  try {
    const found = readBounded(encodePath(file), options);
    return found.kind === 'file' ? found.bytes.toString('latin1') : '';
  } catch {
    return ''; // not for this user
  }
}
