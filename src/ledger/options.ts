/** The options of a ledger, its clocks and answers, and the part of its units that others may read. */

import type { Kind } from '../documents/index.ts';
import type { Log } from '../log.ts';
import type { LintSettings } from '../policy/index.ts';
import type { ActiveAllowance, BoundedThings, Decision, ReservedBytes, Usage } from '../quota/index.ts';
import type { OwnerRecord, Store, UnitSourceStore, WriteBehind } from '../store/index.ts';
import type { UsageIndex } from './usage-index.ts';

/** With the names in DEFAULT_GROUPS. */
export type LedgerSettings = LintSettings;

export interface LedgerOptions {
  readonly store: Store;
  /** The sets of units that programs report; without it none can be put. */
  readonly unitSources?: UnitSourceStore;
  readonly host: string;
  readonly settings: LedgerSettings;
  /** The documents besides rules, groups and assignments; no decision depends on them. */
  readonly kinds?: readonly Kind<unknown>[];
  readonly foldCase: boolean;
  readonly log: Log;
  /** The system's unless given. */
  readonly clock?: Clock;
}

/** The parts of a ledger that its other parts work on. */
export interface LedgerParts {
  readonly usage: UsageIndex;
  readonly writeBehind: WriteBehind;
  readonly clock: Clock;
  readonly log: Log;
  readonly host: string;
  /** The next place in the order of walks and reports. */
  nextSeq(): number;
  /** Decisions about the owner of this key have become others; null: about anybody. */
  tell(ownerKey: string | null): void;
}

/** The units of this host, to read. */
export type ReadableUnits = Omit<UsageIndex, 'close' | 'open' | 'owners' | 'put' | 'remove'>;

/** The two clocks of the ledger, both in milliseconds. */
export interface Clock {
  /** Since 1970, for people and for the store. It may be set, back and forward. */
  wall(): number;
  /** Since any moment. Nobody sets it, and so nothing but it measures how long something took. */
  monotonic(): number;
}

export interface OwnerUsage {
  /** Null: never heard of. */
  readonly id: number | null;
  /** Name as first seen; as asked if the owner was never heard of. */
  readonly name: string;
  readonly type: OwnerRecord['type'];
  readonly usage: Usage;
  /** Those of `usage` that no ref reaches, if forgiven; another list after each change. Null: none. */
  readonly unreachable: Usage | null;
  /** The bytes that are reserved besides; null: none, or nobody asked for them. */
  readonly reserved: readonly ReservedBytes[] | null;
  /** When the oldest unit was walked, or without any the last sweep ended; null: nothing was measured. */
  readonly measuredAt: number | null;
  /** Some bytes are last known ones, or no sweep has ended yet. */
  readonly partial: boolean;
  /** Usage on other hosts may be unknown here, a source has not reported, or storage left app.ini. */
  readonly stale: boolean;
  /** The allowances that have not ended; the same object until they are others. Null: none. */
  readonly allowance: ActiveAllowance | null;
}

/** The repository that an action grows, and what it brings, as far as they are known. */
export interface ActionThings extends Pick<BoundedThings, 'incoming'> {
  /** The path of the repository, which need not be there yet; absent or null: none is known. */
  readonly repository?: string | null;
}

export interface OwnerDecision {
  readonly owner: OwnerUsage;
  readonly decision: Decision;
}
