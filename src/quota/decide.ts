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
 *
 * Bounds are the limits of a group's members together, of a repository, of a push and of a file. They are
 * checked after the groups have allowed an action, and can only refuse it; the first one that refuses is the
 * decision. A group's bound applies to each of its members, whatever their other groups allow. For the other
 * three kinds, the first step with such a rule for the subject decides: the owner's groups, or else the
 * default ones. The strictest rule of a group decides for the group, and the most generous group of the step
 * decides. So a bound of a default group applies to all owners without such a bound in their own groups.
 */

import {
  type BoundDetails,
  type Decision,
  type DecisionQuestion,
  type Incoming,
  noMatch,
  type PrecedenceStep,
  precedence,
  type RuledAllowed,
  type RuledRefused,
  type Stored,
} from './decision.ts';
import {
  byStrictness,
  bytesWithReserved,
  type CountedRule,
  concerns,
  type DecidingRule,
  decidingAmong,
  decidingRule,
  decisionBy,
  groupsAt,
  type Judge,
  type Judging,
  judgedBy,
  judgingOf,
  ownerJudge,
  raisedGroups,
  reachedThreshold,
} from './judged.ts';
import type { BoundScope, CompiledRule, JudgedGroup, QuotaSettings, Standing } from './policy.ts';
import { bytesUnder, leafMask, noUsage, type Subject } from './subjects.ts';

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
  const decision = decideFrom(judgingOf(question));
  const { reporting, warning } = standing;
  const isWhole = reporting === undefined && warning === undefined;
  if (isWhole || !decision.allowed || decision.by !== 'rule') return decision;
  const reported = reporting === undefined ? null : decideFrom(reportingJudging(question));
  const warned = warning === undefined ? null : warnedBy(warningJudging(question));
  return {
    ...decision,
    ...(reported === null || reported.allowed ? {} : { reported }),
    ...(warned === null ? {} : { warned }),
  };
}

/** Returns the question as if the rules in report mode were in force. */
export function reportingJudging(question: DecisionQuestion): Judging {
  const { standing } = question;
  return judgingOf(question, { ...standing, ...standing.reporting }, false);
}

/**
 * Returns the question as if the rules that only warn were in force. Subjects that no rule covers are not
 * refused then, unless `uncovered` says so.
 */
export function warningJudging(
  question: DecisionQuestion,
  uncovered: QuotaSettings['uncovered'] = 'default',
): Judging {
  const { standing, settings } = question;
  return judgingOf(
    { ...question, settings: { ...settings, uncovered } },
    { ...standing, ...standing.warning },
  );
}

/**
 * Returns the refusal by a rule that only warns, for an action that the rules in force allow: that of the
 * most generous group that refuses only because of such rules, or else that of a bound.
 */
function warnedBy(judging: Judging): RuledRefused | null {
  const { by, allowed, step } = decideByGroups(judging);
  const byGroups = by === 'rule' && !allowed ? refusedByWarning(step, judging, ownerJudge(judging)) : null;
  return byGroups ?? warnedByBounds(judging);
}

/** Returns the refusal by a bound that only warns. A bound in force does not warn, even if it is stricter. */
export function warnedByBounds(judging: Judging, scopes?: readonly BoundScope[]): RuledRefused | null {
  const { refused } = askBounds(judging, scopes);
  if (refused?.per === undefined || refused.per === 'group') return refused;
  const { judge, detailsOf } = boundJudge(refused.per, null, judging);
  return refusedByWarning(refused.step, judging, judge, detailsOf);
}

/** Returns the refusal by the most generous group of a step that refuses only because of rules that warn. */
function refusedByWarning(
  step: PrecedenceStep,
  judging: Judging,
  judge: Judge,
  detailsOf: BoundJudge['detailsOf'] = null,
): RuledRefused | null {
  const warning: Judge = rule => (rule.mode === 'warn' ? judge(rule) : null);
  const others: Judge = rule => (rule.mode === 'warn' ? null : judge(rule));
  const isClosedBy = (group: JudgedGroup, by: Judge) => decidingRule(group, by)?.verdict === 'refuses';
  const closed = groupsAt(step, judging).filter(
    group => isClosedBy(group, warning) && !isClosedBy(group, others),
  );
  const deciding = decidingAmong(closed, warning);
  const decision = deciding && decisionBy(step, deciding, judging, detailsOf?.(deciding));
  return decision === null || decision.allowed ? null : decision;
}

