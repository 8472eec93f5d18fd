/**
 * Decides whether an owner may start an action that grows a subject.
 *
 * The owner's groups are checked in steps: the assigned groups, then the default ones, then the built-in one.
 * A rule covers a subject if it names the subject or one above it, and refuses when its headroom
 * (limit - usage) is used up. A group refuses if any covering rule refuses. The owner is allowed if one group
 * of the step allows. A step without a covering rule does not decide.
 *
 * So the covering rule with the least headroom decides for its group, and the group with the most headroom
 * decides for the owner. The decision names this one rule.
 */

import { askBounds, type BoundDetails, type BoundedThings, type BoundGroups } from './bounds.ts';
import {
  type Decision,
  type NoMatch,
  type PrecedenceStep,
  precedence,
  type RuledAllowed,
  type RuledRefused,
} from './decision.ts';
import { type Graces, type RunningGrace, termsOf } from './grace.ts';
import {
  countedAdding,
  type DecidingRule,
  decidingAmong,
  type Judge,
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
  groupsWith,
  isOfIncoming,
  type QuotaSettings,
  type RuleMode,
  raisedGroup,
  subjectBit,
} from './policy.ts';
import { bytesUnder, leafMask, type Subject, subjects, type Usage } from './subjects.ts';

interface StandingGroups {
  readonly assigned: readonly CompiledGroup[];
  /** The existing ones of DEFAULT_GROUPS. */
  readonly defaults: readonly CompiledGroup[];
  /** The bounds of both; then the groups above are without them. Absent: there are no bounds. */
  readonly bounds?: BoundGroups;
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

/** Separates the rules of an owner's groups by their modes, and separates bounds from other rules. */
export function standingIn(all: BoundGroups): Standing {
  const rules = [...all.assigned, ...all.defaults].flatMap(group => group.rules);
  const hasBounds = rules.some(({ per }) => per !== undefined);
  const inMode = (also: RuleMode | null): StandingGroups => {
    const [assigned, defaults] = [groupsInMode(all.assigned, also), groupsInMode(all.defaults, also)];
    if (!hasBounds) return { assigned, defaults };
    const only = (groups: readonly CompiledGroup[], isBound: boolean) =>
      groupsWith(groups, ({ per }) => (per !== undefined) === isBound);
    return {
      assigned: only(assigned, false),
      defaults: only(defaults, false),
      bounds: { assigned: only(assigned, true), defaults: only(defaults, true) },
    };
  };
  const has = (mode: RuleMode) => rules.some(rule => rule.mode === mode);
  return {
    ...inMode(null),
    ...(has('report') ? { reporting: inMode('report') } : {}),
    ...(has('warn') ? { warning: inMode('warn') } : {}),
  };
}

export interface DecisionQuestion extends BoundedThings {
  readonly settings: QuotaSettings;
  readonly standing: Standing;
  readonly usage: Usage;
  readonly subject: Subject;
  /** 0 or more; default: 0. Counts only if `settings.precise` is set. */
  readonly addingBytes?: number | undefined;
  readonly reserved?: readonly ReservedBytes[] | null | undefined;
  readonly unreachable?: Usage | null | undefined;
}

/**
 * Decides a question. The order of groups and rules does not matter. Throws `sum_too_large` if the bytes that
 * a covering rule counts pass 2^53 - 1.
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
    ...(reported === null || reported.allowed ? {} : { reported }),
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
 * Returns the refusal by a rule that only warns, for an action that the rules in force allow: that of the
 * most generous group that refuses only because of such rules, or else that of a bound. `uncovered` refuses
 * nothing here.
 */
function warnedBy(asked: DecisionQuestion): RuledRefused | null {
  const question = warningQuestion(asked);
  const standing = warningStanding(question.standing);
  return warnedByGroups(question, standing) ?? warnedByBounds(question, standing);
}

export function warningQuestion(asked: DecisionQuestion): DecisionQuestion {
  return { ...asked, settings: { ...asked.settings, uncovered: 'default' } };
}

function warnedByGroups(question: DecisionQuestion, standing: Standing): RuledRefused | null {
  const { settings, subject } = question;
  const isTold = isEnforced(settings);
  const { by, allowed, step } = decideByGroups(question, standing, isTold);
  if (by !== 'rule' || allowed) return null;
  const asked = subjectBit(subject);
  const judging = judgingOf(question, standing.graces, isTold);
  const judge: Judge = rule => judgedBy(rule, judging);
  const closed = closedByWarning(
    groupsAt(step, settings, standing),
    groups => decidingAmong(groups, asked, judge)?.verdict === 'refuses',
  );
  const deciding = decidingAmong(closed, asked, judge);
  const decision = deciding === null ? null : decisionBy(step, deciding, countedAdding(judging));
  return decision === null || decision.allowed ? null : decision;
}

/** Returns the groups that refuse only because of rules that warn, with only these rules. */
function closedByWarning<Group extends CompiledGroup | BuiltinGroup>(
  groups: readonly Group[],
  refuse: (groups: readonly Group[]) => boolean,
): readonly Group[] {
  const warning = (group: Group, isWarning: boolean) =>
    groupsWith([group], ({ mode }) => (mode === 'warn') === isWarning);
  return groups
    .filter(group => refuse(warning(group, true)) && !refuse(warning(group, false)))
    .flatMap(group => warning(group, true));
}

/** Returns the refusal by a bound that only warns. A bound in force does not warn, even if it is stricter. */
export function warnedByBounds(question: DecisionQuestion, standing: Standing): RuledRefused | null {
  const { bounds } = standing;
  const ask = (asked: BoundGroups | undefined) =>
    asked === undefined
      ? null
      : boundsOf(question, { ...standing, bounds: asked }, isEnforced(question.settings)).refused;
  const refused = ask(bounds);
  if (bounds === undefined || refused === null || refused.per === 'group') return refused;
  const step = refused.step === 'defaults' ? 'defaults' : 'assigned';
  const askAmong = (groups: readonly CompiledGroup[]) => ask({ assigned: [], defaults: [], [step]: groups });
  const ofIt = groupsWith(bounds[step], ({ per }) => per === refused.per);
  return askAmong(closedByWarning(ofIt, groups => askAmong(groups) !== null));
}

/** Tells whether refusals take effect. Then owners see them, and their graces run. */
export function isEnforced({ mode }: Pick<QuotaSettings, 'mode'>): boolean {
  return mode === 'enforce';
}

export function judgingOf(question: DecisionQuestion, graces: Graces | undefined, isTold: boolean): Judging {
  const { settings, usage, addingBytes = 0, reserved = null, unreachable = null } = question;
  return { settings, usage, addingBytes, reserved, unreachable, graces, isTold };
}

/**
 * Decides by the groups and bounds of `standing`, and ignores those of the question. `isTold`: see `graceOf`.
 */
export function decideFrom(question: DecisionQuestion, standing: Standing, isTold: boolean): Decision {
  const decision = decideByGroups(question, standing, isTold);
  const { bounds } = standing;
  if (bounds === undefined || !decision.allowed || decision.by !== 'rule') return decision;
  const { refused, near, unasked } = boundsOf(question, standing, isTold);
  if (refused !== null) return refused;
  return {
    ...decision,
    ...(near.length === 0 ? {} : { near }),
    ...(unasked.length === 0 ? {} : { unasked }),
  };
}

export function decideByGroups(question: DecisionQuestion, standing: Standing, isTold: boolean): Decision {
  const { settings } = question;
  const asked = subjectBit(question.subject);
  const judging = judgingOf(question, standing.graces, isTold);
  const judge: Judge = rule => judgedBy(rule, judging);
  for (const step of precedence) {
    const groups = groupsAt(step, settings, standing);
    const deciding = decidingAmong(groups, asked, judge);
    if (deciding !== null) return decisionBy(step, deciding, countedAdding(judging));
    if (groups.length > 0 && settings.uncovered === 'deny') return noMatch(step);
  }
  // Not reached, since the built-in rule covers every subject. A refusal is the safe answer.
  return noMatch('builtin');
}

export function boundsOf(
  question: DecisionQuestion,
  { bounds, allowance, graces }: Standing,
  isTold: boolean,
) {
  const none = { assigned: [], defaults: [] };
  const judging = judgingOf(question, graces, isTold);
  const { asked, unasked } = askBounds({ ...question, bounds: bounds ?? none, allowance, judging });
  let refused: RuledRefused | null = null;
  const near: RuledAllowed[] = [];
  const decisions = asked.map(({ step, deciding, details }) =>
    decisionBy(step, deciding, isOfIncoming(details) ? 0 : countedAdding(judging), details),
  );
  for (const decision of decisions) {
    const isNear = () =>
      decision.grace !== undefined || reachedThreshold(question.settings, decision) !== null;
    if (!decision.allowed) refused ??= decision;
    else if (isNear()) near.push(decision);
  }
  return { decisions, refused, near, unasked };
}

/** Returns the groups of a step, with the owner's allowance added to their limits. */
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

export function decisionBy(
  step: PrecedenceStep,
  deciding: DecidingRule,
  incoming: number,
  details: BoundDetails | null = null,
): RuledAllowed | RuledRefused {
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
    incoming,
    ...(rule.warnAt === undefined ? {} : { warnAt: rule.warnAt }),
  } as const;
  const raised = rule.allowance === undefined ? plain : { ...plain, allowance: rule.allowance };
  const forgiven = garbage === null ? raised : { ...raised, garbage };
  const graced = grace === null ? forgiven : { ...forgiven, grace };
  const common = details === null ? graced : { ...graced, ...details };
  // The copied part comes first, since V8 creates an object faster that begins with a copy.
  return verdict === 'refuses' ? { ...common, allowed: false } : { ...common, allowed: true };
}

/**
 * Returns the highest threshold, in percent, that the usage of an allowed owner reaches; null: none, or there
 * is no limit. Exact, even if `used * 100` would pass 2^53.
 */
export function reachedThreshold(
  settings: Pick<QuotaSettings, 'warnAt'>,
  { allowed, used, limit, warnAt = settings.warnAt }: Pick<Decision, 'allowed' | 'used' | 'limit' | 'warnAt'>,
): number | null {
  if (!allowed || used === null || limit === null || limit <= 0) return null;
  const hundredth = Math.floor(limit / 100);
  const rest = limit % 100;
  return warnAt.findLast(percent => used >= hundredth * percent + Math.ceil((rest * percent) / 100)) ?? null;
}

function noMatch(step: PrecedenceStep): NoMatch {
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

/** The passed limits by the name of the rule; null is the built-in one. */
export type PassedLimits = ReadonlyMap<string | null, Pick<RunningGrace, 'isReported'>>;

/**
 * Returns the passed limits that have a grace. Leaves out limits that decide nothing because another group
 * allows. Throws `sum_too_large`.
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
