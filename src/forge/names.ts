/**
 * Names of repositories as numbers of 48 bits, in ascending order: six million bytes for a million names.
 *
 * The hash is seeded, so that nobody can choose a name that stands for another one.
 */

import { createHash } from 'node:crypto';

/** `name`: `owner/name`, in lower case. */
export function repositoryHash(seed: string, name: string): number {
  return createHash('sha1').update(seed).update(name).digest().readUIntBE(0, 6);
}

/** Tells whether a number is among others in ascending order. */
export function isAmong(sorted: Float64Array, wanted: number): boolean {
  let [low, high] = [0, sorted.length - 1];
  while (low <= high) {
    const middle = (low + high) >>> 1;
    const found = sorted[middle] ?? 0;
    if (found === wanted) return true;
    if (found < wanted) low = middle + 1;
    else high = middle - 1;
  }
  return false;
}
