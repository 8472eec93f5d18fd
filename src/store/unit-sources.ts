/**
 * Units that programs report in whole sets: each source has one set, and replaces it by another.
 *
 * A set is staged in parts, and then replaces the one before in one transaction. So a set that breaks off
 * changes nothing, and after a crash either the old one or the new one is there. Units stay in the store
 * until somebody asks for them; only sums are returned.
 */

import type { Leaf } from '../quota/index.ts';
import type { LargeUnit } from './record-store.ts';

export interface UnitSetRecord {
  readonly source: string;
  /** When it was complete, in milliseconds since 1970. */
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
  /** Tells whether owners' names compare without the case of ASCII letters. */
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
   * Takes the next part of the body: lines of JSON. Rejects with `bad_parameter`, naming the line and what is
   * expected, with `too_large` and with `store_away`. After a rejection only `discard` may follow.
   */
  take(chunk: Uint8Array): Promise<void>;
  finish(): Promise<readonly UnitSum[]>;
  /** Replaces the set before; once this resolves it is on disk. Rejects with `store_away`. */
  keep(record: UnitSetRecord): Promise<void>;
  /** Deletes what was staged. Never rejects. */
  discard(): Promise<void>;
}

export interface UnitSourceStore {
  load(): Promise<readonly KeptSet[]>;
  begin(set: NewUnitSet): Promise<UnitSetWriter>;
  /** Removes a source and its set. Rejects with `store_away`; the source stays then. */
  remove(source: string): Promise<void>;
  /** Returns an owner's units in a set, largest first. Rejects with `store_away`. */
  units(query: UnitQuery): Promise<readonly LargeUnit[]>;
}
