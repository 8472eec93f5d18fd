/**
 * The usage history. Each host keeps its own, of all that it knew of an owner, whoever measured it.
 *
 * Hours are counted in UTC since 1970. An hour was recorded once there is an `HourRecord` of it: what owners
 * used is written before, in as many writes as it takes, so an hour is there whole or not at all. Of an owner
 * there is a record only for an hour in which the usage was another than before; it holds until the next one.
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
  /** Null: only the hours are asked for. */
  readonly ownerId: number | null;
  readonly fromHour: number;
  readonly toHour: number;
  /** Leaves the hours out, for who has them already; they are many, and the same for each owner. */
  readonly onlySteps?: boolean;
}

/** Both in the order of time. */
export interface PastUsage {
  readonly hours: readonly HourRecord[];
  /** The first may be of before `fromHour`: what held then. Before it the owner used nothing. */
  readonly steps: readonly { readonly hour: number; readonly usage: Usage }[];
}

export interface Thinning {
  /** Goes on after this owner; -1: begins. */
  readonly afterOwner: number;
  readonly nowHour: number;
  /** Days before the last so many keep only what holds at their end. */
  readonly hourlyDays: number;
  /** And of days before the last so many nothing, but what still holds. */
  readonly dailyDays: number;
}

/** Those who have been thinned, by id in ascending order; none: all have. */
export type ThinnedOwners = readonly number[];

/** Rejects as `Store` does; every write is atomic. */
export interface HistoryStore {
  /** Puts in those whose usage changed. Hours that were recorded later stay as they are. */
  recordOwners(hour: number, owners: readonly OwnerUsageRecord[]): Promise<void>;
  recordHour(record: HourRecord): Promise<void>;
  history(query: HistoryQuery): Promise<PastUsage>;
  /** Thins a few owners, from the 25th hour recorded before now on: a wrong clock costs nothing. */
  thinHistory(thinning: Thinning): Promise<ThinnedOwners>;
  forgetHistory(ownerIds: readonly number[]): Promise<void>;
}
