/** Tells directories apart. */

import { lstatSync } from 'node:fs';
import { systemCode } from '../errors.ts';
import { encodePath } from '../layout/index.ts';

/** Returns which directory is there; null: none is. Where the system does not say, its code stands for it. */
export function identityOf(path: string): string | null {
  try {
    const stats = lstatSync(encodePath(path), { bigint: true, throwIfNoEntry: false });
    return stats?.isDirectory() === true ? `${stats.dev}:${stats.ino}` : null;
  } catch (error) {
    const code = systemCode(error);
    if (code === null) throw error;
    return code;
  }
}
