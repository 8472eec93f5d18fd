/** The first entries of long lists, found without sorting all of them. */

import { inSlices } from './slices.ts';

export type Compare<Entry> = (a: Entry, b: Entry) => number;

/** Looked for with more than so many, the first ones are found by sorting all entries. */
export const mostPicked = 1000;

/**
 * The first so many entries in this order, and how many there are in all; what comes and goes meanwhile is
 * among them or not. null is no entry (`filterMapInSlices`).
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
  return { first: kept.sort(compare).slice(0, count), total };
}
