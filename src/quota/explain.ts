/** The whole reasoning of a decision, as plain data. */

import { type Decision, decide, type LadderStep, type QuotaSettings, type Standing } from './decide.ts';
import type { RuleSubject, Subject } from './subjects.ts';
import type { Usage } from './usage.ts';

export interface RuleExplanation {
  readonly rule: string | null;
  readonly subjects: readonly RuleSubject[];
  readonly used: number;
  readonly limit: number;
  /** limit - used; null: endless. */
  readonly headroom: number | null;
  readonly verdict: 'allows' | 'refuses';
  readonly decided: boolean;
}

export interface GroupExplanation {
  readonly group: string | null;
  readonly verdict: 'allows' | 'refuses' | 'silent';
  readonly rules: readonly RuleExplanation[];
  readonly decided: boolean;
}

export interface StepExplanation {
  readonly step: LadderStep;
  readonly verdict: 'allows' | 'refuses' | 'silent' | 'empty';
  readonly groups: readonly GroupExplanation[];
}

export interface Explanation {
  readonly subject: Subject;
  readonly settings: Pick<QuotaSettings, 'enabled' | 'refuseWhen' | 'uncovered' | 'precise' | 'mode'>;
  readonly addingBytes: number;
  readonly steps: readonly StepExplanation[];
  readonly decision: Decision;
}

export function explain(
  settings: QuotaSettings,
  standing: Standing,
  usage: Usage,
  subject: Subject,
  addingBytes = 0,
): Explanation {
  const { enabled, refuseWhen, uncovered, precise, mode } = settings;
  const decision = decide(settings, standing, usage, subject, addingBytes);
  return {
    subject,
    settings: { enabled, refuseWhen, uncovered, precise, mode },
    addingBytes,
    steps: [],
    decision,
  };
}