/** Decides by the groups and bounds of `judging.standing`; its groups for other modes are ignored. */
export function decideFrom(judging: Judging): Decision {
  const decision = decideByGroups(judging);
  if (judging.standing.scopes === undefined || !decision.allowed || decision.by !== 'rule') return decision;
  const { refused, near, unasked } = askBounds(judging);
  if (refused !== null) return refused;
  if (near.length === 0 && unasked.length === 0) return decision;
  return {
    ...decision,
    ...(near.length === 0 ? {} : { near }),
    ...(unasked.length === 0 ? {} : { unasked }),
  };
}

export function decideByGroups(judging: Judging): Decision {
  const judge = ownerJudge(judging);
  for (const step of precedence) {
    const groups = groupsAt(step, judging);
    const deciding = decidingAmong(groups, judge);
    if (deciding !== null) return decisionBy(step, deciding, judging);
    if (groups.length > 0 && judging.settings.uncovered === 'deny') return noMatch(step);
  }
  // Not reached, since the built-in rule covers every subject. A refusal is the safe answer.
  return noMatch('builtin');
}

type RuledDecision = RuledAllowed | RuledRefused;

/** The steps that have bounds. */
const boundSteps = ['assigned', 'defaults'] as const;

interface BoundAnswers {
  /** In the order of the checks, up to the first that refuses. */
  readonly decisions: readonly RuledDecision[];
  /** The last of `decisions` if it refuses. */
  readonly refused: RuledRefused | null;
  /** Those with a running grace or a reached threshold. */
  readonly near: readonly RuledAllowed[];
  /** Bounds that apply, but could not be checked because the thing that they limit is unknown. */
  readonly unasked: readonly BoundScope[];
}

/** Checks the bounds of these scopes until one of them refuses. */
export function askBounds(judging: Judging, scopes = judging.standing.scopes ?? []): BoundAnswers {
  const decisions: RuledDecision[] = [];
  const near: RuledAllowed[] = [];
  const unasked: BoundScope[] = [];
  for (const per of scopes) {
    const found = per === 'group' ? poolsOf(judging) : boundOf(per, judging);
    if (found === 'unknown') unasked.push(per);
    for (const decision of found === 'unknown' ? [] : found) {
      decisions.push(decision);
      if (!decision.allowed) return { decisions, refused: decision, near, unasked };
      if (decision.grace !== undefined || reachedThreshold(judging.settings, decision) !== null)
        near.push(decision);
    }
  }
  return { decisions, refused: null, near, unasked };
}

/** Checks the bounds of an owner's groups, the strictest first. */
function poolsOf(judging: Judging): readonly RuledDecision[] | 'unknown' {
  const { standing } = judging;
  const found: { readonly deciding: DecidingRule; readonly details: BoundDetails }[] = [];
  for (const group of raisedGroups(standing.assigned, standing)) {
    // Adding up the members of a group takes time, so it is done only for a rule that needs it.
    if (!group.rules.some(rule => concerns(rule, judging, 'group'))) continue;
    const { judge, detailsOf } = boundJudge('group', group.name, judging);
    const deciding = decidingRule(group, judge);
    if (deciding === null) continue;
    if (detailsOf === null) return 'unknown';
    found.push({ deciding, details: detailsOf(deciding) });
  }
  return found
    .sort((a, b) => byStrictness(a.deciding, b.deciding))
    .map(({ deciding, details }) => decisionBy('assigned', deciding, judging, details));
}

/** Checks the bound of the first step that has one. `unknown`: the thing that it limits is unknown. */
function boundOf(per: BoundScope, judging: Judging): readonly RuledDecision[] | 'unknown' {
  const { judge, detailsOf } = boundJudge(per, null, judging);
  for (const step of boundSteps) {
    const deciding = decidingAmong(raisedGroups(judging.standing[step], judging.standing), judge);
    if (deciding === null) continue;
    if (detailsOf !== null) return [decisionBy(step, deciding, judging, detailsOf(deciding))];
    return deciding.rule.limitBytes === -1 ? [] : 'unknown';
  }
  return [];
}

