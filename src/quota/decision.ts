/** The forms that a decision has. */

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
   * The bytes that the deciding rule counts, with those reserved, without those forgiven and those about to
   * be added. Of a push or a file: those that come.
   */
  readonly used: number;
  /** Those of them that are reserved, and not measured yet. */
  readonly reserved: number;
  /** The bytes about to be added, as far as they count. */
  readonly incoming: number;
  /** The deciding rule's, with the allowance; -1: unlimited. */
  readonly limit: number;
  /** The part of `limit` that the owner's allowances add; absent where they add nothing. */
  readonly allowance?: ActiveAllowance;
  /** The unreachable ones of the stored bytes; absent where they are not forgiven, or there are none. */
  readonly garbage?: Garbage;
  /** Grace of a passed limit: allowed, it runs; refused, it has ended or the limit is passed by more. */
  readonly grace?: Grace;
  /** Null for the built-in group, and so is `rule`. */
  readonly group: string | null;
  readonly rule: string | null;
  readonly subjects: readonly RuleSubject[];
  /** The thresholds of the rule's own; absent: WARN_AT. */
  readonly warnAt?: readonly number[];
}

export interface RuledAllowed extends Ruled {
  readonly allowed: true;
  /** The refusal if all in report mode were in force; absent where that allows. */
  readonly reported?: RuledRefused | NoMatch;
  /** The refusal by a rule that only warns, if it were in force; absent where there is none. */
  readonly warned?: RuledRefused;
  /** Bounds that allow, of which a grace runs or a threshold is reached; absent where there are none. */
  readonly near?: readonly RuledAllowed[];
  /** Bounds that hold, and that could not be asked; absent where there are none. */
  readonly unasked?: readonly BoundScope[];
}

export interface RuledRefused extends Ruled {
  readonly allowed: false;
  readonly reported?: never;
  readonly warned?: never;
  readonly near?: never;
  readonly unasked?: never;
}

/** No rule covers the subject, and `uncovered` is `deny`. */
export interface NoMatch extends NotRuled {
  readonly by: 'no_match';
  readonly allowed: false;
  /** The step whose groups have no rule that covers it. */
  readonly step: PrecedenceStep;
  readonly used: null;
  readonly limit: null;
  readonly subjects: readonly [];
}

export type Decision = Disabled | RuledAllowed | RuledRefused | NoMatch;

export interface FullDisk {
  /** A file system has room for so many bytes, and for so many files. */
  readonly of: 'bytes' | 'files';
  readonly free: number;
  readonly size: number;
  /** Bytes that have to stay free. */
  readonly least: number;
}

/** A decision by the disk, whatever the limits of the owner are. */
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
