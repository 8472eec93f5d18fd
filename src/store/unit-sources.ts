/**
 * What programs report in whole sets: each source has one set of units, and puts another in its place.
 *
 * A set is a file of its own, which is made aside and then takes the place of the one before in one step. So
 * a set that breaks off leaves no trace, after a crash either the old one or the new one is there, and a
 * damaged one harms nothing but itself. Units stay on the disk until somebody looks at them; only sums are
 * handed over.
 */

import type { Leaf } from '../quota/index.ts';
import type { LargeUnit } from './record-store.ts';

/** How many units a set has at most. */
export const mostUnitsInSet = 1_000_000;

/** A set as it was put. */
export interface UnitSetRecord {
  /** The name of the source. */
  readonly source: string;
  /** When it was whole, in milliseconds since 1970. */
  readonly reportedAt: number;
  /** How old it may become before its figures are doubtful. */
  readonly staleAfterMs: number;
}

/** The units of one owner and leaf in a set. */
export interface UnitSum {
  /** As first spelled in the set. */
  readonly owner: string;
  readonly leaf: Leaf;
  readonly units: number;
  readonly bytes: number;
}

export interface KeptSet {
  readonly set: UnitSetRecord;
  /** Those of an owner stand together. */
  readonly sums: readonly UnitSum[];
}

/**
 * A set that could not be read at the start: its units count for nothing until its source puts them again.
 */
export interface LostSet {
  readonly file: string;
  readonly why: string;
}

/** Which units are asked for. */
export interface UnitQuery {
  readonly source: string;
  readonly ownerKey: string;
  readonly leaves: readonly Leaf[];
  /** How many at most. */
  readonly most: number;
}

/** A set that is being made. */
export interface UnitSetWriter {
  /**
   * Takes what comes next of the body: lines of JSON. Rejects with `bad_parameter`, naming the line and what
   * is expected, and with `store_away`. After a rejection only `discard` may follow.
   */
  take(chunk: Uint8Array): Promise<void>;
  /** Ends the body; gives the sums. Rejects as `take` does, and with `sum_too_large`. */
  finish(record: UnitSetRecord): Promise<readonly UnitSum[]>;
  /**
   * Puts it in the place of the one before; once this resolves, it is on the disk. Rejects with `store_away`.
   */
  keep(): Promise<void>;
  /** Leaves nothing of it. Never rejects. */
  discard(): Promise<void>;
}

export interface UnitSourceStore {
  /**
   * Everything that is kept, but for what is `lost`. Rejects with `store_refused` where it cannot even be
   * looked for.
   */
  load(): Promise<readonly KeptSet[]>;
  /** Until they are put again, or taken out. */
  readonly lost: readonly LostSet[];
  /** Tells whether the set of this source is among them. */
  isLost(source: string): boolean;
  /** Begins a set. Rejects with `store_away`. */
  begin(source: string): Promise<UnitSetWriter>;
  /** Takes a source out with its set. Rejects with `store_away`, and then it is there. */
  remove(source: string): Promise<void>;
  /** An owner's units in a set, largest first. Rejects with `store_away`. */
  units(query: UnitQuery): Promise<readonly LargeUnit[]>;
  /** Ends after what is under way; what is asked for later is rejected with `store_away`. */
  close(): Promise<void>;
}
