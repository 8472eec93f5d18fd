/** Sorting long lists a slice at a time. */

import { inSlices, type Work, workInSlices } from './slices.ts';

/** So many are sorted, or merged, in one step. */
const atOnce = 128;

export type Compare<Entry> = (a: Entry, b: Entry) => number;

/** Looked for with more than so many, the first ones are found by sorting all entries. */
export const mostPicked = 1000;

/**
 * The first so many entries in this order, and how many there are in all; what comes and goes meanwhile is
 * among them or not. null is no entry (`foundIn`).
 */
export async function firstOf<Entry extends object>(
  entries: Iterable<Entry | null>,
  count: number,
  compare: Compare<Entry>,
): Promise<{ readonly first: readonly Entry[]; readonly total: number }> {
  let kept: Entry[] = [];
  let last: Entry | undefined;
  let total = 0;
  await inSlices(entries, entry => {
    if (entry === null) return;
    total += 1;
    if (last !== undefined && compare(entry, last) >= 0) return;
    kept.push(entry);
    if (count > mostPicked || kept.length < 2 * count) return;
    kept = kept.sort(compare).slice(0, count);
    last = kept[count - 1];
  });
  const inOrder = await workInSlices(sorted(kept, compare));
  return { first: inOrder.slice(0, count), total };
}

/** Returns the entries in this order; equal ones stay in the order in which they were. */
export function* sorted<Entry extends object>(
  entries: readonly Entry[],
  compare: Compare<Entry>,
): Work<readonly Entry[]> {
  let runs: Entry[] = [];
  for (let at = 0; at < entries.length; at += atOnce) {
    for (const entry of entries.slice(at, at + atOnce).sort(compare)) runs.push(entry);
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
  let one = runs[left];
  let other = right < end ? runs[right] : undefined;
  while (one !== undefined && other !== undefined) {
    if (compare(one, other) <= 0) {
      merged.push(one);
      left += 1;
      one = left < middle ? runs[left] : undefined;
    } else {
      merged.push(other);
      right += 1;
      other = right < end ? runs[right] : undefined;
    }
    if (merged.length % atOnce === 0) yield;
  }
  for (const rest of [
    [left, middle],
    [right, end],
  ] as const) {
    for (let from = rest[0]; from < rest[1]; from += atOnce) {
      for (const entry of runs.slice(from, Math.min(from + atOnce, rest[1]))) merged.push(entry);
      yield;
    }
  }
}
