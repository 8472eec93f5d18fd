/** The lines a person reads about a decision. */

import type { Decision } from './decide.ts';
import type { RuleSubject, Subject } from './subjects.ts';

export function subjectWords(subject: RuleSubject): string {
  return subject;
}

export function refusal(ownerName: string, subject: Subject, decision: Decision): string {
  return `Quota exceeded: ${ownerName} ${subject} ${decision.used} of ${decision.limit}.`;
}

export function warning(ownerName: string, decision: Decision): string | null {
  return decision.warnPercent === null ? null : `Quota warning: ${ownerName}.`;
}

export function decidedBy(decision: Decision): string | null {
  return decision.rule === null ? null : `Decided by rule "${decision.rule}" of group "${decision.group}".`;
}
