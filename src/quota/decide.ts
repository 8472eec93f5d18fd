/**
 * The answer to "may this owner start something that grows this subject now?"
 *
 * The owner's groups are asked in steps: those assigned, then the default ones, then the built-in
 * one. A rule covers the asked subject when it names the subject or one above it, and refuses when its
 * headroom (limit - usage) is used up. A group refuses when any covering rule refuses; one group
 * that allows is enough; a step in which no rule covers is silent.
 *
 * So of a group's covering rules the one with the least headroom speaks for the group, and of the
 * groups the one with the most headroom speaks for the owner: that one rule settles the answer, and is
 * the one that is named.
 */

import { raisedGroup } from './allowance.ts';
import { countedAdding, headroom, isBurst, refuses } from './counted.ts';
import type { Garbage } from './garbage.ts';
import { type Grace, type Graces, graceOf } from './grace.ts';
import { type DecidingRule, decidingAmong, decidingRule } from './judged.ts';
import {
  type ActiveAllowance,
  type BuiltinGroup,
  builtinGroup,
  type CompiledGroup,
  type CompiledRule,
  subjectBit,
} from './policy.ts';
import type { Load, Reserved } from './reserved.ts';
import type { QuotaSettings } from './settings.ts';
import { leafMask, type RuleSubject, type Subject } from './subjects.ts';
import { bytesUnder, type Usage } from './usage.ts';

/** Groups that bear on one owner, in any order. */
interface StandingGroups {
  /** Those explicitly assigned. */
  readonly assigned: readonly CompiledGroup[];
  /** The existing ones of DEFAULT_GROUPS. */
  readonly defaults: readonly CompiledGroup[];
}

/** The groups and rules in force that bear on one owner, and what is particular to the owner. */
export interface Standing extends StandingGroups {
  /** Raises every limit above 0; absent or null: there is none. */
  readonly allowance?: ActiveAllowance | null;
  /** Absent: no limit has a grace. */
  readonly graces?: Graces;
  /**
   * The groups as they would be if those in report mode, and the rules in report mode, were in force; absent
   * where there are none.
   */
  readonly reporting?: StandingGroups;
}

/** The steps, in the order in which they are asked. */
export const precedence = ['assigned', 'defaults', 'builtin'] as const;

export type PrecedenceStep = (typeof precedence)[number];

/** Quotas are switched off. */
interface Disabled {
  readonly by: 'disabled';
  readonly allowed: true;
  readonly step: null;
  /** All bytes of the owner. */
  readonly used: number;
  readonly limit: -1;
  readonly allowance?: never;
  readonly garbage?: never;
  readonly group: null;
  readonly rule: null;
  readonly subjects: readonly ['size:all'];
  readonly warnPercent: null;
  readonly grace?: never;
  readonly reported?: never;
}

/** A rule decided. */
interface Ruled {
  readonly by: 'rule';
  readonly step: PrecedenceStep;
  /**
   * The bytes that the deciding rule counts, with those reserved, without those forgiven and those about to
   * be added.
   */
  readonly used: number;
  /** Those of them that are reserved, and not measured yet. */
  readonly reserved: number;
  /** The bytes about to be added, as far as they count. */
  readonly incoming: number;
  /** Where `burstBytes` counts: those that actions under way are expected to add. */
  readonly underWay: number;
  /** The deciding rule's, with the allowance; -1: unlimited. */
  readonly limit: number;
  /** The part of `limit` that the owner's allowances add; absent where they add nothing. */
  readonly allowance?: ActiveAllowance;
  /** The unreachable ones of the stored bytes; absent where they are not forgiven, or there are none. */
  readonly garbage?: Garbage;
  /** Of a passed limit: where allowed it runs, where refused it has ended, or does not reach so far. */
  readonly grace?: Grace;
  /** Null for the built-in group, and so is `rule`. */
  readonly group: string | null;
  readonly rule: string | null;
  /** The deciding rule's. */
  readonly subjects: readonly RuleSubject[];
}

