/**
 * What watches a thread's looks at the disk.
 *
 * A call to a disk that hangs never comes back, and nobody can end it. So a thread says before each look
 * where it is about to look, and may be told to keep away from there: that is an error of the system, and is
 * told like all others. Each thread has its own watcher; without one nothing is said.
 */

/** Called before each look at a path; throws the system's error for one that is not to be looked at. */
export type Watcher = (path: string) => void;

let watcher: Watcher = () => {};

/** Has this thread's looks watched from now on. */
export function watchLooks(next: Watcher): void {
  watcher = next;
}

export function beforeLook(path: string): void {
  watcher(path);
}

/** The error for a path at which a disk does not answer. */
export class DiskHangs extends Error {
  readonly code = 'ETIMEDOUT';

  constructor(path: string) {
    super(`ETIMEDOUT: the disk does not answer, '${path}'`);
  }
}
