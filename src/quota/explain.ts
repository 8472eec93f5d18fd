/**
 * The whole reasoning of a decision, as plain data that survives JSON.
 *
 * The decision is `decide`'s own, and every verdict beside it comes from the functions that `decide`
 * uses: an explanation cannot tell another story than the answer.
 */

import type { Load } from './counted.ts';
import {
  type Decision,
  type DecisionQuestion,
  decide,
  decideFrom,
  groupsAt,
  isEnforced,
  type PrecedenceStep,
  precedence,
  reportingStanding,
  type Standing,
} from './decide.ts';
import type { Garbage } from './garbage.ts';
import type { Grace } from './grace.ts';
import { decidingRule, judgedBy, type RuleVerdict } from './judged.ts';
import {
  type ActiveAllowance,
  type BuiltinGroup,
  type CompiledGroup,
  type CompiledRule,
  subjectBit,
} from './policy.ts';
import type { QuotaSettings } from './settings.ts';
import type { RuleSubject, Subject } from './subjects.ts';

/** A rule that covers the asked subject. */
export interface ExplainedRule {
  /** Null for the built-in group's. */
  readonly rule: string | null;
  readonly subjects: readonly RuleSubject[];
  /** The bytes that it counts, with those reserved, without those forgiven. */
  readonly used: number;
  /** Those of them that are reserved, and not measured yet. */
  readonly reserved: number;
  /** With the allowance; -1: unlimited. */
  readonly limit: number;
  /** The part of `limit` that the owner's allowances add; absent where they add nothing. */
  readonly allowance?: ActiveAllowance;
  /** The unreachable ones of the stored bytes; absent where they are not forgiven, or there are none. */
  readonly garbage?: Garbage;
  /** limit - used, below 0 when over; null: endless. At limit 0 it ranks below any other. */
  readonly headroom: number | null;
  /** Grace of a passed limit, as in a decision. */
  readonly grace?: Grace;
  /** It is in report mode. */
  readonly mode?: 'report';
  /** `graced`: the limit is passed, and its grace lets it through. */
  readonly verdict: RuleVerdict;
  /** It is the one that decided. */
  readonly decided: boolean;
}

export interface ExplainedGroup {
  /** Null for the built-in one. */
  readonly group: string | null;
  /** `no_match`: no rule of it covers the subject. */
  readonly verdict: RuleVerdict | 'no_match';
  /** Those that cover the subject, as the group has them. */
  readonly rules: readonly ExplainedRule[];
  /** It has the rule that decided. */
  readonly decided: boolean;
}

/**
 * A step that was reached: the last one answered, those before it had no rule that covers it, or no groups.
 */
export interface ExplainedStep {
  readonly step: PrecedenceStep;
  readonly groups: readonly ExplainedGroup[];
}

export interface Explanation {
  readonly subject: Subject;
  /** The settings that affect the answer. */
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
}

/** Explains what `decide` answers to the same question; throws as it does. */
export function explain(question: DecisionQuestion): Explanation {
  const {
    settings,
    standing,
    usage,
    subject,
    addingBytes = 0,
    reserved = null,
    unreachable = null,
  } = question;
  const { enabled, refuseWhen, uncovered, precise, mode, totalBytes } = settings;
  const load = { usage, reserved, unreachable, addingBytes };
  const decision = decide(question);
  const asIf = reportingStanding(standing);
  const reported = decision.reported ?? decideFrom(settings, asIf, subject, load, false);
  const stepsOf = (of: Standing, by: Decision, isTold: boolean) =>
    explainedSteps({ settings, standing: of, subject, load, isTold }, by);
  return {
    subject,
    settings: { enabled, refuseWhen, uncovered, precise, mode, totalBytes },
    addingBytes: precise ? addingBytes : 0,
    steps: stepsOf(standing, decision, isEnforced(settings)),
    decision,
    ...(standing.reporting === undefined || !enabled
      ? {}
      : { reporting: { steps: stepsOf(asIf, reported, false), decision: reported } }),
  };
}

interface Explained {
  readonly settings: QuotaSettings;
  readonly standing: Standing;
  readonly subject: Subject;
  readonly load: Load;
  readonly isTold: boolean;
}

function explainedSteps(explained: Explained, decision: Decision): readonly ExplainedStep[] {
  const { settings, standing } = explained;
  const steps = precedence.slice(0, decision.step === null ? 0 : precedence.indexOf(decision.step) + 1);
  return steps.map(step => ({
    step,
    groups: groupsAt(step, settings, standing).map(group => explainedGroup(explained, group, step, decision)),
  }));
}

function explainedGroup(
  explained: Explained,
  group: CompiledGroup | BuiltinGroup,
  step: PrecedenceStep,
  decision: Decision,
): ExplainedGroup {
  const { settings, standing, subject, load, isTold } = explained;
  const asked = subjectBit(subject);
  const deciding = decidingRule(settings, group, asked, load, standing.graces, isTold);
  const decided = decision.by === 'rule' && decision.step === step && decision.group === group.name;
  return {
    group: group.name,
    verdict: deciding === null ? 'no_match' : deciding.verdict,
    rules: group.rules
      .filter(rule => (rule.covers & asked) !== 0)
      .map(rule => explainedRule(explained, rule, decided && rule.name === decision.rule)),
    decided,
  };
}

function explainedRule(
  { settings, standing, load, isTold }: Explained,
  rule: CompiledRule,
  decided: boolean,
): ExplainedRule {
  const { used, reserved, garbage, verdict, grace } = judgedBy(settings, rule, load, standing.graces, isTold);
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
