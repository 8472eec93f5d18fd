/** The age of what git left behind. */

import { lstatSync } from 'node:fs';
import { systemCode } from '../errors.ts';
import { beforeLook, list, locationOf } from '../layout/index.ts';

/** Paths that lead through an open descriptor begin so. */
export const held = '/proc/self/fd/';

/** The newest change of anything in a directory, as far as it can be read. */
export function newestWithin(path: string, odd: boolean, own: number): number {
  let newest = own;
  const pending: [path: string, odd: boolean][] = [[path, odd]];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [at, atIsOdd] = next;
    try {
      if (!at.startsWith(held)) beforeLook(at);
      const { size } = lstatSync(locationOf(at, atIsOdd));
      const listing = list(locationOf(at, atIsOdd), size);
      for (const { name } of listing.entries) {
        const child = `${at}/${name}`;
        const childIsOdd = atIsOdd || (listing.odd && !name.isWellFormed());
        const stats = lstatSync(locationOf(child, childIsOdd), { throwIfNoEntry: false });
        newest = Math.max(newest, stats?.mtimeMs ?? 0);
        if (stats?.isDirectory() === true) pending.push([child, childIsOdd]);
      }
    } catch (error) {
      // Reported when it is walked.
      if (systemCode(error) === null) throw error;
    }
  }
  return newest;
}
