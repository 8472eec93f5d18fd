/** Places on the disk that may have several names. */

import { realpathSync } from 'node:fs';
import { dirname } from 'node:path';
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
