/**
 * Unreachable bytes in a decision: what no ref of a repository reaches is forgiven up to a most.
 *
 * Each limit forgives for itself, of what it counts. So what an owner stores under a limit never passes the
 * limit and the most together, whatever is said to be unreachable.
 */

import type { CompiledRule } from './policy.ts';
import { bytesUnder, type Usage } from './usage.ts';

export interface ForgivingSettings {
  /** `forgive`: unreachable bytes are not held against owners; absent: `bill`. */
  readonly garbage?: 'bill' | 'forgive';
  /** The most that each limit forgives; null or absent: as much as the limit itself. */
  readonly garbageMostBytes?: number | null;
}

/** The stored bytes of which a rule counts some, since others are unreachable. */
export interface Garbage {
  readonly stored: number;
  /** Those of them that no ref reaches. */
  readonly unreachable: number;
  /** Those of them that count: without the unreachable ones, of which at most `most` are forgiven. */
  readonly billed: number;
  readonly most: number;
}

/** Null where nothing is unreachable, or is to be forgiven: without a limit, or at limit 0, all counts. */
export function forgivenUnder(
  { garbage, garbageMostBytes = null }: ForgivingSettings,
  { limitBytes, counts }: Pick<CompiledRule, 'limitBytes' | 'counts'>,
  unreachableByLeaf: Usage,
  stored: number,
): Garbage | null {
  if (garbage !== 'forgive' || limitBytes <= 0) return null;
  const unreachable = Math.min(bytesUnder(unreachableByLeaf, counts), stored);
  if (unreachable === 0) return null;
  const most = garbageMostBytes ?? limitBytes;
  return { stored, unreachable, billed: stored - Math.min(unreachable, most), most };
}
