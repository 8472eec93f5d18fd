/**
 * Explains a decision with all its reasons, as plain data that can be written as JSON.
 *
 * The decision is that of `decide`, and each verdict comes from the functions that `decide` uses, so an
 * explanation cannot contradict the decision.
 */

import { given } from '../given.ts';
import {
  boundJudge,
  decide,
  decideByGroups,
  decideFrom,
  reportingJudging,
  warningJudging,
} from './decide.ts';
import {
  type BoundDetails,
  type Decision,
  type DecisionQuestion,
  type PrecedenceStep,
  precedence,
  type RuledAllowed,
} from './decision.ts';
import {
  type CountedRule,
  concerns,
  countedAdding,
  decidingRule,
  groupsAt,
  type Judging,
  judgedBy,
  judgingOf,
  ownerJudge,
  type RuleVerdict,
  raisedGroups,
} from './judged.ts';
import { type BoundScope, boundScopes, hasBounds, type RuleMode } from './policy.ts';

/** A rule that covers the subject of the question; `rule` is null for that of the built-in group. */
interface ExplainedRule
  extends Pick<
    RuledAllowed,
    'allowance' | 'garbage' | 'grace' | 'limit' | 'reserved' | 'rule' | 'subjects' | 'used'
  > {
  /**
   * limit - used, below 0 when over; null: unlimited. A limit of 0 counts as less than any other headroom.
   */
  readonly headroom: number | null;
  readonly mode?: RuleMode;
  /** `graced`: the limit is passed, and its grace allows that. */
  readonly verdict: RuleVerdict;
  readonly decided: boolean;
}

export interface ExplainedGroup {
  readonly group: string | null;
  /** `no_match`: no rule of the group covers the subject. */
  readonly verdict: RuleVerdict | 'no_match';
  /** The rules that cover the subject, in the order of the group. */
  readonly rules: readonly ExplainedRule[];
  readonly decided: boolean;
}

/** A bound that applies to the owner and covers the subject. */
export interface ExplainedBound
  extends Omit<ExplainedRule, 'headroom' | 'used' | 'verdict'>,
    Omit<BoundDetails, 'per'> {
  readonly per: BoundScope;
  readonly step: 'assigned' | 'defaults';
  readonly group: string;
  /** Null, and `headroom` too, if the question does not have the repository, push or file. */
  readonly used: number | null;
  readonly headroom: number | null;
  readonly verdict: RuleVerdict | 'not_asked';
}

/** A step that was reached. The last one decided; those before it had no groups, or no covering rule. */
interface ExplainedStep {
  readonly step: PrecedenceStep;
  readonly groups: readonly ExplainedGroup[];
}

interface Reasons {
  /** In the order in which they were checked; none when quotas are switched off. */
  readonly steps: readonly ExplainedStep[];
  /** All bounds, in the order in which they are checked; absent: none. */
  readonly bounds?: readonly ExplainedBound[];
  readonly decision: Decision;
}

export interface Explanation extends Reasons {
  /** Bytes about to be added that count: 0 unless `precise`. */
  readonly addingBytes: number;
  /** The reasons if all rules in report mode were in force; absent: there are no such rules. */
  readonly reporting?: Reasons;
  /** The reasons if all rules that only warn were in force; absent: there are no such rules. */
  readonly warning?: Reasons;
}

/** Explains the decision that `decide` makes for the same question; throws as `decide` does. */
export function explain(question: DecisionQuestion): Explanation {
  const { standing } = question;
  const { enabled, uncovered } = question.settings;
  const decision = decide(question);
  const asIf = (judging: Judging) => reasonsFor(judging, decideFrom(judging));
  const judging = judgingOf(question);
  return {
    addingBytes: countedAdding(judging),
    ...reasonsFor(judging, decision),
    ...(standing.reporting === undefined || !enabled ? {} : { reporting: asIf(reportingJudging(question)) }),
    // For a subject without a covering rule, `uncovered` stays as set, since `decide` has no warnings then.
    ...(standing.warning === undefined || !enabled
      ? {}
      : { warning: asIf(warningJudging(question, decision.by === 'rule' ? 'default' : uncovered)) }),
  };
}

function reasonsFor(judging: Judging, decision: Decision): Reasons {
  const isByBound = decision.by === 'rule' && decision.per !== undefined;
  const byGroups = isByBound ? decideByGroups(judging) : decision;
  const steps = explainedSteps(judging, byGroups, !isByBound);
  if (!hasBounds(judging.standing, boundScopes) || decision.by === 'disabled') return { steps, decision };
  return { steps, bounds: explainedBounds(judging, decision), decision };
}

function explainedSteps(judging: Judging, decision: Decision, isDecided: boolean): readonly ExplainedStep[] {
  const judge = ownerJudge(judging);
  const steps = precedence.slice(0, decision.step === null ? 0 : precedence.indexOf(decision.step) + 1);
  return steps.map(step => ({
    step,
    groups: groupsAt(step, judging).map(group => {
      const isDeciding =
        isDecided && decision.by === 'rule' && decision.step === step && decision.group === group.name;
      return {
        group: group.name,
        verdict: decidingRule(group, judge)?.verdict ?? 'no_match',
        rules: group.rules
          .filter(rule => concerns(rule, judging))
          .map(rule => explainedRule(judgedBy(rule, judging), isDeciding && rule.name === decision.rule)),
        decided: isDeciding,
      };
    }),
  }));
}

function explainedBounds(judging: Judging, decision: Decision): readonly ExplainedBound[] {
  const { standing } = judging;
  const explained = (per: BoundScope, step: 'assigned' | 'defaults') =>
    raisedGroups(standing[step], standing).flatMap(group => {
      const rules = group.rules.filter(rule => concerns(rule, judging, per));
      if (rules.length === 0) return [];
      const { judged, detailsOf } = boundJudge(per, group.name, judging);
      return rules.map((rule): ExplainedBound => {
        const isDeciding = decision.per === per && decision.group === group.name;
        const counted = judged(rule);
        const said = explainedRule(counted, isDeciding && decision.rule === rule.name);
        const common = { step, group: group.name, ...said };
        return detailsOf === null
          ? { per, ...common, used: null, headroom: null, verdict: 'not_asked' }
          : { ...common, ...detailsOf(counted) };
      });
    });
  return boundScopes.flatMap(per => {
    const own = explained(per, 'assigned');
    return own.length > 0 || per === 'group' ? own : explained(per, 'defaults');
  });
}

function explainedRule(counted: CountedRule, decided: boolean): ExplainedRule {
  const { rule, used, reserved, garbage, verdict, grace } = counted;
  return {
    rule: rule.name,
    subjects: rule.subjects,
    used,
    reserved,
    limit: rule.limitBytes,
    ...given({ allowance: rule.allowance, garbage }),
    headroom: rule.limitBytes === -1 ? null : rule.limitBytes - used,
    ...given({ grace, mode: rule.mode }),
    verdict,
    decided,
  };
}
