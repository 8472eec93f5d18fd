/**
 * Rules and groups, as administrators write them and as decisions read them, with allowances on top of them.
 *
 * A compiled rule carries its subjects as bit masks, so that deciding is a few integer
 * operations for each rule. Its words stay beside them, for those who ask why.
 */

import type { GraceSettings, GraceTerms } from './grace.ts';
import { leafMask, type RuleSubject, type Subject, subjects, withAncestors } from './subjects.ts';

/**
 * `report`: what the rule would refuse is recorded and let through; `warn`: who passes its limit is told, and
 * refused nothing. A rule in force has neither.
 */
export const ruleModes = ['report', 'warn'] as const;

export type RuleMode = (typeof ruleModes)[number];

/** Bounds: limits of other things than of all that an owner stores, in the order in which they are asked. */
export const boundScopes = ['group', 'repository', 'push', 'file'] as const;

export type BoundScope = (typeof boundScopes)[number];

/** All that a rule can limit. */
export const ruleScopes = ['owner', ...boundScopes] as const;

export type RuleScope = (typeof ruleScopes)[number];

export interface Rule extends GraceTerms {
  readonly name: string;
  /** -1: unlimited; 0: may store nothing; never another negative number. */
  readonly limitBytes: number;
  readonly subjects: readonly RuleSubject[];
  /** Absent: it is in force. */
  readonly mode?: RuleMode;
  /** The thing that it limits; absent: the owner. */
  readonly per?: BoundScope;
  /** Whole percents of the limit, ascending; absent: those of `QuotaSettings`. */
  readonly warnAt?: readonly number[];
}

export interface Group {
  readonly name: string;
  readonly rules: readonly Rule[];
}

export interface ActiveAllowance {
  /** Their sum, above 0. */
  readonly bytes: number;
  readonly count: number;
  /** When the first of them ends, in milliseconds since 1970. */
  readonly until: number;
}

export interface CompiledRule extends GraceTerms {
  /** Null for the built-in group's only rule. */
  readonly name: string | null;
  readonly limitBytes: number;
  /** The part of the limit that the owner's allowances add; absent where they add nothing. */
  readonly allowance?: ActiveAllowance;
  readonly subjects: readonly RuleSubject[];
  /** The subjects that it answers for, as `subjectBit`s: those it names and all below them. */
  readonly covers: number;
  /** The leaves whose bytes it counts, as in `leafMask`: what lies below two of its subjects counts once. */
  readonly counts: number;
  readonly mode?: RuleMode;
  readonly per?: BoundScope;
  readonly warnAt?: readonly number[];
}

export interface CompiledGroup {
  readonly name: string;
  readonly rules: readonly CompiledRule[];
}

/** The group below all others, which administrators cannot name: one rule over everything. */
export interface BuiltinGroup {
  readonly name: null;
  readonly rules: readonly CompiledRule[];
}

const subjectBits: ReadonlyMap<string, number> = new Map(
  subjects.map((subject, index) => [subject, 1 << index]),
);

export function subjectBit(subject: Subject): number {
  return subjectBits.get(subject) ?? 0;
}

function coverMask(named: readonly RuleSubject[]): number {
  return subjects
    .filter(subject => withAncestors(subject).some(above => named.includes(above)))
    .reduce((mask, subject) => mask | subjectBit(subject), 0);
}

function countMask(named: readonly RuleSubject[]): number {
  return named.reduce((mask, subject) => mask | leafMask(subject), 0);
}

function compileRule(rule: Rule): CompiledRule {
  return { ...rule, covers: coverMask(rule.subjects), counts: countMask(rule.subjects) };
}

export function compileGroup(group: Group): CompiledGroup {
  return { ...group, rules: group.rules.map(compileRule) };
}

/**
 * Gives the groups with their rules in force and those of this mode, and without groups that have only
 * others: they are as if they had no members. The same object where that leaves nothing out.
 */
export function groupsInMode(
  groups: readonly CompiledGroup[],
  also: RuleMode | null,
): readonly CompiledGroup[] {
  const counts = ({ mode }: CompiledRule) => mode === undefined || mode === also;
  if (groups.every(({ rules }) => rules.every(counts))) return groups;
  return groups
    .filter(({ rules }) => rules.length === 0 || rules.some(counts))
    .map(group => ({ ...group, rules: group.rules.filter(counts) }));
}

/** Gives the groups with these of their rules; one without any of them is kept. */
export function groupsWith<Group extends Pick<CompiledGroup, 'rules'>>(
  groups: readonly Group[],
  isMeant: (rule: CompiledRule) => boolean,
): readonly Group[] {
  return groups.map(group => ({ ...group, rules: group.rules.filter(isMeant) }));
}

const everything: Omit<CompiledRule, 'limitBytes'> = {
  name: null,
  subjects: ['size:all'],
  covers: coverMask(['size:all']),
  counts: countMask(['size:all']),
};

/** `[quota.default] TOTAL` as a group. */
export function builtinGroup(totalBytes: number): BuiltinGroup {
  return { name: null, rules: [{ ...everything, limitBytes: totalBytes }] };
}

/**
 * Gives a group whose limits are raised, each rule with the allowance that it was raised by: whoever is given
 * 2 GB more may store 2 GB more, whichever of the rules is the tightest. Limits -1 and 0 stay, since 0 says
 * that the owner may not store this at all, and not how much; and none passes 2^53 - 1. Bounds of what comes
 * stay, too.
 */
export function raisedGroup<Group extends Pick<CompiledGroup, 'rules'>>(
  group: Group,
  allowance: ActiveAllowance,
): Group {
  const rules = group.rules.map(rule =>
    rule.limitBytes <= 0 || isOfIncoming(rule)
      ? rule
      : {
          ...rule,
          limitBytes: Math.min(rule.limitBytes + allowance.bytes, Number.MAX_SAFE_INTEGER),
          allowance,
        },
  );
  return { ...group, rules };
}

/** Tells whether a rule is about what comes, and not about what is stored. */
export function isOfIncoming({ per }: { readonly per?: RuleScope }): boolean {
  return per === 'push' || per === 'file';
}

/** Why such a limit cannot be; null: it can. */
export function limitFault(limitBytes: number, per: RuleScope): string | null {
  if (!Number.isSafeInteger(limitBytes) || limitBytes < -1) {
    return 'expected whole bytes from 0 to 2^53 - 1, or -1 for unlimited';
  }
  return limitBytes === 0 && isOfIncoming({ per })
    ? `expected more than 0, or -1 for unlimited, for each ${per}`
    : null;
}

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