interface BoundJudge {
  readonly judge: Judge;
  /** Judges by any rule, also one that is not about the question. */
  readonly judged: (rule: CompiledRule) => CountedRule;
  /** Null: the thing that the bound limits is unknown. */
  readonly detailsOf: ((counted: CountedRule) => BoundDetails) | null;
}

/** Returns the judge for bounds of one kind. `group` names the group of a bound of members together. */
export function boundJudge(per: BoundScope, group: string | null, judging: Judging): BoundJudge {
  const { pools, repository, incoming } = judging;
  const made = (judged: BoundJudge['judged'], detailsOf: BoundJudge['detailsOf']): BoundJudge => ({
    judge: rule => (concerns(rule, judging, per) ? judged(rule) : null),
    judged,
    detailsOf,
  });
  const judgeStored = (stored: Stored | undefined): BoundJudge['judged'] => {
    // The owner's graces belong to other limits.
    const own = { ...judging, graces: undefined, ...(stored ?? nothingStored) };
    return rule => judgedBy(rule, own);
  };
  if (per === 'group') {
    const pool = group === null ? undefined : pools?.(group);
    const share = (counted: CountedRule) =>
      Math.min(bytesWithReserved(judging, counted.rule.counts), counted.used);
    return made(judgeStored(pool), pool === undefined ? null : counted => ({ per, share: share(counted) }));
  }
  if (per === 'repository') {
    const { name, ...stored } = repository ?? nothingStored;
    return made(judgeStored(stored), name === undefined ? null : () => ({ per, unit: name }));
  }
  const largest = incoming?.largest ?? null;
  const bytes = (per === 'push' ? incoming?.bytes : largest?.bytes) ?? null;
  const details = per === 'file' && largest !== null ? { per, file: largest } : { per };
  return made(rule => judgedByIncoming(rule, bytes ?? 0), bytes === null ? null : () => details);
}

/** Judges by a rule that limits incoming bytes. */
function judgedByIncoming(rule: CompiledRule, bytes: number): CountedRule {
  const headroom = rule.limitBytes === -1 ? Number.POSITIVE_INFINITY : rule.limitBytes - bytes;
  const verdict = headroom < 0 ? 'refuses' : 'allows';
  return { rule, used: bytes, reserved: 0, garbage: null, headroom, verdict, grace: null };
}

const nothingStored: Stored & { readonly name?: string } = {
  usage: noUsage,
  reserved: null,
  unreachable: null,
};

interface OwnerPolicy {
  readonly settings: QuotaSettings;
  readonly standing: Standing;
}

/** Decides about incoming data by the bounds of a push and of a file, whatever is stored. */
export function decideIncoming(
  { settings, standing }: OwnerPolicy,
  subject: Subject,
  incoming: Incoming,
): Pick<BoundAnswers, 'refused' | 'unasked'> {
  if (!settings.enabled || standing.scopes === undefined) return { refused: null, unasked: [] };
  const question: DecisionQuestion = { settings, standing, subject, incoming, usage: noUsage };
  return askBounds(judgingOf(question), ['push', 'file']);
}

/**
 * Returns the size above which an incoming file may matter to a rule, in force or not; null: no rule limits
 * files.
 */
export function leastFileBytes({ settings, standing }: OwnerPolicy, subject: Subject): number | null {
  if (!settings.enabled) return null;
  const judging = judgingOf({ settings, standing, subject, usage: noUsage });
  const groups = [standing, standing.reporting, standing.warning].flatMap(each =>
    each === undefined ? [] : [...each.assigned, ...each.defaults],
  );
  const limits = groups
    .flatMap(({ rules }) => rules)
    .filter(rule => concerns(rule, judging, 'file') && rule.limitBytes !== -1);
  if (limits.length === 0) return null;
  // The least size that reaches a threshold of the rule.
  const reached = limits.map(({ limitBytes, warnAt = settings.warnAt }) =>
    Math.ceil((limitBytes / 100) * Math.min(100, ...warnAt)),
  );
  return Math.max(0, Math.min(...reached) - 1);
}
