/** The settings that decisions depend on. */

import type { GraceSettings } from './grace.ts';

export interface QuotaSettings extends GraceSettings {
  /** False: everything is allowed. */
  readonly enabled: boolean;
  /** `exceeded`: usage > limit refuses; `reached`: usage >= limit does. A limit of 0 always refuses. */
  readonly refuseWhen: 'exceeded' | 'reached';
  /** The consequence if no group of a step covers the subject: the next step, or a refusal. */
  readonly uncovered: 'default' | 'deny';
  /** Tells whether the bytes about to be added count. */
  readonly precise: boolean;
  /** With `report` the asker lets everything through; it is decided the same. */
  readonly mode: 'enforce' | 'report';
  /** Whole percents of a limit, ascending. */
  readonly warnAt: readonly number[];
  /** `forgive`: unreachable bytes are not held against owners; absent: `bill`. */
  readonly garbage?: 'bill' | 'forgive';
  /** The most that each limit forgives; null or absent: as much as the limit itself. */
  readonly garbageMostBytes?: number | null;
  /** The built-in group's limit; -1: unlimited. */
  readonly totalBytes: number;
}
