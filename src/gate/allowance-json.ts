/** Allowances and unreachable bytes in the gate's answers. */

import type { Decision } from '../quota/index.ts';

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
