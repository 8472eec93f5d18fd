/** The answers of the ledger. */

import type { ActiveAllowance, Decision, ReservedBytes, Usage } from '../quota/index.ts';
import type { OwnerRecord } from '../store/index.ts';

/** The usage of one owner. */
export interface OwnerUsage {
  /** Null: never heard of. */
  readonly id: number | null;
  /** Name as first seen; as asked if the owner was never heard of. */
  readonly name: string;
  readonly type: OwnerRecord['type'];
  /** The measured and reported bytes. */
  readonly usage: Usage;
  /**
   * Those of `usage` that no ref reaches, where they are forgiven; another list after each change. Null: none.
   */
  readonly unreachable: Usage | null;
  /** The bytes that are reserved besides; null: none, or nobody asked for them. */
  readonly reserved: readonly ReservedBytes[] | null;
  /**
   * When the oldest of the units was walked, or, without any, the last sweep ended; null before anything was
   * measured.
   */
  readonly measuredAt: number | null;
  /** Some bytes are last known ones, or no sweep has ended yet. */
  readonly partial: boolean;
  /** True if usage on other hosts may be unknown here, or if a source has not reported in time. */
  readonly stale: boolean;
  /** The allowances that have not ended; the same object until they are others. Null: none. */
  readonly allowance: ActiveAllowance | null;
}

export interface OwnerDecision {
  readonly owner: OwnerUsage;
  readonly decision: Decision;
}
