/** The results of scanning, for the keeper of the figures. */

import type { Root } from '../layout/index.ts';
import type { WalkedUnit } from './messages.ts';
import type { Start } from './outcome.ts';

/**
 * A unit as one walk found it, or that no unit is at its path any more. Two of one path are in
 * the order of their `seq`, which was drawn before the walk began.
 */
export type Measurement =
  | (MeasuredUnit & { readonly gone?: never })
  | { readonly gone: string; readonly seq: number };

export interface MeasuredUnit extends Omit<WalkedUnit, 'outcome' | 'inner' | 'objects'> {
  /** The sum passes 2^53 - 1: `bytes` is what it was known with before, and no truth. */
  readonly tooLarge: boolean;
  readonly seq: number;
  /** The beginning of the walk, in milliseconds since 1970. */
  readonly measuredAt: number;
}

/** A storage root at the end of a sweep. */
export interface SweptRoot extends Pick<Root, 'written' | 'path' | 'device' | 'inode' | 'fileSystem'> {
  /** Why none of the units below it may be dropped; null where it is as it should be. */
  readonly away: string | null;
}

/** Standing of a known unit after a sweep. */
export type UnitStanding =
  | 'seen'
  /** Not there any more. */
  | 'gone'
  /** Below a place that could not be read. */
  | 'unread'
  /** Below a root that is missing, has become another file system, or lacks most of its units at once. */
  | 'away';

/** Difference between the known figures and those that a `verify` found. */
export interface Drift {
  readonly units: number;
  /** The sum of the differences, all taken as positive. */
  readonly bytes: number;
}

export interface Sweep {
  /** Drawn before the first look at the disk: what is known by a later one was found meanwhile. */
  readonly startSeq: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly finishedAt: number;
  /** Number of units that were found. */
  readonly units: number;
  /** Tells whether the units of all owners were measured, and not only of some. */
  readonly whole: boolean;
  readonly standing: (path: string) => UnitStanding;
  readonly roots: readonly SweptRoot[];
}

export type SweepKind = 'sweep' | 'verify';

/** The measurement that a walk came to, with the bytes that are to count. */
export function measurementOf(walked: WalkedUnit, start: Start, bytes: number): MeasuredUnit {
  const { outcome, inner, objects, ...found } = walked;
  const tooLarge = outcome === 'too large';
  return {
    ...found,
    bytes,
    partial: found.partial || tooLarge,
    tooLarge,
    seq: start.seq,
    measuredAt: start.at,
  };
}
