/** Decides by single bounds, for lists of groups and repositories; there is no action. */

import { judgeOf, type PooledBytes } from './bounds.ts';
import {
  boundsOf,
  type DecisionQuestion,
  decisionBy,
  isEnforced,
  type PassedLimits,
  type Standing,
  warnedByBounds,
  warningStanding,
} from './decide.ts';
import type { RuledAllowed, RuledRefused } from './decision.ts';
import { termsOf } from './grace.ts';
import {
  type ActiveAllowance,
  type CompiledGroup,
  type CompiledRule,
  groupsWith,
  type QuotaSettings,
  raisedGroup,
} from './policy.ts';
import { noUsage, type Usage } from './subjects.ts';

interface AskedPools {
  readonly settings: QuotaSettings;
  readonly pool: PooledBytes;
  /** The member whose share and allowance count; null: no member in particular. */
  readonly member: { readonly usage: Usage; readonly allowance: ActiveAllowance | null } | null;
}

interface DecidedPool {
  readonly decision: RuledAllowed | RuledRefused;
  readonly rule: CompiledRule;
}

/** Decides by each rule that limits the members of a group together, also by rules that are not in force. */
export function decidePools(
  group: CompiledGroup,
  { settings, pool, member }: AskedPools,
): readonly DecidedPool[] {
  const allowance = member?.allowance ?? null;
  const { rules } = allowance === null ? group : raisedGroup(group, allowance);
  return rules
    .filter(({ per }) => per === 'group')
    .map(rule => {
      const { judge, detailsOf } = judgeOf('group', group.name, {
        pools: () => pool,
        judging: {
          settings,
          usage: member?.usage ?? noUsage,
          addingBytes: 0,
          reserved: null,
          unreachable: null,
          graces: undefined,
          isTold: isEnforced(settings) && rule.mode !== 'report',
        },
      });
      const deciding = { ...judge(rule), group: group.name };
      return { decision: decisionBy('assigned', deciding, 0, detailsOf?.(deciding)), rule };
    });
}

/** Returns the passed limits of a group's members together that have a grace. */
export function passedPoolLimits(
  settings: QuotaSettings,
  group: CompiledGroup,
  { usage, unreachable }: PooledBytes,
): PassedLimits {
  if (!settings.enabled) return new Map();
  const isReported = !isEnforced(settings);
  const pool = { usage, unreachable, reserved: null };
  return new Map(
    decidePools(group, { settings, pool, member: null })
      .filter(({ decision, rule }) => !decision.allowed && termsOf(settings, rule) !== null)
      .map(({ rule }) => [rule.name, { isReported: isReported || rule.mode === 'report' }]),
  );
}

/** Returns a standing with only the bounds of repositories; null: none is in force or warns. */
export function repositoryBoundsIn({ bounds, warning, allowance = null }: Standing): Standing | null {
  if (bounds === undefined) return null;
  const only = (all: typeof bounds) => ({
    assigned: groupsWith(all.assigned, ({ per }) => per === 'repository'),
    defaults: groupsWith(all.defaults, ({ per }) => per === 'repository'),
  });
  const none = { assigned: [], defaults: [], allowance };
  const standing = { ...none, bounds: only(bounds) };
  const whole = warning?.bounds === undefined ? standing.bounds : only(warning.bounds);
  if ([...whole.assigned, ...whole.defaults].every(({ rules }) => rules.length === 0)) return null;
  return warning === undefined ? standing : { ...standing, warning: { ...none, bounds: whole } };
}

/** Decides by the bounds of the repository alone, in a standing of `repositoryBoundsIn`; null: no limit. */
export function decideByRepository(question: DecisionQuestion): RuledAllowed | RuledRefused | null {
  const { settings, standing } = question;
  const askedIn = (some: Standing) => boundsOf(question, some, isEnforced(settings)).decisions[0] ?? null;
  const asked = askedIn(standing);
  if (standing.warning === undefined || asked?.allowed === false) return asked;
  const warning = warningStanding(standing);
  const warned = warnedByBounds(question, warning);
  return warned === null ? (asked ?? askedIn(warning)) : { ...(asked ?? warned), allowed: true, warned };
}
