/**
 * The whole reasoning of a decision, as plain data that survives JSON.
 *
 * The decision is `decide`'s own, and every verdict beside it comes from the functions that `decide`
 * uses: an explanation cannot tell another story than the answer.
 */

import {
  type Decision,
  type DecisionQuestion,
  decide,
  decideFrom,
  groupsAt,
  isEnforced,
  judgingOf,
  type PrecedenceStep,
  precedence,
  type Ruled,
  reportingStanding,
  type Standing,
  warningStanding,
} from './decide.ts';
import { decidingRule, type Judging, judgedBy, type RuleVerdict } from './judged.ts';
import { type CompiledRule, type QuotaSettings, type RuleMode, subjectBit } from './policy.ts';
import type { Subject } from './subjects.ts';

/** A rule that covers the asked subject; `rule` is null for that of the built-in group. */
export interface ExplainedRule
  extends Pick<
    Ruled,
    'allowance' | 'garbage' | 'grace' | 'limit' | 'reserved' | 'rule' | 'subjects' | 'used'
  > {
  /** limit - used, below 0 when over; null: endless. At limit 0 it ranks below any other. */
  readonly headroom: number | null;
  readonly mode?: RuleMode;
  /** `graced`: the limit is passed, and its grace lets it through. */
  readonly verdict: RuleVerdict;
  readonly decided: boolean;
}

export interface ExplainedGroup {
  readonly group: string | null;
  /** `no_match`: no rule of it covers the subject. */
  readonly verdict: RuleVerdict | 'no_match';
  /** Those that cover the subject, as the group has them. */
  readonly rules: readonly ExplainedRule[];
  readonly decided: boolean;
}

/** A step that was reached: the last answered, those before it had no rule that covers it, or no groups. */
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
  /** Bytes about to be added, as far as they count: 0 unless `precise`. */
  readonly addingBytes: number;
  /** In the order in which they were asked; none when quotas are switched off. */
  readonly steps: readonly ExplainedStep[];
  readonly decision: Decision;
  /** Decision and steps if everything in report mode were in force; absent if nothing is in report mode. */
  readonly reporting?: Pick<Explanation, 'decision' | 'steps'>;
  /** Those if all that only warns were in force; absent if nothing only warns. */
  readonly warning?: Pick<Explanation, 'decision' | 'steps'>;
}

/** Explains what `decide` answers to the same question; throws as it does. */
export function explain(question: DecisionQuestion): Explanation {
  const { settings, standing, subject } = question;
  const { enabled, refuseWhen, uncovered, precise, mode, totalBytes } = settings;
  const decision = decide(question);
  const asIf = (other: Standing, isTold: boolean) => {
    const otherwise = decideFrom(question, other, isTold);
    return { steps: explainedSteps(question, other, otherwise, isTold), decision: otherwise };
  };
  return {
    subject,
    settings: { enabled, refuseWhen, uncovered, precise, mode, totalBytes },
    addingBytes: precise ? (question.addingBytes ?? 0) : 0,
    steps: explainedSteps(question, standing, decision, isEnforced(settings)),
    decision,
    ...(standing.reporting === undefined || !enabled
      ? {}
      : { reporting: asIf(reportingStanding(standing), false) }),
    ...(standing.warning === undefined || !enabled
      ? {}
      : { warning: asIf(warningStanding(standing), isEnforced(settings)) }),
  };
}

function explainedSteps(
  question: DecisionQuestion,
  standing: Standing,
  decision: Decision,
  isTold: boolean,
): readonly ExplainedStep[] {
  const asked = subjectBit(question.subject);
  const judging = judgingOf(question, standing.graces, isTold);
  const steps = precedence.slice(0, decision.step === null ? 0 : precedence.indexOf(decision.step) + 1);
  return steps.map(step => ({
    step,
    groups: groupsAt(step, question.settings, standing).map(group => {
      const decided = decision.by === 'rule' && decision.step === step && decision.group === group.name;
      return {
        group: group.name,
        verdict: decidingRule(group, asked, judging)?.verdict ?? 'no_match',
        rules: group.rules
          .filter(rule => (rule.covers & asked) !== 0)
          .map(rule => explainedRule(rule, judging, decided && rule.name === decision.rule)),
        decided,
      };
    }),
  }));
}

function explainedRule(rule: CompiledRule, judging: Judging, decided: boolean): ExplainedRule {
  const { used, reserved, garbage, verdict, grace } = judgedBy(rule, judging);
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
