/**
 * Tells another process where this one looks at the disk, as it is about to look.
 *
 * A disk that hangs holds a process in the midst of a call, where nothing of its own runs any more. So the
 * last path that it told is where it waits; and the beats stop, which it tells as long as anything runs.
 */

import { writeSync } from 'node:fs';
import { DiskHangs, isWithin, watchLooks } from '../layout/index.ts';

/** What ends a path; without one before it, it is a beat. */
export const lookEnd = '\0';

const beatMs = 1000;

/** Tells on this descriptor, which is a pipe, and looks at nothing below the directories `avoided`. */
export function tellLooks(descriptor: number, avoided: readonly string[]): void {
  const tell = (text: string): void => {
    writeSync(descriptor, text + lookEnd);
  };
  watchLooks(path => {
    if (avoided.some(place => isWithin(path, place))) throw new DiskHangs(path);
    tell(path);
  });
  setInterval(tell, beatMs, '').unref();
}
