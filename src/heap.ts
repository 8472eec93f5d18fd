/** How V8 uses the memory of the daemon. */

import { setFlagsFromString } from 'node:v8';

/**
 * Keeps the part of the heap for what is new from growing: V8 would let it grow to 64 MB in each thread for a
 * program that makes much at once, as the daemon does when it starts, and never give that back. What is new
 * here is small and soon gone, so collecting it more often costs no more.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}
