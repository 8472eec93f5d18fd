/**
 * Units that programs report in whole sets: each source has one set, and puts another in its place.
 *
 * A set is staged in parts and then takes the place of the one before in one transaction. So a set that
 * breaks off changes nothing, and after a crash either the old one or the new one is there. Units stay in the
 * store until somebody looks at them; only sums are handed over.
 */

import type { Leaf } from '../quota/index.ts';
import type { LargeUnit } from './record-store.ts';

export interface UnitSetRecord {
  readonly source: string;
  /** When it was whole, in milliseconds since 1970. */
  readonly reportedAt: number;
  /** Age at which its figures become doubtful. */
  readonly staleAfterMs: number;
}

/** The units of one owner and leaf in a set. */
export interface UnitSum {
  /** Name as first spelled in the set. */
  readonly owner: string;
  readonly leaf: Leaf;
  readonly units: number;
  /** Not exact above 2^53 - 1. */
  readonly bytes: number;
}

export interface KeptSet {
  readonly set: UnitSetRecord;
  readonly sums: readonly UnitSum[];
}

export interface UnitQuery {
  readonly source: string;
  readonly ownerKey: string;
  /** Owners' names compare without the case of ASCII letters. */
  readonly foldCase: boolean;
  readonly leaves: readonly Leaf[];
  readonly most: number;
}

export interface NewUnitSet {
  readonly source: string;
  readonly foldCase: boolean;
  readonly most: number;
}

interface UnitSetWriter {
  /**
   * Takes what comes next of the body: lines of JSON. Rejects with `bad_parameter`, naming the line and what
   * is expected, with `too_large` and with `store_away`. After a rejection only `discard` may follow.
   */
  take(chunk: Uint8Array): Promise<void>;
  finish(): Promise<readonly UnitSum[]>;
  /** Puts it in place of the one before; once this resolves it is on disk. Rejects with `store_away`. */
  keep(record: UnitSetRecord): Promise<void>;
  /** Leaves nothing of it. Never rejects. */
  discard(): Promise<void>;
}

export interface UnitSourceStore {
  load(): Promise<readonly KeptSet[]>;
  begin(set: NewUnitSet): Promise<UnitSetWriter>;
  /** Takes a source out with its set. Rejects with `store_away`, and then it is there. */
  remove(source: string): Promise<void>;
  /** Gives an owner's units in a set, largest first. Rejects with `store_away`. */
  units(query: UnitQuery): Promise<readonly LargeUnit[]>;
}
