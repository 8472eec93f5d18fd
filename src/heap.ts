/** Settings of V8 for the memory of the daemon and its threads. */

import { setFlagsFromString } from 'node:v8';

/**
 * Keeps the heap near the size of the data in use.
 *
 * If a program allocates much at once, as the daemon does when it starts, V8 lets the young generation grow
 * to 64 MB in each thread, and never shrinks it; it collects the old generation only after that has more than
 * doubled. Later the daemon allocates little, and most of that is soon garbage, so more frequent collections
 * cost no more.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString('--heap-growing-percent=15');
}
