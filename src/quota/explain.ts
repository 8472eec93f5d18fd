/**
 * Explains a decision with all its reasons, as plain data that can be written as JSON.
 *
 * The decision is that of `decide`, and each verdict comes from the functions that `decide` uses, so an
 * explanation cannot contradict the decision.
 */

import { type BoundDetails, boundsAt, judgeOf } from './bounds.ts';
import {
  type DecisionQuestion,
  decide,
  decideByGroups,
  decideFrom,
  groupsAt,
  isEnforced,
  judgingOf,
  reportingStanding,
  type Standing,
  warningQuestion,
  warningStanding,
} from './decide.ts';
import { type Decision, type PrecedenceStep, precedence, type Ruled } from './decision.ts';
import { decidingRule, type Judge, judgedBy, type RuleVerdict } from './judged.ts';
import {
  type BoundScope,
  boundScopes,
  type CompiledRule,
  type QuotaSettings,
  type RuleMode,
  subjectBit,
} from './policy.ts';
import type { Subject } from './subjects.ts';

/** A rule that covers the subject of the question; `rule` is null for that of the built-in group. */
export interface ExplainedRule
  extends Pick<
    Ruled,
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
export interface ExplainedStep {
  readonly step: PrecedenceStep;
  readonly groups: readonly ExplainedGroup[];
}

export interface Explanation {
  readonly subject: Subject;
  readonly settings: Pick<
    QuotaSettings,
    'enabled' | 'refuseWhen' | 'uncovered' | 'precise' | 'mode' | 'totalBytes'
  >;
  /** Bytes about to be added that count: 0 unless `precise`. */
  readonly addingBytes: number;
  /** In the order in which they were checked; none when quotas are switched off. */
  readonly steps: readonly ExplainedStep[];
  /** All bounds, in the order in which they are checked; absent: none. */
  readonly bounds?: readonly ExplainedBound[];
  readonly decision: Decision;
  /** The reasons if all rules in report mode were in force; absent: there are no such rules. */
  readonly reporting?: Reasons;
  /** The reasons if all rules that only warn were in force; absent: there are no such rules. */
  readonly warning?: Reasons;
}

type Reasons = Pick<Explanation, 'bounds' | 'decision' | 'steps'>;

/** Explains the decision that `decide` makes for the same question; throws as `decide` does. */
export function explain(question: DecisionQuestion): Explanation {
  const { settings, standing, subject } = question;
  const { enabled, refuseWhen, uncovered, precise, mode, totalBytes } = settings;
  const isTold = isEnforced(settings);
  const decision = decide(question);
  const asIf = (asked: DecisionQuestion, other: Standing, isOthersTold: boolean) =>
    reasonsFor(asked, other, decideFrom(asked, other, isOthersTold), isOthersTold);
  // For a subject without a covering rule, `uncovered` stays as set, since `decide` has no warnings then.
  const warned = decision.by === 'rule' ? warningQuestion(question) : question;
  return {
    subject,
    settings: { enabled, refuseWhen, uncovered, precise, mode, totalBytes },
    addingBytes: precise ? (question.addingBytes ?? 0) : 0,
    ...reasonsFor(question, standing, decision, isTold),
    ...(standing.reporting === undefined || !enabled
      ? {}
      : { reporting: asIf(question, reportingStanding(standing), false) }),
    ...(standing.warning === undefined || !enabled
      ? {}
      : { warning: asIf(warned, warningStanding(standing), isTold) }),
  };
}

function reasonsFor(
  question: DecisionQuestion,
  standing: Standing,
  decision: Decision,
  isTold: boolean,
): Reasons {
  const isLadder = decision.by !== 'rule' || decision.per === undefined;
  const byGroups = isLadder ? decision : decideByGroups(question, standing, isTold);
  const steps = explainedSteps(question, standing, byGroups, isTold, isLadder);
  if (standing.bounds === undefined || decision.by === 'disabled') return { steps, decision };
  return { steps, bounds: explainedBounds(question, standing, decision, isTold), decision };
}

function explainedSteps(
  question: DecisionQuestion,
  standing: Standing,
  decision: Decision,
  isTold: boolean,
  isDecided: boolean,
): readonly ExplainedStep[] {
  const asked = subjectBit(question.subject);
  const judging = judgingOf(question, standing.graces, isTold);
  const judge: Judge = rule => judgedBy(rule, judging);
  const steps = precedence.slice(0, decision.step === null ? 0 : precedence.indexOf(decision.step) + 1);
  return steps.map(step => ({
    step,
    groups: groupsAt(step, question.settings, standing).map(group => {
      const isDeciding =
        isDecided && decision.by === 'rule' && decision.step === step && decision.group === group.name;
      return {
        group: group.name,
        verdict: decidingRule(group, asked, judge)?.verdict ?? 'no_match',
        rules: group.rules
          .filter(rule => (rule.covers & asked) !== 0)
          .map(rule => explainedRule(rule, judge, isDeciding && rule.name === decision.rule)),
        decided: isDeciding,
      };
    }),
  }));
}

function explainedBounds(
  question: DecisionQuestion,
  standing: Standing,
  decision: Decision,
  isTold: boolean,
): readonly ExplainedBound[] {
  const { bounds, allowance, graces } = standing;
  if (bounds === undefined) return [];
  const judging = judgingOf(question, graces, isTold);
  const explained = (per: BoundScope, step: 'assigned' | 'defaults') =>
    boundsAt(per, bounds[step], question.subject, allowance).flatMap(group =>
      group.rules.map((rule): ExplainedBound => {
        const { judge, detailsOf } = judgeOf(per, group.name, { ...question, judging });
        const isDeciding = decision.per === per && decision.group === group.name;
        const said = explainedRule(rule, judge, isDeciding && decision.rule === rule.name);
        const common = { step, group: group.name, ...said };
        return detailsOf === null
          ? { per, ...common, used: null, headroom: null, verdict: 'not_asked' }
          : { ...common, ...detailsOf(judge(rule)) };
      }),
    );
  return boundScopes.flatMap(per => {
    const own = explained(per, 'assigned');
    return own.length > 0 || per === 'group' ? own : explained(per, 'defaults');
  });
}

function explainedRule(rule: CompiledRule, judge: Judge, decided: boolean): ExplainedRule {
  const { used, reserved, garbage, verdict, grace } = judge(rule);
  return {
    rule: rule.name,
    subjects: rule.subjects,
    used,
    reserved,
    limit: rule.limitBytes,
    ...(rule.allowance === undefined ? {} : { allowance: rule.allowance }),
    ...(garbage === null ? {} : { garbage }),
    headroom: rule.limitBytes === -1 ? null : rule.limitBytes - used,
    ...(grace === null ? {} : { grace }),
    ...(rule.mode === undefined ? {} : { mode: rule.mode }),
    verdict,
    decided,
  };
}
