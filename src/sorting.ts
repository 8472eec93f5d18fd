/** The order of names, and the first entries of long lists, found without sorting all of them. */

import { inSlices } from './turns.ts';

type Compare<Entry> = (a: Entry, b: Entry) => number;

/** Compares by code units, as names are listed. */
export function byText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

/** If more than so many entries are wanted, all entries are sorted once at the end. */
export const mostPicked = 1000;

/**
 * Finds the first `count` entries in the order of `compare`, and the number of all entries. Entries that are
 * added or removed meanwhile may be missing or included. Nulls are skipped (see `filterMapInSlices`).
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
