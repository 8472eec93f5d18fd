/**
 * One directory's entries, whatever bytes their names are.
 *
 * Names are strings as in the layout: bytes that are not UTF-8 stand as lone surrogates.
 */

import { type Dirent, readdirSync, statSync } from 'node:fs';
import { systemCode } from '../errors.ts';
import { decodePath, encodePath } from '../layout/index.ts';

export type Entry = Pick<Dirent, 'name' | 'isFile' | 'isDirectory'>;

export interface Listing {
  readonly entries: readonly Entry[];
  /** Whether some names are not UTF-8, so that paths to them must be encoded. */
  readonly odd: boolean;
}

/** How Node shows bytes that are not UTF-8; a name may also hold it rightly. */
const replacement = '\ufffd';

const attempts = 5;

/** Lists a directory; throws the system's error. `location` is a path as the file system takes it. */
export function list(location: string | Buffer): Listing {
  // Where a file system does not tell what its entries are, Node asks for each, and one that
  // vanishes meanwhile fails the listing with ENOENT: that is not the directory's absence.
  for (let attempt = 1; ; attempt++) {
    try {
      return listOnce(location);
    } catch (error) {
      const code = systemCode(error);
      if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error;
      const isThere = statSync(location, { throwIfNoEntry: false })?.isDirectory() === true;
      if (!isThere || attempt === attempts) throw error;
    }
  }
}

function listOnce(location: string | Buffer): Listing {
  const entries = readdirSync(location, { withFileTypes: true });
  if (!entries.some(entry => entry.name.includes(replacement))) return { entries, odd: false };
  const raw = readdirSync(location, { withFileTypes: true, encoding: 'buffer' });
  return {
    entries: raw.map(entry => ({
      name: decodePath(entry.name),
      isFile: () => entry.isFile(),
      isDirectory: () => entry.isDirectory(),
    })),
    odd: true,
  };
}

/** A path as the file system takes it; `odd` where it may hold names that are not UTF-8. */
export function locationOf(path: string, odd: boolean): string | Buffer {
  return odd ? encodePath(path) : path;
}
