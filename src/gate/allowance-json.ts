/** Allowances in the gate's answers. */

import type { Decision } from '../quota/index.ts';

/** The part of the limit that allowances add, as a field; none where they add nothing. */
export function allowanceField({ allowance }: Pick<Decision, 'allowance'>): object {
  if (allowance === undefined) return {};
  const { until, ...added } = allowance;
  return { allowance: { ...added, until: new Date(until).toISOString() } };
}
