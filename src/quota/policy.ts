/**
 * Rules and groups, as administrators write them and as decisions read them, with allowances on top of them.
 *
 * A compiled rule has its subjects as bit masks, so that a decision takes a few integer operations for each
 * rule. It also has their names, for explanations.
 *
 * Grace: an owner a little over a limit gets warnings for some time before refusals begin. Each limit has its
 * own grace, which begins when the owner is first seen over the limit, and ends when the owner is below it
 * again. While it runs, the limit refuses only usage from limit + GRACE_MOST on. A limit of 0 has no grace,
 * since it means that the owner may not store this at all.
 */

import type { Parsed } from '../parsed.ts';
import { parseSize, writeSize } from '../text.ts';
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

/** The amount by which a limit may be passed: in bytes, or in percent of the limit. */
export type GraceMost = { readonly bytes: number } | { readonly percent: number };

const usualGraceMost: GraceMost = { percent: 10 };

interface GraceTerms {
  /** Milliseconds; 0: no grace; absent: as configured. */
  readonly graceMs?: number;
  /** Absent: as configured. */
  readonly graceMost?: GraceMost;
}

interface GraceSettings {
  /** Milliseconds; null or absent: no grace. */
  readonly graceMs?: number | null;
  /** Absent: 10 %. */
  readonly graceMost?: GraceMost;
}

/** A grace that has begun, because an owner was seen over a limit. */
export interface RunningGrace {
  /** Milliseconds since 1970. */
  readonly since: number;
  /**
   * True if the limit only reports, so that the owner was not warned. When it refuses, the grace begins anew.
   */
  readonly isReported: boolean;
}

export interface Graces {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** By the name of the rule; null is the built-in one. */
  readonly begun: ReadonlyMap<string | null, RunningGrace>;
}

export interface Grace {
  /** The time at which refusals begin, or began, in milliseconds since 1970. */
  readonly until: number;
  /** Usage from here on is refused at any time; above the limit. */
  readonly below: number;
}

interface LimitedRule extends GraceTerms {
  /** Null for the built-in one. */
  readonly name: string | null;
  readonly limitBytes: number;
  /** With `warn` there is no grace, since the rule refuses nothing. */
  readonly mode?: string;
  /** Only limits of owners and of groups have a grace. */
  readonly per?: string;
}

/**
 * Returns how far and until when the owner may pass this limit; null: it has no grace. `isTold`: the limit
 * refuses, and does not only report. Without `graces`, which have the time, there is no grace.
 */
export function graceOf(
  settings: GraceSettings,
  rule: LimitedRule,
  graces: Graces | undefined,
  isTold: boolean,
): Grace | null {
  const terms = graces === undefined ? null : termsOf(settings, rule);
  if (graces === undefined || terms === null) return null;
  const begun = graces.begun.get(rule.name);
  const since = begun === undefined || (isTold && begun.isReported) ? graces.now : begun.since;
  const below = Math.min(rule.limitBytes + mostBytes(terms.most, rule.limitBytes), Number.MAX_SAFE_INTEGER);
  return { until: since + terms.ms, below };
}

export function termsOf(
  settings: GraceSettings,
  { graceMs, graceMost, limitBytes, mode, per = 'owner' }: Omit<LimitedRule, 'name'>,
): { readonly ms: number; readonly most: GraceMost } | null {
  const ms = graceMs ?? settings.graceMs ?? 0;
  const most = graceMost ?? settings.graceMost ?? usualGraceMost;
  if (mode === 'warn' || (per !== 'owner' && per !== 'group')) return null;
  return limitBytes <= 0 || ms === 0 || mostBytes(most, limitBytes) === 0 ? null : { ms, most };
}

/** Rounds up to whole bytes. Exact, even if `limit * percent` would pass 2^53. */
function mostBytes(most: GraceMost, limitBytes: number): number {
  if ('bytes' in most) return most.bytes;
  const hundredth = Math.floor(limitBytes / 100);
  const rest = limitBytes % 100;
  return Math.min(Math.ceil(hundredth * most.percent + (rest * most.percent) / 100), Number.MAX_SAFE_INTEGER);
}

/** Tells whether the grace of rule `a` is never more generous than that of rule `b`. */
export function isNoMoreGrace(settings: GraceSettings, a: LimitedRule, b: LimitedRule): boolean {
  const one = termsOf(settings, a);
  if (one === null) return true;
  const other = termsOf(settings, b);
  if (other === null || one.ms > other.ms) return false;
  if ('bytes' in one.most) return 'bytes' in other.most && one.most.bytes <= other.most.bytes;
  return 'percent' in other.most && one.most.percent <= other.most.percent;
}

const percentPattern = /^(\d{1,4}(?:\.\d{1,3})?) ?%$/;

/** Parses GRACE_MOST: percent of a limit, above 0 and up to 1000, or a size. */
export function parseGraceMost(text: string): Parsed<GraceMost> {
  const [, percent] = percentPattern.exec(text.trim()) ?? [];
  if (percent !== undefined) {
    const value = Number(percent);
    return value > 0 && value <= 1000
      ? { ok: true, value: { percent: value } }
      : { ok: false, problem: value > 0 ? 'above 1000 %' : 'not above 0' };
  }
  const size = parseSize(text);
  if (!size.ok) return size;
  return size.value > 0 ? { ok: true, value: { bytes: size.value } } : { ok: false, problem: 'not above 0' };
}

/** Writes GRACE_MOST in the form that `parseGraceMost` reads. */
export function graceMostText(most: GraceMost): string {
  return 'percent' in most ? `${most.percent} %` : writeSize(most.bytes);
}
