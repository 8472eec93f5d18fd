/** The types of a decision. */

import type { BoundDetails } from './bounds.ts';
import type { Grace } from './grace.ts';
import type { Garbage } from './judged.ts';
import type { ActiveAllowance, BoundScope } from './policy.ts';
import type { RuleSubject } from './subjects.ts';

export const precedence = ['assigned', 'defaults', 'builtin'] as const;

export type PrecedenceStep = (typeof precedence)[number];

interface NotRuled {
  readonly group: null;
  readonly rule: null;
  readonly allowance?: never;
  readonly garbage?: never;
  readonly grace?: never;
  readonly reported?: never;
  readonly warned?: never;
  readonly near?: never;
  readonly unasked?: never;
  readonly per?: never;
  readonly share?: never;
  readonly unit?: never;
  readonly file?: never;
  readonly warnAt?: never;
}

interface Disabled extends NotRuled {
  readonly by: 'disabled';
  readonly allowed: true;
  readonly step: null;
  readonly used: number;
  readonly limit: -1;
  readonly subjects: readonly ['size:all'];
}

export interface Ruled extends Partial<BoundDetails> {
  readonly by: 'rule';
  readonly step: PrecedenceStep;
  /**
   * The bytes that the deciding rule counts: with reserved bytes, without forgiven ones and those about to be
   * added. Bound of a push or a file: the incoming bytes.
   */
  readonly used: number;
  /** The reserved part of `used`. */
  readonly reserved: number;
  /** The bytes about to be added that count. */
  readonly incoming: number;
  /** The limit of the deciding rule, with the allowance; -1: unlimited. */
  readonly limit: number;
  /** The part of `limit` that the owner's allowances add; absent: none. */
  readonly allowance?: ActiveAllowance;
  /** The unreachable part of the stored bytes; absent: none, or not forgiven. */
  readonly garbage?: Garbage;
  /**
   * The grace of a passed limit. If the decision is a refusal, it has ended, or the usage is too large for
   * it.
   */
  readonly grace?: Grace;
  /** Null for the built-in group, and so is `rule`. */
  readonly group: string | null;
  readonly rule: string | null;
  readonly subjects: readonly RuleSubject[];
  /** The rule's own thresholds; absent: WARN_AT. */
  readonly warnAt?: readonly number[];
}

export interface RuledAllowed extends Ruled {
  readonly allowed: true;
  /** The refusal if all rules in report mode were in force; absent: they would allow. */
  readonly reported?: RuledRefused | NoMatch;
  /** The refusal by a rule that only warns, if it were in force; absent: none. */
  readonly warned?: RuledRefused;
  /** Bounds that allow, but with a running grace or a reached threshold; absent: none. */
  readonly near?: readonly RuledAllowed[];
  /** Bounds that apply but could not be checked; absent: none. */
  readonly unasked?: readonly BoundScope[];
}

export interface RuledRefused extends Ruled {
  readonly allowed: false;
  readonly reported?: never;
  readonly warned?: never;
  readonly near?: never;
  readonly unasked?: never;
}

/** The refusal if no rule covers the subject, and `uncovered` is `deny`. */
export interface NoMatch extends NotRuled {
  readonly by: 'no_match';
  readonly allowed: false;
  /** The step whose groups have no covering rule. */
  readonly step: PrecedenceStep;
  readonly used: null;
  readonly limit: null;
  readonly subjects: readonly [];
}

export type Decision = Disabled | RuledAllowed | RuledRefused | NoMatch;

export interface FullDisk {
  /** The unit of the numbers: a file system can be out of bytes, or of files (inodes). */
  readonly of: 'bytes' | 'files';
  readonly free: number;
  readonly size: number;
  /** The number that has to stay free. */
  readonly least: number;
}

/** The refusal because the disk is nearly full, whatever the owner's limits are. */
export interface DiskFull extends NotRuled {
  readonly by: 'disk';
  readonly allowed: false;
  readonly disk: FullDisk;
  readonly used: null;
  readonly limit: null;
  readonly subjects: readonly [];
}

export function refusedByDisk(disk: FullDisk): DiskFull {
  return {
    by: 'disk',
    allowed: false,
    disk,
    used: null,
    limit: null,
    group: null,
    rule: null,
    subjects: [],
  };
}
