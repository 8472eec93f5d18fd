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

import { type Grace, type Graces, type RunningGrace, termsOf } from './grace.ts';
import {
  countedAdding,
  type DecidingRule,
  decidingAmong,
  decidingRule,
  type Garbage,
  type Judging,
  judgedBy,
  type ReservedBytes,
} from './judged.ts';
import {
  type ActiveAllowance,
  type BuiltinGroup,
  builtinGroup,
  type CompiledGroup,
  groupsInMode,
  type QuotaSettings,
  type RuleMode,
  raisedGroup,
  subjectBit,
} from './policy.ts';
import { bytesUnder, leafMask, type RuleSubject, type Subject, subjects, type Usage } from './subjects.ts';

interface StandingGroups {
  readonly assigned: readonly CompiledGroup[];
  /** The existing ones of DEFAULT_GROUPS. */
  readonly defaults: readonly CompiledGroup[];
}

export interface Standing extends StandingGroups {
  /** Raises every limit above 0; absent or null: there is none. */
  readonly allowance?: ActiveAllowance | null;
  /** Absent: no limit has a grace. */
  readonly graces?: Graces;
  /** The groups as they would be if their rules in report mode were in force; absent where there are none. */
  readonly reporting?: StandingGroups;
  /** Those groups if their rules that only warn were in force. */
  readonly warning?: StandingGroups;
}

/** Gives the groups of an owner by the modes of their rules. */
export function standingIn(all: StandingGroups): Standing {
  const inMode = (also: RuleMode | null) => ({
    assigned: groupsInMode(all.assigned, also),
    defaults: groupsInMode(all.defaults, also),
  });
  const has = (mode: RuleMode) =>
    [...all.assigned, ...all.defaults].some(({ rules }) => rules.some(rule => rule.mode === mode));
  return {
    ...inMode(null),
    ...(has('report') ? { reporting: inMode('report') } : {}),
    ...(has('warn') ? { warning: inMode('warn') } : {}),
  };
}

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
}

interface Disabled extends NotRuled {
  readonly by: 'disabled';
  readonly allowed: true;
  readonly step: null;
  readonly used: number;
  readonly limit: -1;
  readonly subjects: readonly ['size:all'];
}

export interface Ruled {
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
}

interface RuledAllowed extends Ruled {
  readonly allowed: true;
  /** The decision if all in report mode were in force; absent where that allows, and not by a grace. */
  readonly reported?: Decision;
  /** The refusal by a rule that only warns, if it were in force; absent where there is none. */
  readonly warned?: RuledRefused;
}

export interface RuledRefused extends Ruled {
  readonly allowed: false;
  readonly reported?: never;
  readonly warned?: never;
}

/** No rule covers the subject, and `uncovered` is `deny`. */
interface NoMatch extends NotRuled {
  readonly by: 'no_match';
  readonly allowed: false;
  /** The step whose groups have no rule that covers it. */
  readonly step: PrecedenceStep;
  readonly used: null;
  readonly limit: null;
  readonly subjects: readonly [];
}

export type Decision = Disabled | RuledAllowed | RuledRefused | NoMatch;

export interface DecisionQuestion {
  readonly settings: QuotaSettings;
  readonly standing: Standing;
  readonly usage: Usage;
  readonly subject: Subject;
  /** 0 or more, and 0 unless given. They count only where `settings.precise` says so. */
  readonly addingBytes?: number | undefined;
  readonly reserved?: readonly ReservedBytes[] | null | undefined;
  readonly unreachable?: Usage | null | undefined;
}

/**
 * Decides. The answer depends neither on the order of groups nor on that of rules. Throws `sum_too_large`
 * where the bytes that a covering rule counts pass 2^53 - 1.
 */
export function decide(question: DecisionQuestion): Decision {
  const { settings, standing, usage } = question;
  if (!settings.enabled) {
    const used = bytesUnder(usage, leafMask('size:all'));
    return {
      by: 'disabled',
      allowed: true,
      step: null,
      used,
      limit: -1,
      group: null,
      rule: null,
      subjects: ['size:all'],
    };
  }
  const decision = decideFrom(question, standing, isEnforced(settings));
  const { reporting, warning } = standing;
  const isWhole = reporting === undefined && warning === undefined;
  if (isWhole || !decision.allowed || decision.by !== 'rule') return decision;
  const reported = reporting === undefined ? null : decideFrom(question, reportingStanding(standing), false);
  const warned = warning === undefined ? null : warnedBy(question);
  return {
    ...decision,
    ...(reported === null || (reported.allowed && reported.grace === undefined) ? {} : { reported }),
    ...(warned === null ? {} : { warned }),
  };
}

export function reportingStanding({ reporting, ...standing }: Standing): Standing {
  return reporting === undefined ? standing : { ...standing, ...reporting };
}

export function warningStanding({ warning, ...standing }: Standing): Standing {
  return warning === undefined ? standing : { ...standing, ...warning };
}

/**
 * Tells which rule that only warns would refuse an owner whom the rules in force let through: of the groups
 * that such a rule closes, the one that leaves most. `uncovered` refuses nobody because of a warning.
 */
