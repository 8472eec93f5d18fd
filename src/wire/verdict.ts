/** Decisions as they stand on the wire. */

import { given } from '../given.ts';
import type { ActiveAllowance, Decision, DiskFull, Grace } from '../quota/index.ts';
import { isoTime } from '../text/index.ts';
import type { GraceShown } from './grace.ts';
import type { AddedAllowance } from './requests.ts';
import type { Verdict } from './usage.ts';

/** A decision in short. */
export function verdictShown(decision: Decision | DiskFull): Verdict {
  const { allowed, used, limit, group, rule, allowance, garbage, grace, reported } = decision;
  return {
    allowed,
    used,
    limit,
    group,
    rule,
    ...allowanceAdded(allowance),
    ...given({ garbage }),
    ...graceAdded(grace),
    ...(reported === undefined || reported.allowed
      ? {}
      : {
          reported: {
            used: reported.used,
            limit: reported.limit,
            group: reported.group,
            rule: reported.rule,
          },
        }),
  };
}

export function graceAdded(passed: Grace | undefined): { readonly grace?: GraceShown } {
  return passed === undefined ? {} : { grace: { until: isoTime(passed.until), below: passed.below } };
}

/** The part of a limit that allowances add; none where they add nothing. */
export function allowanceAdded(allowance: ActiveAllowance | undefined): {
  readonly allowance?: AddedAllowance;
} {
  return allowance === undefined ? {} : { allowance: { ...allowance, until: isoTime(allowance.until) } };
}
