/**
 * The usage history. Each host keeps its own, with all that it knew of an owner, from whichever host.
 *
 * Hours are counted in UTC since 1970. An hour is recorded once it has an `HourRecord`: the usage of owners
 * is written before that, in as many writes as it takes, so that an hour is complete or does not count. An
 * owner has a record only for an hour in which the usage changed; it holds until the next record.
 */

import type { Usage } from '../quota/index.ts';

export interface OwnerUsageRecord {
  readonly ownerId: number;
  readonly usage: Usage;
}

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

/** Ids of the thinned owners, ascending; empty: all owners are done. */
export type ThinnedOwners = readonly number[];

/** Rejects as `Store` does; every write is atomic. */
export interface HistoryStore {
  /** Records the owners whose usage changed. Hours that were recorded later stay as they are. */
  recordOwners(hour: number, owners: readonly OwnerUsageRecord[]): Promise<void>;
  recordHour(record: HourRecord): Promise<void>;
  history(query: HistoryQuery): Promise<PastUsage>;
  /**
   * Thins a few owners. It counts days from the 25th-last recorded hour, so that a wrong clock deletes
   * nothing.
   */
  thinHistory(thinning: Thinning): Promise<ThinnedOwners>;
  forgetHistory(ownerIds: readonly number[]): Promise<void>;
}
