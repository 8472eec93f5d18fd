/** The threads that a test starts. */

import type { Worker } from 'node:worker_threads';
import type { Test } from 'tap';

/** Gives a list to which each thread is added that is started from now on; it is added in the next turn. */
export function startedThreads(t: Test): readonly Worker[] {
  const started: Worker[] = [];
  const add = (thread: Worker) => started.push(thread);
  process.on('worker', add);
  t.teardown(() => process.off('worker', add));
  return started;
}