interface RuledAllowed extends Ruled {
  readonly allowed: true;
  /** The highest of `warnAt` that `used` reaches; null below all of them, and without a limit. */
  readonly warnPercent: number | null;
  /**
   * The decision as it would be if all in report mode were in force; absent where that is allowed, and not by
   * a grace.
   */
  readonly reported?: Decision;
}

interface RuledRefused extends Ruled {
  readonly allowed: false;
  /** Null, or `burstBytes`: alone it might start, but not beside what is under way. */
  readonly burst: number | null;
  readonly warnPercent: null;
  readonly reported?: never;
}

/** No rule covers the subject, and `uncovered` is `deny`. */
interface NoMatch {
  readonly by: 'no_match';
  readonly allowed: false;
  /** The step whose groups have no rule that covers it. */
  readonly step: PrecedenceStep;
  readonly used: null;
  readonly limit: null;
  readonly allowance?: never;
  readonly garbage?: never;
  readonly group: null;
  readonly rule: null;
  readonly subjects: readonly [];
  readonly warnPercent: null;
  readonly grace?: never;
  readonly reported?: never;
}

export type Decision = Disabled | RuledAllowed | RuledRefused | NoMatch;

/**
 * Decides. The answer depends neither on the order of groups nor on that of rules. `addingBytes`, 0 or more,
 * count only where `settings.precise` or `settings.burstBytes` says so. Throws `sum_too_large` where the
 * bytes that a covering rule counts pass 2^53 - 1.
 */
export function decide(
  settings: QuotaSettings,
  standing: Standing,
  usage: Usage,
  subject: Subject,
  addingBytes = 0,
  reserved: Reserved | null = null,
  unreachable: Usage | null = null,
): Decision {
  if (!settings.enabled) return disabled(usage);
  const load = { usage, reserved, unreachable, addingBytes };
  const decision = decideFrom(settings, standing, subject, load, isEnforced(settings));
  if (standing.reporting === undefined || !decision.allowed || decision.by !== 'rule') return decision;
  const reported = decideFrom(settings, reportingStanding(standing), subject, load, false);
  return reported.allowed && reported.grace === undefined ? decision : { ...decision, reported };
}

/** The standing as it would be if all in report mode were in force. */
export function reportingStanding({ reporting, ...standing }: Standing): Standing {
  return reporting === undefined ? standing : { ...standing, ...reporting };
}

/** Tells whether owners are told what limits refuse, so that their graces run. */
export function isEnforced({ mode }: Pick<QuotaSettings, 'mode'>): boolean {
  return mode === 'enforce';
}

/** Decides by the groups of a standing alone. `isTold`: as in `graceOf`. */
export function decideFrom(
  settings: QuotaSettings,
  standing: Standing,
  subject: Subject,
  load: Load,
  isTold: boolean,
): Decision {
  const asked = subjectBit(subject);
  const { graces } = standing;
  for (const step of precedence) {
    const groups = groupsAt(step, settings, standing);
    const deciding = decidingAmong(groups, group =>
      decidingRule(settings, group, asked, load, graces, isTold),
    );
    if (deciding !== null) return decisionBy(settings, step, deciding, load);
    if (groups.length > 0 && settings.uncovered === 'deny') return noMatch(step);
  }
  // The built-in rule covers every subject; should it ever not, nobody is let through by accident.
  return noMatch('builtin');
}

/** A rule as far as somebody else needs it who adds up the bytes. */
export interface CountedLimit {
  /** -1: unlimited; 0 always refuses. */
  readonly limitBytes: number;
  /** The leaves whose bytes count. */
  readonly counts: number;
}

interface ReachedLimit extends CountedLimit {
  /** As far as usage may come now: the limit, or more where a grace runs. */
  readonly atMostBytes: number;
}

/**
 * The limits that decide about a subject, by group: it is allowed if all limits of one of the groups leave
 * enough. Null: it is decided without looking at bytes.
 */
