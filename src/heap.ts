/** Settings of V8 for the memory of the daemon and its threads. */

import { setFlagsFromString } from 'node:v8';

/**
 * Keeps the heap near what is in use. V8 would let the part for what is new grow to 64 MB in each thread for
 * a program that makes much at once, as the daemon does when it starts, and never give that back; and it
 * would collect what is old only once there is more than twice as much. What is new here is small and soon
 * gone, and little of it becomes old, so collecting both more often costs no more.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString('--heap-growing-percent=15');
}