function warnedBy(question: DecisionQuestion): RuledRefused | null {
  const { settings, subject } = question;
  const standing = warningStanding(question.standing);
  const isTold = isEnforced(settings);
  const { by, allowed, step } = decideFrom(question, standing, isTold);
  if (by !== 'rule' || allowed) return null;
  const asked = subjectBit(subject);
  const judging = judgingOf(question, standing.graces, isTold);
  const closed = groupsAt(step, settings, standing)
    .map(group => ({ ...group, rules: group.rules.filter(({ mode }) => mode === 'warn') }))
    .filter(group => decidingRule(group, asked, judging)?.verdict === 'refuses');
  const deciding = decidingAmong(closed, asked, judging);
  const decision = deciding === null ? null : decisionBy(step, deciding, judging);
  return decision?.by === 'rule' && !decision.allowed ? decision : null;
}

/** Tells whether owners are told what limits refuse, so that their graces run. */
export function isEnforced({ mode }: Pick<QuotaSettings, 'mode'>): boolean {
  return mode === 'enforce';
}

export function judgingOf(question: DecisionQuestion, graces: Graces | undefined, isTold: boolean): Judging {
  const { settings, usage, addingBytes = 0, reserved = null, unreachable = null } = question;
  return { settings, usage, addingBytes, reserved, unreachable, graces, isTold };
}

/** Decides by the groups of a standing alone, whichever the question has. `isTold`: as in `graceOf`. */
export function decideFrom(question: DecisionQuestion, standing: Standing, isTold: boolean): Decision {
  const { settings } = question;
  const asked = subjectBit(question.subject);
  const judging = judgingOf(question, standing.graces, isTold);
  for (const step of precedence) {
    const groups = groupsAt(step, settings, standing);
    const deciding = decidingAmong(groups, asked, judging);
    if (deciding !== null) return decisionBy(step, deciding, judging);
    if (groups.length > 0 && settings.uncovered === 'deny') return noMatch(step);
  }
  // The built-in rule covers every subject; should it ever not, nobody is let through by accident.
  return noMatch('builtin');
}

/** The groups of a step, with allowances on top of their limits; a step without groups is passed over. */
export function groupsAt(
  step: PrecedenceStep,
  settings: QuotaSettings,
  standing: Standing,
): readonly (CompiledGroup | BuiltinGroup)[] {
  const groups = step === 'builtin' ? [builtinGroup(settings.totalBytes)] : standing[step];
  const { allowance } = standing;
  return allowance === undefined || allowance === null
    ? groups
    : groups.map(group => raisedGroup(group, allowance));
}

function decisionBy(step: PrecedenceStep, deciding: DecidingRule, judging: Judging): Decision {
  const { group, rule, used, reserved, garbage, verdict, grace } = deciding;
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
    incoming: countedAdding(judging),
  } as const;
  const raised = rule.allowance === undefined ? plain : { ...plain, allowance: rule.allowance };
  const forgiven = garbage === null ? raised : { ...raised, garbage };
  const common = grace === null ? forgiven : { ...forgiven, grace };
  // The common part comes first: V8 makes an object that begins with a copy in one step.
  return verdict === 'refuses' ? { ...common, allowed: false } : { ...common, allowed: true };
}

/**
 * The highest of the thresholds that an allowed owner's usage reaches, exact also where `used * 100` would
 * not be; null below all of them, and without a limit.
 */
export function reachedThreshold(
  { warnAt }: Pick<QuotaSettings, 'warnAt'>,
  { allowed, used, limit }: Pick<Decision, 'allowed' | 'used' | 'limit'>,
): number | null {
  if (!allowed || used === null || limit === null || limit <= 0) return null;
  const hundredth = Math.floor(limit / 100);
  const rest = limit % 100;
  return warnAt.findLast(percent => used >= hundredth * percent + Math.ceil((rest * percent) / 100)) ?? null;
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
  };
}

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

/** By the name of the rule; null is the built-in one. */
export type PassedLimits = ReadonlyMap<string | null, Pick<RunningGrace, 'isReported'>>;

/**
 * Gives the passed limits that have a grace and decide about anything: a limit beside which another group
 * allows is no news to the owner. Throws `sum_too_large`.
 */
export function passedLimits(
  settings: QuotaSettings,
  standing: Standing,
  usage: Usage,
  unreachable: Usage | null,
): PassedLimits {
  const passed = new Map<string | null, Pick<RunningGrace, 'isReported'>>();
  if (!settings.enabled) return passed;
  const nothing = { reserved: null, addingBytes: 0, graces: undefined, isTold: false };
  const judging = { settings, usage, unreachable, ...nothing };
  const add = (of: Standing, isReported: boolean) => {
    for (const subject of subjects) {
      for (const name of passedFor(of, subject, judging)) {
        if (!passed.has(name)) passed.set(name, { isReported });
      }
    }
  };
  add(standing, !isEnforced(settings));
  if (standing.reporting !== undefined) add(reportingStanding(standing), true);
  return passed;
}

function passedFor(standing: Standing, subject: Subject, judging: Judging): readonly (string | null)[] {
  const { settings } = judging;
  const asked = subjectBit(subject);
  for (const step of precedence) {
    const groups = groupsAt(step, settings, standing);
    const covering = groups
      .map(({ rules }) => rules.filter(rule => (rule.covers & asked) !== 0))
      .filter(rules => rules.length > 0)
      .map(rules => rules.filter(rule => judgedBy(rule, judging).verdict === 'refuses'));
    if (covering.length === 0 && !(groups.length > 0 && settings.uncovered === 'deny')) continue;
    if (covering.some(refusing => refusing.length === 0)) return [];
    return covering.flatMap(refusing =>
      refusing.filter(rule => termsOf(settings, rule) !== null).map(({ name }) => name),
    );
  }
  return [];
}
