/** Allowances, unreachable bytes, graces and what only reports in the gate's answers. */

import { type Decision, type DiskFull, reportedRefusal, type Subject } from '../quota/index.ts';

/** The part of the limit that allowances add, as a field; none where they add nothing. */
export function allowanceField({ allowance }: Pick<Decision, 'allowance'>): object {
  if (allowance === undefined) return {};
  const { until, ...added } = allowance;
  return { allowance: { ...added, until: new Date(until).toISOString() } };
}

/** The stored, unreachable and billed bytes under the deciding rule, as a field; none where all are billed. */
export function garbageField({ garbage }: Decision): object {
  return garbage === undefined ? {} : { garbage };
}

/**
 * Field that says until when, and by how much, a limit may be passed; none if none is passed, or it has no
 * grace.
 */
export function graceField({ grace }: Pick<Decision, 'grace'>): object {
  if (grace === undefined) return {};
  return { grace: { until: new Date(grace.until).toISOString(), below: grace.below } };
}

/** The refusal by a rule in report mode, as a field; none where there is none. */
export function reportedField(ownerName: string, subject: Subject, decision: Decision | DiskFull): object {
  const { reported } = decision;
  if (reported === undefined || reported.allowed) return {};
  const { used, limit, group, rule } = reported;
  return { reported: { used, limit, group, rule, message: reportedRefusal(ownerName, subject, decision) } };
}
