/**
 * The whole reasoning of a decision, as plain data that survives JSON.
 *
 * The decision is `decide`'s own, and every verdict beside it comes from the functions that `decide`
 * uses: an explanation cannot tell another story than the answer.
 */

import {
  countedAdding,
  countedBy,
  type Decision,
  decide,
  groupsAt,
  minHeadroom,
  type PrecedenceStep,
  precedence,
  type QuotaSettings,
  refuses,
  type Standing,
} from './decide.ts';
import type { Garbage } from './garbage.ts';
import {
  type ActiveAllowance,
  type BuiltinGroup,
  type CompiledGroup,
  type CompiledRule,
  subjectBit,
} from './policy.ts';
import type { Reserved } from './reserved.ts';
import type { RuleSubject, Subject } from './subjects.ts';
import type { Usage } from './usage.ts';

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
  readonly verdict: 'allows' | 'refuses';
  /** It is the one that decided. */
  readonly decided: boolean;
}

export interface ExplainedGroup {
  /** Null for the built-in one. */
  readonly group: string | null;
  /** `no_match`: no rule of it covers the subject. */
  readonly verdict: 'allows' | 'refuses' | 'no_match';
  /** Those that cover the subject, as the group has them. */
  readonly rules: readonly ExplainedRule[];
  /** It has the rule that decided. */
  readonly decided: boolean;
}

/**
 * A step that was come to: the last one answered, those before it had no rule that covers it, or no groups.
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
    'enabled' | 'refuseWhen' | 'uncovered' | 'precise' | 'burstBytes' | 'mode' | 'totalBytes'
  >;
  /** Bytes about to be added, as far as they count: 0 unless `precise` or `burstBytes`. */
  readonly addingBytes: number;
  /** In the order in which they were asked; none when quotas are switched off. */
  readonly steps: readonly ExplainedStep[];
  readonly decision: Decision;
}

/** Explains what `decide` answers to the same arguments; throws as it does. */
export function explain(
  settings: QuotaSettings,
  standing: Standing,
  usage: Usage,
  subject: Subject,
  addingBytes = 0,
  reserved: Reserved | null = null,
  unreachable: Usage | null = null,
): Explanation {
  const { enabled, refuseWhen, uncovered, precise, burstBytes, mode, totalBytes } = settings;
  const decision = decide(settings, standing, usage, subject, addingBytes, reserved, unreachable);
  const load = { usage, reserved, unreachable, addingBytes };
  const adding = countedAdding(settings, addingBytes);
  const asked = subjectBit(subject);
  const verdict = (room: number) => (refuses(settings, room, adding) ? 'refuses' : 'allows');

  const explainRule = (rule: CompiledRule, decided: boolean): ExplainedRule => {
    const { used, reserved: promised, garbage, headroom } = countedBy(settings, rule, load);
    return {
      rule: rule.name,
      subjects: rule.subjects,
      used,
      reserved: promised,
      limit: rule.limitBytes,
      ...(rule.allowance === undefined ? {} : { allowance: rule.allowance }),
      ...(garbage === null ? {} : { garbage }),
      headroom: rule.limitBytes === -1 ? null : rule.limitBytes - used,
      verdict: verdict(headroom),
      decided,
    };
  };

  const explainGroup = (group: CompiledGroup | BuiltinGroup, step: PrecedenceStep): ExplainedGroup => {
    const deciding = minHeadroom(settings, group, asked, load);
    const decided = decision.by === 'rule' && decision.step === step && decision.group === group.name;
    return {
      group: group.name,
      verdict: deciding === null ? 'no_match' : verdict(deciding.headroom),
      rules: group.rules
        .filter(rule => (rule.covers & asked) !== 0)
        .map(rule => explainRule(rule, decided && rule.name === decision.rule)),
      decided,
    };
  };

  const steps = precedence.slice(0, decision.step === null ? 0 : precedence.indexOf(decision.step) + 1);
  return {
    subject,
    settings: { enabled, refuseWhen, uncovered, precise, burstBytes, mode, totalBytes },
    addingBytes: precise || burstBytes !== null ? addingBytes : 0,
    steps: steps.map(step => ({
      step,
      groups: groupsAt(step, settings, standing).map(group => explainGroup(group, step)),
    })),
    decision,
  };
}
