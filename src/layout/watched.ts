/**
 * Watcher of a thread's looks at the disk.
 *
 * A call to a disk that hangs never comes back, and nobody can end it. So a thread says before each look
 * where it is about to look, and may be told to keep away from there: that is an error of the system, and is
 * told like all others. Each thread has its own watcher; without one nothing is said.
 */

import { systemCode } from '../errors.ts';

/** Called before each look at a path; throws the system's error for one that is not to be looked at. */
type LookListener = (path: string) => void;

let watcher: LookListener = () => {};

/** Has this thread's looks watched from now on. */
export function watchLooks(next: LookListener): void {
  watcher = next;
}

export function beforeLook(path: string): void {
  watcher(path);
}

const hangsCode = 'ETIMEDOUT';

/** Tells whether the system's error, or its code, says that a disk does not answer. */
export function saysHangs(error: unknown): boolean {
  return error === hangsCode || systemCode(error) === hangsCode;
}

/** The error for a path at which a disk does not answer. */
export class DiskHangs extends Error {
  readonly code = hangsCode;
  readonly path: string;

  constructor(path: string) {
    super(`ETIMEDOUT: the disk does not answer, '${path}'`);
    this.path = path;
  }
}
