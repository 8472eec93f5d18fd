/**
 * Compares what the limits promise with the size of the disks, and predicts when the disks are full at the
 * present growth.
 */

import type { Outlook } from '../api/index.ts';
import { type History, reachedAt, type Totals } from '../overview/index.ts';
import type { WatchedDisk } from '../scan/index.ts';

interface OutlookParts {
  readonly totals: Pick<Totals, 'figures'>;
  readonly history: Pick<History, 'of'>;
}

/** Covers the disks that report their size. */
export async function outlookOf(
  { totals, history }: OutlookParts,
  disks: readonly WatchedDisk[],
  now: number,
): Promise<Outlook> {
  const { promised, unlimited } = totals.figures;
  const sum = (key: 'sizeBytes' | 'freeBytes') => disks.reduce((bytes, disk) => bytes + (disk[key] ?? 0), 0);
  const [sizeBytes, freeBytes] = [sum('sizeBytes'), sum('freeBytes')];
  const { growth } = await history.of(null, 'month');
  const isKnown = disks.some(({ freeBytes: free }) => free !== null);
  return {
    promisedBytes: promised,
    unlimitedOwners: unlimited,
    sizeBytes,
    freeBytes,
    fullAt: growth !== null && isKnown ? reachedAt(growth.perDay, 0, freeBytes, now) : null,
  };
}
