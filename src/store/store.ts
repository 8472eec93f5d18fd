/**
 * Store of this host's ledger.
 *
 * It holds the records (record-store.ts), as this host last knew it, and what the host measured. `write`
 * is one atomic step: after a crash either all of a `Changes` is there or nothing of it, and once its promise
 * resolves it is on the disk. Every implementation passes test/store/contract.ts.
 */

import type { Leaf } from '../quota/index.ts';
import type { PackedUnits } from './packed-units.ts';
import type { OwnerRecord, Position, RecordChanges, RecordStore, Records } from './record-store.ts';
import type { UnitRecord } from './unit.ts';

/** Bytes that a trusted program reported between two walks. */
export interface DeltaRecord {
  readonly seq: number;
  readonly owner: string;
  readonly leaf: Leaf;
  /** May be negative. */
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** A storage root as it was when its units were last found. */
export interface RootRecord {
  readonly path: string;
  readonly device: bigint;
  readonly inode: bigint;
  /** The mark that tells its file system from all others; null where there is none. */
  readonly fileSystem: string | null;
}

export interface SweepRecord {
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly units: number;
}

/** A version of the shared policy that led to the one that was taken over, or is that one. */
export interface VersionRecord {
  readonly version: number;
  readonly mark: string;
}

/** Position of the policy that was taken over, and the versions that led there. */
export interface ReplicatedPosition extends Position {
  /**
   * Written: the versions that come, and the oldest that stays of those that were written before; without it
   * none stays. Read: all, in their order.
   */
  readonly lineage?: { readonly since: number; readonly versions: readonly VersionRecord[] };
}

/** All that is loaded: everything that a store holds but units, events and levels, which are asked for. */
export interface StoredRecords extends Records {
  /** In the order of `seq`; all else is in no order. */
  readonly deltas: readonly DeltaRecord[];
  readonly roots: readonly RootRecord[];
  /** The last sweep that ended; null before the first. */
  readonly sweep: SweepRecord | null;
  /** Position of the policy that was last taken over from a shared store; null: none ever was. */
  readonly replicated: ReplicatedPosition | null;
}

/**
 * Changes that one atomic write puts in (replacing what has the same id, key, seq or path) and takes out.
 *
 * Taking out comes first, so what is named in both is there afterwards. Of two records with the
 * same id the later one stays. Taking out what is not there is no fault.
 */
export interface Changes extends RecordChanges {
  readonly units?: readonly UnitRecord[];
  readonly goneUnits?: readonly string[];
  readonly deltas?: readonly DeltaRecord[];
  readonly goneDeltas?: readonly number[];
  readonly roots?: readonly RootRecord[];
  readonly goneRoots?: readonly string[];
  readonly sweep?: SweepRecord;
  readonly replicated?: ReplicatedPosition;
}

/** Takes owners some at a time, so that nobody has to hold all of them. */
export interface Loader {
  /** Called first: there are so many owners and units. */
  expect(owners: number, units: number): void;
  takeOwners(owners: readonly OwnerRecord[]): void;
}

export interface Store extends RecordStore {
  /**
   * Everything that is kept, the writes asked for before included; owners that the loader does not take are
   * in what is loaded. Rejects with `store_refused` where what is kept cannot be understood, as all that
   * reads does, and with `store_away`; some owners may have been handed over then.
   */
  load(loader?: Loader): Promise<StoredRecords>;
  /**
   * Hands over every unit, some at a time and in no order, so that nobody has to hold all of them. Rejects as
   * `load` does, where some may have been handed over.
   */
  units(take: (units: PackedUnits) => void): Promise<void>;
  write(changes: Changes): Promise<void>;
  /** Ends after the writes under way; what is asked for later is rejected with `store_away`. */
  close(): Promise<void>;
}
