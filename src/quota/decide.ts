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

import { askBounds, type BoundJudge, boundJudge } from './bounds.ts';
import {
  type Decision,
  type DecisionQuestion,
  noMatch,
  type PrecedenceStep,
  precedence,
  type RuledRefused,
} from './decision.ts';
import {
  decidingAmong,
  decidingRule,
  decisionBy,
  groupsAt,
  type Judge,
  type Judging,
  judgingOf,
  ownerJudge,
} from './judged.ts';
import type { BoundScope, BuiltinGroup, CompiledGroup, QuotaSettings } from './policy.ts';
import { bytesUnder, leafMask } from './subjects.ts';

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
  const isClosedBy = (group: CompiledGroup | BuiltinGroup, by: Judge) =>
    decidingRule(group, by)?.verdict === 'refuses';
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
