/**
 * Rules and groups, as administrators write them and as decisions read them, with allowances on top of them.
 *
 * A compiled rule has its subjects as bit masks, so that a decision takes a few integer operations for each
 * rule. It also has their names, for explanations.
 */

import type { GraceSettings, Graces, GraceTerms } from './grace.ts';
import { leafMaskOf, type RuleSubject, type Subject, subjects, withAncestors } from './subjects.ts';

/**
 * `report`: actions that the rule would refuse are recorded and allowed; `warn`: an owner over the limit gets
 * a warning, and no refusal. A rule in force has neither.
 */
export const ruleModes = ['report', 'warn'] as const;

export type RuleMode = (typeof ruleModes)[number];

/** Bounds: limits of other things than the bytes of one owner, in the order in which they are checked. */
export const boundScopes = ['group', 'repository', 'push', 'file'] as const;

export type BoundScope = (typeof boundScopes)[number];

/** The things that a rule can limit. */
export const ruleScopes = ['owner', ...boundScopes] as const;

export type RuleScope = (typeof ruleScopes)[number];

export interface Rule extends GraceTerms {
  readonly name: string;
  /** -1: unlimited; 0: the owner may store nothing. */
  readonly limitBytes: number;
  readonly subjects: readonly RuleSubject[];
  /** Absent: the rule is in force. */
  readonly mode?: RuleMode;
  /** The thing that the rule limits; absent: the owner. */
  readonly per?: BoundScope;
  /** Whole percents of the limit, ascending; absent: those of `QuotaSettings`. */
  readonly warnAt?: readonly number[];
}

export interface Group {
  readonly name: string;
  readonly rules: readonly Rule[];
}

export interface ActiveAllowance {
  /** The sum of the running allowances, above 0. */
  readonly bytes: number;
  readonly count: number;
  /** The time at which the first of them ends, in milliseconds since 1970. */
  readonly until: number;
}

export interface CompiledRule extends Omit<Rule, 'name'> {
  /** Null for the built-in group's only rule. */
  readonly name: string | null;
  /** The part of the limit that the owner's allowances add; absent: none. */
  readonly allowance?: ActiveAllowance;
  /** The subjects that the rule covers, as `subjectBit`s: those it names and all below them. */
  readonly covers: number;
  /** The leaves whose bytes count, as in `leafMask`; a leaf below two of the subjects counts once. */
  readonly counts: number;
}

export interface CompiledGroup {
  readonly name: string;
  readonly rules: readonly CompiledRule[];
}

/** Also the group of the last step, which administrators cannot edit: it has no name. */
export type JudgedGroup = Pick<CompiledGroup, 'rules'> & { readonly name: string | null };

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

function compileRule(rule: Rule): CompiledRule {
  return { ...rule, covers: coverMask(rule.subjects), counts: leafMaskOf(rule.subjects) };
}

export function compileGroup(group: Group): CompiledGroup {
  return { ...group, rules: group.rules.map(compileRule) };
}

/**
 * Returns the groups with only their rules in force and those of the mode `also`. Drops a group that has only
 * other rules, as if it had no members. Returns the same object if this changes nothing.
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

interface StandingGroups {
  readonly assigned: readonly CompiledGroup[];
  /** The existing ones of DEFAULT_GROUPS. */
  readonly defaults: readonly CompiledGroup[];
  /** The bounds that rules of these groups have, in the order in which they are checked; absent: none. */
  readonly scopes?: readonly BoundScope[];
}

export interface Standing extends StandingGroups {
  /** The owner's allowance, which raises every limit above 0; absent or null: none. */
  readonly allowance?: ActiveAllowance | null;
  /** Absent: no limit has a grace. */
  readonly graces?: Graces;
  /** The groups as if their rules in report mode were in force; absent: there are no such rules. */
  readonly reporting?: StandingGroups;
  /** The groups as if their rules that only warn were in force; absent: there are no such rules. */
  readonly warning?: StandingGroups;
}

/** Separates the rules of an owner's groups by their modes. */
export function standingIn({ assigned, defaults }: StandingGroups): Standing {
  const rules = [...assigned, ...defaults].flatMap(group => group.rules);
  const inMode = (also: RuleMode | null): StandingGroups => {
    const groups = { assigned: groupsInMode(assigned, also), defaults: groupsInMode(defaults, also) };
    const theirs = [...groups.assigned, ...groups.defaults].flatMap(group => group.rules);
    const scopes = boundScopes.filter(scope => theirs.some(({ per }) => per === scope));
    return scopes.length === 0 ? groups : { ...groups, scopes };
  };
  const has = (mode: RuleMode) => rules.some(rule => rule.mode === mode);
  return {
    ...inMode(null),
    ...(has('report') ? { reporting: inMode('report') } : {}),
    ...(has('warn') ? { warning: inMode('warn') } : {}),
  };
}

/** Tells whether a rule has one of these bounds, in force or not. */
export function hasBounds(standing: Standing, scopes: readonly BoundScope[]): boolean {
  return [standing, standing.reporting, standing.warning].some(groups =>
    groups?.scopes?.some(scope => scopes.includes(scope)),
  );
}

const unlimited = compileRule({ name: '', limitBytes: -1, subjects: ['size:all'] });

/** Returns `[quota.default] TOTAL` as a group with one rule, which covers everything. */
export function builtinGroup(totalBytes: number): JudgedGroup {
  return { name: null, rules: [{ ...unlimited, name: null, limitBytes: totalBytes }] };
}

/**
 * Adds an allowance to every limit of a group, so that an owner with an allowance of 2 GB may store 2 GB
 * more, whichever rule is the tightest. Limits -1 and 0 stay, since 0 means that the owner may not store this
 * at all; so do bounds of a push or a file. No limit passes 2^53 - 1.
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

/** Tells whether a rule limits incoming bytes, and not stored ones. */
export function isOfIncoming({ per }: { readonly per?: RuleScope }): boolean {
  return per === 'push' || per === 'file';
}

/** Returns the reason why a limit is invalid; null: it is valid. */
export function limitFault(limitBytes: number, per: RuleScope): string | null {
  if (!Number.isSafeInteger(limitBytes) || limitBytes < -1) {
    return 'expected whole bytes from 0 to 2^53 - 1, or -1 for unlimited';
  }
  return limitBytes === 0 && isOfIncoming({ per })
    ? `expected more than 0, or -1 for unlimited, for each ${per}`
    : null;
}

export interface QuotaSettings extends GraceSettings {
  /** False: all actions are allowed. */
  readonly enabled: boolean;
  /** `exceeded`: usage > limit refuses; `reached`: usage >= limit does. A limit of 0 always refuses. */
  readonly refuseWhen: 'exceeded' | 'reached';
  /**
   * The result if a step has groups and none covers the subject: `default`: the next step; `deny`: a refusal.
   */
  readonly uncovered: 'default' | 'deny';
  /** True: bytes about to be added count. */
  readonly precise: boolean;
  /** `report`: the same decisions, but clients of the gate let all actions through. */
  readonly mode: 'enforce' | 'report';
  /** Whole percents of a limit, ascending. */
  readonly warnAt: readonly number[];
  /** `forgive`: unreachable bytes do not count; absent: `bill`. */
  readonly garbage?: 'bill' | 'forgive';
  /** The most bytes that each limit forgives; null or absent: as many as the limit itself. */
  readonly garbageMostBytes?: number | null;
  /** The built-in group's limit; -1: unlimited. */
  readonly totalBytes: number;
}
