/** Limits of a group's members together, looked at by themselves, whoever of them asks. */

import type { PooledBytes } from './bounds.ts';
import { isEnforced, type PassedLimits } from './decide.ts';
import type { RuledAllowed, RuledRefused } from './decision.ts';
import { termsOf } from './grace.ts';
import { type CountedRule, type Judging, judgedBy } from './judged.ts';
import { decidePools } from './listed-bounds.ts';
import type { CompiledGroup, QuotaSettings } from './policy.ts';

export type PoolDecision = (RuledAllowed | RuledRefused) & { readonly group: string };

/** Decides by each rule in force of that kind, by what is stored. Throws `sum_too_large`. */
export function poolDecisions(
  settings: QuotaSettings,
  group: CompiledGroup,
  pooled: PooledBytes,
): readonly PoolDecision[] {
  return decidePools(group, { settings, pool: pooled, member: null })
    .filter(({ mode }) => mode === undefined)
    .map(({ decision }) => ({ ...decision, group: group.name }));
}

/** Gives the passed limits that have a grace. Throws `sum_too_large`. */
export function passedPoolLimits(
  settings: QuotaSettings,
  group: CompiledGroup,
  { usage, unreachable }: PooledBytes,
): PassedLimits {
  const judged = settings.enabled ? judgedPools(settings, group, { usage, unreachable, reserved: null }) : [];
  const isReported = !isEnforced(settings);
  return new Map(
    judged
      .filter(({ rule, verdict }) => verdict === 'refuses' && termsOf(settings, rule) !== null)
      .map(({ rule }) => [rule.name, { isReported: isReported || rule.mode === 'report' }]),
  );
}

function judgedPools(
  settings: QuotaSettings,
  { rules }: CompiledGroup,
  { graces, ...stored }: PooledBytes,
): readonly CountedRule[] {
  const judging: Judging = { settings, ...stored, graces, addingBytes: 0, isTold: isEnforced(settings) };
  return rules
    .filter(({ per, covers }) => per === 'group' && covers !== 0)
    .map(rule => judgedBy(rule, judging));
}