export function limitsFor(
  settings: QuotaSettings,
  standing: Standing,
  subject: Subject,
): readonly (readonly ReachedLimit[])[] | null {
  if (!settings.enabled) return null;
  const asked = subjectBit(subject);
  for (const step of precedence) {
    const groups = groupsAt(step, settings, standing);
    const covering = groups
      .map(({ rules }) => rules.filter(rule => (rule.covers & asked) !== 0))
      .filter(rules => rules.length > 0)
      .map(rules => rules.map(rule => ({ ...rule, atMostBytes: atMost(settings, rule, standing.graces) })));
    if (covering.length > 0) return covering;
    if (groups.length > 0 && settings.uncovered === 'deny') return null;
  }
  return null;
}

/** The limit, or as far as its grace reaches. */
function atMost(settings: QuotaSettings, rule: CompiledRule, graces: Graces | undefined): number {
  const grace = graceOf(settings, rule, graces, isEnforced(settings));
  if (graces === undefined || grace === null || graces.now >= grace.until) return rule.limitBytes;
  return settings.refuseWhen === 'reached' ? grace.below : grace.below - 1;
}

/** The groups of a step, with allowances on top of their limits; a step without groups is passed over. */
export function groupsAt(
  step: PrecedenceStep,
  settings: QuotaSettings,
  standing: Standing,
): readonly (CompiledGroup | BuiltinGroup)[] {
  const groups = groupsOfStep(step, settings, standing);
  const { allowance } = standing;
  return allowance === undefined || allowance === null
    ? groups
    : groups.map(group => raisedGroup(group, allowance));
}

function groupsOfStep(
  step: PrecedenceStep,
  settings: QuotaSettings,
  standing: Standing,
): readonly (CompiledGroup | BuiltinGroup)[] {
  switch (step) {
    case 'assigned':
      return standing.assigned;
    case 'defaults':
      return standing.defaults;
    case 'builtin':
      return [builtinGroup(settings.totalBytes)];
  }
}

function decisionBy(
  settings: QuotaSettings,
  step: PrecedenceStep,
  deciding: DecidingRule,
  { addingBytes }: Load,
): Decision {
  const { group, rule, used, reserved, underWay, garbage, verdict, grace } = deciding;
  const limit = rule.limitBytes;
  const plain = {
    by: 'rule',
    step,
    used,
    limit,
    group,
    rule: rule.name,
    subjects: rule.subjects,
    reserved,
    incoming: settings.precise || isBurst(settings) ? addingBytes : 0,
    underWay,
  } as const;
  const raised = rule.allowance === undefined ? plain : { ...plain, allowance: rule.allowance };
  const forgiven = garbage === null ? raised : { ...raised, garbage };
  const common = grace === null ? forgiven : { ...forgiven, grace };
  // What is common first: an object that begins with a copy is made in one step.
  if (verdict === 'refuses') {
    const adding = countedAdding(settings, addingBytes);
    const isAloneRefused = refuses(settings, headroom(limit, used), adding);
    const burst = isAloneRefused ? null : settings.burstBytes;
    return { ...common, allowed: false, burst, warnPercent: null };
  }
  return { ...common, allowed: true, warnPercent: limit > 0 ? reached(settings.warnAt, used, limit) : null };
}

/** The highest threshold that usage reaches, exact also where `used * 100` would not be. */
function reached(warnAt: readonly number[], used: number, limit: number): number | null {
  const hundredth = Math.floor(limit / 100);
  const rest = limit % 100;
  return warnAt.findLast(percent => used >= hundredth * percent + Math.ceil((rest * percent) / 100)) ?? null;
}

function disabled(usage: Usage): Decision {
  return {
    by: 'disabled',
    allowed: true,
    step: null,
    used: bytesUnder(usage, leafMask('size:all')),
    limit: -1,
    group: null,
    rule: null,
    subjects: ['size:all'],
    warnPercent: null,
  };
}

function noMatch(step: PrecedenceStep): Decision {
  return {
    by: 'no_match',
    allowed: false,
    step,
    used: null,
    limit: null,
    group: null,
    rule: null,
    subjects: [],
    warnPercent: null,
  };
}
