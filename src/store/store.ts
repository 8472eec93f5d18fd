/**
 * The store of this host's ledger.
 *
 * It holds the records (record-store.ts) as this host last knew them, and what the host measured. `write` is
 * one atomic step: after a crash either all of a `Changes` is there or nothing of it, and once its promise
 * resolves it is on the disk.
 */

import type { Leaf, Usage } from '../quota/index.ts';
import type { LargeUnit, Position, RecordChanges, RecordStore, Records } from './record-store.ts';

/** The bytes of a repository's objects, as the git user's worker last measured them. */
export interface ReachRecord {
  readonly reachableBytes: number;
  /** Above 0. */
  readonly unreachableBytes: number;
}

/** One thing that takes space. */
export interface UnitRecord {
  /** The path of a walked unit; `owner key \0 leaf \0 name` of a reported one. */
  readonly id: string;
  readonly kind: 'walked' | 'reported';
  readonly host: string;
  /** Path of a walked unit (lone surrogates: see layout/path.ts), name of a reported one. */
  readonly name: string;
  /** The owner's name as found; null if the owner is not known. */
  readonly owner: string | null;
  /** Absent unless another host counts it for its owner, who is null here; found anew after a start. */
  readonly isBilledElsewhere?: boolean;
  readonly leaf: Leaf;
  readonly bytes: number;
  /** Regular files counted; 0 for a reported unit. */
  readonly files: number;
  /** A part could not be read, and counts with its last known bytes. */
  readonly partial: boolean;
  /** Absent if nothing in the unit is unreachable, or no worker has measured it. */
  readonly reach?: ReachRecord;
  /** Milliseconds since 1970. */
  readonly measuredAt: number;
  /** The number drawn when the walk began, or the report came. */
  readonly seq: number;
}

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
  /** The identifier of its file system; null if there is none. */
  readonly fileSystem: string | null;
}

export interface SweepRecord {
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly units: number;
}

/** Position of the policy that was taken over, and the versions that led to it. */
export interface ReplicatedPosition extends Position {
  /**
   * In a write: versions to add, and the oldest one to keep; without it all are deleted. When read: all, in
   * order.
   */
  readonly lineage?: { readonly since: number; readonly versions: readonly Omit<Position, 'generation'>[] };
}

/** All records that `load` returns: everything but units, events and levels. */
export interface StoredRecords extends Records {
  readonly deltas: readonly DeltaRecord[];
  readonly roots: readonly RootRecord[];
  /** The last sweep that ended; null before the first. */
  readonly sweep: SweepRecord | null;
  /** Position of the policy that was last taken over from a shared store; null: there never was one. */
  readonly replicated: ReplicatedPosition | null;
}

/**
 * Records that one atomic write puts in (replacing those with the same id, key, seq or path) and takes out.
 *
 * Taking out comes first, so a record that is named in both is there afterwards. Of two records with the same
 * id the later one stays. Taking out a record that is not there is no fault.
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

/**
 * All kinds of records, in the order in which they are written. `fields`: the fields of `Changes`, the one
 * that takes out first. `by`: the properties that identify a record, empty if there is only one. Events come
 * before the levels that say that they were sent, so that after a crash in between they are sent again. The
 * last two come after all records that they describe.
 */
export const recordKinds = [
  { name: 'owners', fields: ['goneOwners', 'owners'], by: ['key'] },
  { name: 'documents', fields: ['goneDocuments', 'documents'], by: ['kind', 'key'] },
  { name: 'replicated', fields: ['replicated'], by: [] },
  { name: 'shares', fields: ['goneShares', 'shares'], by: ['ownerKey', 'host'] },
  { name: 'units', fields: ['goneUnits', 'units'], by: ['id'] },
  { name: 'roots', fields: ['goneRoots', 'roots'], by: ['path'] },
  { name: 'deltas', fields: ['goneDeltas', 'deltas'], by: ['seq'] },
  { name: 'events', fields: ['events'], by: ['id'] },
  { name: 'levels', fields: ['goneLevels', 'levels'], by: ['ownerId'] },
  { name: 'sweep', fields: ['sweep'], by: [] },
  { name: 'goneEventsBefore', fields: ['goneEventsBefore'], by: [] },
] as const;

export interface Store extends RecordStore {
  /**
   * Returns all records, those of earlier `write` calls among them. Rejects with `store_refused`,
   * `store_away`.
   */
  load(): Promise<StoredRecords>;
  /** Returns all units, some at a time and in no order. Rejects as `load` does. */
  units(): AsyncIterable<readonly UnitRecord[]>;
  write(changes: Changes): Promise<void>;
  /** Ends after the writes under way; later calls reject with `store_away`. */
  close(): Promise<void>;
}

export interface OwnerUsageRecord {
  readonly ownerId: number;
  readonly usage: Usage;
}

/**
 * An hour of the usage history. Each host keeps its own, with all that it knew of an owner, from whichever
 * host.
 *
 * Hours are counted in UTC since 1970. An hour is recorded once it has an `HourRecord`: the usage of owners
 * is written before that, in as many writes as it takes, so that an hour is complete or does not count. An
 * owner has a record only for an hour in which the usage changed; it holds until the next record.
 */
export interface HourRecord {
  readonly hour: number;
  readonly at: number;
  readonly usage: Usage;
}

export interface HistoryQuery {
  /** Null: only the hours are returned. */
  readonly ownerId: number | null;
  readonly fromHour: number;
  readonly toHour: number;
  /** Leaves the hours out, for a caller that has them already: they are many, and the same for each owner. */
  readonly onlySteps?: boolean;
}

/** Both in the order of time. */
export interface PastUsage {
  readonly hours: readonly HourRecord[];
  /** The first may lie before `fromHour`: it has the usage at that hour. Before it the owner used nothing. */
  readonly steps: readonly { readonly hour: number; readonly usage: Usage }[];
}

export interface Thinning {
  /** The last owner of the previous step; -1: begins. */
  readonly afterOwner: number;
  readonly nowHour: number;
  /** Number of latest days with all hours; of each earlier day only the last record is kept. */
  readonly hourlyDays: number;
  /** Number of latest days with any records; of earlier ones only the record is kept that still holds. */
  readonly dailyDays: number;
}

/** Rejects as `Store` does; every write is atomic. */
export interface HistoryStore {
  /** Records the owners whose usage changed. Hours that were recorded later stay as they are. */
  recordOwners(hour: number, owners: readonly OwnerUsageRecord[]): Promise<void>;
  recordHour(record: HourRecord): Promise<void>;
  history(query: HistoryQuery): Promise<PastUsage>;
  /**
   * Thins a few owners. It counts days from the 25th-last recorded hour, so that a wrong clock deletes
   * nothing. Returns their ids, ascending; none: all owners are done.
   */
  thinHistory(thinning: Thinning): Promise<readonly number[]>;
  forgetHistory(ownerIds: readonly number[]): Promise<void>;
}

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

/**
 * Units that programs report in whole sets: each source has one set, and replaces it by another.
 *
 * A set is staged in parts, and then replaces the one before in one transaction. So a set that breaks off
 * changes nothing, and after a crash either the old one or the new one is there. Units stay in the store
 * until somebody asks for them; only sums are returned.
 */
export interface UnitSourceStore {
  load(): Promise<readonly KeptSet[]>;
  begin(set: NewUnitSet): Promise<UnitSetWriter>;
  /** Removes a source and its set. Rejects with `store_away`; the source stays then. */
  remove(source: string): Promise<void>;
  /** Returns an owner's units in a set, largest first. Rejects with `store_away`. */
  units(query: UnitQuery): Promise<readonly LargeUnit[]>;
}
