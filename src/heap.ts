/** Settings of V8 for the memory of the daemon and its threads. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Keeps the part of the heap for what is new from growing: V8 would let it grow to 64 MB in each thread for a
 * program that makes much at once, as the daemon does when it starts, and never give that back. What is new
 * here is small and soon gone, so collecting it more often costs no more.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}

/**
 * Gives memory back now, all other work of this thread waiting for it: V8 looks for what nobody needs any
 * more only when it needs memory, and so never in a thread that has done much once and then rests.
 */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  // Only contexts that are made from then on know it.
  runInNewContext('gc')();
}
