/** The identity of the directory at a unit's path, and its former owner. */

import { lstatSync } from 'node:fs';
import { systemCode } from '../errors.ts';
import { encodePath, type Unit } from '../layout/index.ts';
import type { Cache } from './cache.ts';
import type { FormerOwner } from './former-owners.ts';

export interface DirectoryIdentity {
  readonly name: string;
  /** Tells it from all directories that ever were; null where the file system keeps no times of birth. */
  readonly birth: string | null;
}

/** Returns the identity of a directory; null: there is none. If the system does not say, it is the name. */
export function identityOf(path: string): DirectoryIdentity | null {
  try {
    const stats = lstatSync(encodePath(path), { bigint: true, throwIfNoEntry: false });
    if (stats?.isDirectory() !== true) return null;
    const name = `${stats.dev}:${stats.ino}`;
    return { name, birth: stats.birthtimeNs > 0n ? `${name}:${stats.birthtimeNs}` : null };
  } catch (error) {
    const code = systemCode(error);
    if (code === null) throw error;
    return { name: code, birth: null };
  }
}

export function formerOwnersOf(
  { path, owner }: Unit,
  { birth }: DirectoryIdentity,
  cache: Pick<Cache, 'formerOwners'>,
): readonly FormerOwner[] {
  return birth === null || owner === null ? [] : cache.formerOwners(path, birth, owner);
}
