/** A unit as the store keeps it. */

import type { Leaf } from '../quota/index.ts';

/** The bytes of a repository's objects, as the git user's worker last measured them. */
export interface ReachRecord {
  readonly reachableBytes: number;
  /** Above 0. */
  readonly unreachableBytes: number;
}

/** The field of a unit; none where nothing is unreachable. */
export function reachOf(reachableBytes: number, unreachableBytes: number): Pick<UnitRecord, 'reach'> {
  return unreachableBytes > 0 ? { reach: { reachableBytes, unreachableBytes } } : {};
}

/** One thing that takes space. */
export interface UnitRecord {
  /** The name that finds it: the path of a walked unit; `owner key \0 leaf \0 name` of a reported one. */
  readonly id: string;
  readonly kind: 'walked' | 'reported';
  readonly host: string;
  /**
   * Path of a walked unit (bytes that are not UTF-8 stand as lone surrogates, see layout/path.ts), name of a
   * reported one.
   */
  readonly name: string;
  /** The owner's name as found; null where nobody could be told. */
  readonly owner: string | null;
  readonly leaf: Leaf;
  readonly bytes: number;
  /** Regular files counted; 0 for a reported unit. */
  readonly files: number;
  /** Some of it could not be read, and counts with its last known bytes. */
  readonly partial: boolean;
  /** Absent where nothing in it is unreachable, or nobody has said so. */
  readonly reach?: ReachRecord;
  /** Milliseconds since 1970. */
  readonly measuredAt: number;
  /** The place in the order of things at which the walk began, or the report came. */
  readonly seq: number;
}
