/**
 * Work that ends, whatever disks do.
 *
 * Another process does it, and tells where it looks. Where it does not get on any more it is left behind, and
 * one that keeps away from there goes on with what is not done yet; so all else is done. Nobody can end a
 * call to a disk that hangs, and a process with a thread in one cannot even exit.
 */

export { type InTimeOptions, type InTimeOutcome, runInTime } from './in-time.ts';
export type { TaskOrder } from './messages.ts';
export { hangWords, type Wait } from './waits.ts';
export { type Parts, work } from './worker.ts';
