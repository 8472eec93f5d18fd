/** Starting and ending the threads of this module. */

import { Worker } from 'node:worker_threads';
import { within } from '../within.ts';

/**
 * A unit's directories are all in memory until it is walked: a million take some 200 MB. Past the limit the
 * thread ends, and not the daemon.
 */
const resourceLimits = { maxOldGenerationSizeMb: 1024 };

/** Starts a thread; options that the process was started with, such as a debugger, are not for it. */
export function startThread(code: URL, name: string, workerData?: unknown): Worker {
  return new Worker(code, { name, workerData, resourceLimits, execArgv: [] });
}

/** Ends a thread; says whether it had ended within the time. A call to a hung disk cannot be ended. */
export function endThread(thread: Worker, withinMs: number): Promise<boolean> {
  thread.unref();
  const hasEnded = thread.terminate().then(
    () => true,
    () => true,
  );
  return within(hasEnded, withinMs, false);
}
