/** The types that the parts of the ledger share: options, clocks, and the usage of an owner. */

import type { Kind } from '../documents/index.ts';
import type { Log } from '../log.ts';
import type { LintSettings } from '../policy/index.ts';
import type { ActiveAllowance, BoundedThings, Decision, ReservedBytes, Usage } from '../quota/index.ts';
import type { OwnerRecord, Store, UnitSourceStore, WriteBehind } from '../store/index.ts';
import type { UsageIndex } from './usage-index.ts';

export type LedgerSettings = LintSettings;

export interface LedgerOptions {
  readonly store: Store;
  /** The store of unit sets that programs report; without it, every set is refused. */
  readonly unitSources?: UnitSourceStore;
  readonly host: string;
  readonly settings: LedgerSettings;
  /** Kinds of documents besides the policy and graces; no decision depends on them. */
  readonly kinds?: readonly Kind<unknown>[];
  readonly foldCase: boolean;
  readonly log: Log;
  /** Default: the system's clock. */
  readonly clock?: Clock;
}

/** The things that all parts of a ledger use. */
export interface LedgerParts {
  readonly usage: UsageIndex;
  readonly writeBehind: WriteBehind;
  readonly clock: Clock;
  readonly log: Log;
  readonly host: string;
  /** Returns the next place in the order of walks and reports. */
  nextSeq(): number;
  /** Notifies watchers that decisions about the owner with this key may have changed; null: any owner. */
  tell(ownerKey: string | null): void;
}

/** The two clocks of the ledger, both in milliseconds. */
export interface Clock {
  /** Returns the time since 1970, for people and for the store. Somebody may set this clock, also back. */
  wall(): number;
  /** Returns the time since an arbitrary moment. Nobody can set this clock, so only it measures durations. */
  monotonic(): number;
}

export interface OwnerUsage {
  /** Null: the owner is unknown. */
  readonly id: number | null;
  /** The name as first seen; for an unknown owner, the name in the question. */
  readonly name: string;
  readonly type: OwnerRecord['type'];
  readonly usage: Usage;
  /** The part of `usage` that no ref reaches, if it is forgiven; each change makes a new list. Null: none. */
  readonly unreachable: Usage | null;
  /** Reserved bytes, which are not in `usage`; null: none, or left out. */
  readonly reserved: readonly ReservedBytes[] | null;
  /** The time of the oldest walk of a unit, or without units, the end of the last sweep; null: none yet. */
  readonly measuredAt: number | null;
  /** True if a unit could not be measured completely, or no sweep has ended yet. */
  readonly partial: boolean;
  /** True if usage on other hosts may be out of date, a source is late, or storage is missing in app.ini. */
  readonly stale: boolean;
  /** The sum of the running allowances; the same object until one starts or ends. Null: none. */
  readonly allowance: ActiveAllowance | null;
}

/** The repository that an action grows and the bytes that it brings, as far as they are known. */
export interface ActionThings extends Pick<BoundedThings, 'incoming'> {
  /** The path of the repository, which need not exist yet; absent or null: unknown. */
  readonly repository?: string | null;
}

export interface OwnerDecision {
  readonly owner: OwnerUsage;
  readonly decision: Decision;
}
