/**
 * Work that ends even if disks hang.
 *
 * Another process does the work, and reports where it looks. If it makes no progress, it is abandoned, and a
 * new process that avoids that place does the rest; so everything else is done. Nobody can end a call to a
 * disk that hangs, and a process with a thread in such a call cannot even exit.
 */

export { type InTimeOptions, type InTimeOutcome, runInTime } from './in-time.ts';
export type { TaskOrder } from './messages.ts';
export { hangWords, type Wait } from './waits.ts';
export { type Parts, work } from './worker.ts';
