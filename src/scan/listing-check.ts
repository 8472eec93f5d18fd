/**
 * A directory whose listing is believed: what it says are directories is read without asking each of them.
 *
 * Each that is read must not have become a link, which would lead out of the unit. So the directory that
 * holds them is asked before its listing and after all of them were read. Whatever takes another's name in it
 * gives it another time; unless it had changed so shortly before that this could be the same time: then its
 * listing is not believed.
 */

import { lstatSync, type Stats } from 'node:fs';
import { systemCode } from '../errors.ts';
import { beforeLook, locationOf } from '../layout/index.ts';

/** File systems keep times to two seconds at least. */
const youngDirectoryMs = 2000;

export interface ListingCheck {
  readonly path: string;
  readonly odd: boolean;
  /** Its status before it was listed. */
  readonly before: Stats;
}

/**
 * Tells whether a directory had changed so shortly before that the next change may bear the same time.
 * `asked`: not later than it was asked, in milliseconds since 1970.
 */
export function isYoungDirectory({ mtimeMs, ctimeMs }: Stats, asked: number): boolean {
  // Also where it lies ahead: the clock was set back, and comes by that time once more.
  return Math.max(mtimeMs, ctimeMs) > asked - youngDirectoryMs;
}

/** Tells whether it is still the same directory, with the same names in it. */
export function isAsBefore({ path, odd, before }: ListingCheck): boolean {
  try {
    beforeLook(path);
    const now = lstatSync(locationOf(path, odd), { throwIfNoEntry: false });
    return (
      now?.isDirectory() === true &&
      now.dev === before.dev &&
      now.ino === before.ino &&
      now.mtimeMs === before.mtimeMs &&
      now.ctimeMs === before.ctimeMs
    );
  } catch (error) {
    if (systemCode(error) === null) throw error;
    return false;
  }
}
