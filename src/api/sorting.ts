/** Sorting long lists a slice at a time. */

import type { Work } from '../slices.ts';

/** So many are sorted, or merged, in one step. */
const atOnce = 64;

type Compare<Entry> = (a: Entry, b: Entry) => number;

/** Returns the entries in this order; equal ones stay in the order in which they were. */
export function* sorted<Entry extends object>(
  entries: readonly Entry[],
  compare: Compare<Entry>,
): Work<readonly Entry[]> {
  let runs: Entry[] = [];
  for (let at = 0; at < entries.length; at += atOnce) {
    runs.push(...entries.slice(at, at + atOnce).sort(compare));
    yield;
  }
  for (let length = atOnce; length < entries.length; length *= 2) {
    const merged: Entry[] = [];
    for (let at = 0; at < runs.length; at += 2 * length) yield* merge(merged, runs, at, length, compare);
    runs = merged;
  }
  return runs;
}

/** Adds two sorted runs, which begin there and are at most so long, to what is merged. */
function* merge<Entry extends object>(
  merged: Entry[],
  runs: readonly Entry[],
  at: number,
  length: number,
  compare: Compare<Entry>,
): Work<void> {
  const middle = Math.min(at + length, runs.length);
  const end = Math.min(middle + length, runs.length);
  let [left, right] = [at, middle];
  while (left < middle || right < end) {
    const one = left < middle ? runs[left] : undefined;
    const other = right < end ? runs[right] : undefined;
    if (one !== undefined && (other === undefined || compare(one, other) <= 0)) {
      merged.push(one);
      left += 1;
    } else if (other !== undefined) {
      merged.push(other);
      right += 1;
    }
    if (merged.length % atOnce === 0) yield;
  }
}
