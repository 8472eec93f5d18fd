/** What the ledger answers with. */

import type { Decision, Usage } from '../quota/index.ts';
import type { OwnerRecord } from '../store/index.ts';

/** What is known of one owner. */
export interface OwnerUsage {
  /** Null: never heard of. */
  readonly id: number | null;
  /** As first seen; as asked for one never heard of. */
  readonly name: string;
  readonly type: OwnerRecord['type'];
  readonly usage: Usage;
  /**
   * When the oldest of the units was walked, or, without any, the last sweep ended; null before anything was
   * measured.
   */
  readonly measuredAt: number | null;
  /** Some bytes are last known ones, or no sweep has ended yet. */
  readonly partial: boolean;
  /** What other hosts store may be unknown here, or a source has not reported for longer than it said. */
  readonly stale: boolean;
}

export interface OwnerDecision {
  readonly owner: OwnerUsage;
  readonly decision: Decision;
}
