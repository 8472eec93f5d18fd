/**
 * Decides without an action: by single bounds, for lists of groups and repositories, and by passed limits.
 */

import { askBounds, boundJudge, warnedByBounds, warningJudging } from './decide.ts';
import {
  type DecisionQuestion,
  type PooledBytes,
  precedence,
  type RuledAllowed,
  type RuledRefused,
} from './decision.ts';
import { decisionBy, groupsAt, isEnforced, type Judging, judgingOf, ownerJudge } from './judged.ts';
import {
  type ActiveAllowance,
  type CompiledGroup,
  type CompiledRule,
  type QuotaSettings,
  type RunningGrace,
  raisedGroup,
  type Standing,
  termsOf,
} from './policy.ts';
import { noUsage, subjects, type Usage } from './subjects.ts';

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
  const standing: Standing = { assigned: [], defaults: [] };
  const usage = member?.usage ?? noUsage;
  const question: DecisionQuestion = { settings, standing, usage, subject: 'size:all', pools: () => pool };
  return rules
    .filter(({ per }) => per === 'group')
    .map(rule => {
      const judging = judgingOf(question, standing, isEnforced(settings) && rule.mode !== 'report');
      const { judged, detailsOf } = boundJudge('group', group.name, judging);
      const deciding = { ...judged(rule), group: group.name };
      return { decision: decisionBy('assigned', deciding, judging, detailsOf?.(deciding)), rule };
    });
}

/** Decides by the bounds of the repository alone; null: it has no limit. */
export function decideByRepository(question: DecisionQuestion): RuledAllowed | RuledRefused | null {
  const askedIn = (judging: Judging) => askBounds(judging, ['repository']).decisions[0] ?? null;
  const asked = askedIn(judgingOf(question));
  if (question.standing.warning === undefined || asked?.allowed === false) return asked;
  const warning = warningJudging(question);
  const warned = warnedByBounds(warning, ['repository']);
  return warned === null ? (asked ?? askedIn(warning)) : { ...(asked ?? warned), allowed: true, warned };
}

/** The passed limits by the name of the rule; null is the built-in one. */
export type PassedLimits = ReadonlyMap<string | null, Pick<RunningGrace, 'isReported'>>;

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

/**
 * Returns the passed limits that have a grace. Leaves out limits that decide nothing because another group
 * allows. Throws `sum_too_large`.
 */
export function passedLimits(
  settings: QuotaSettings,
  { graces: _, ...standing }: Standing,
  usage: Usage,
  unreachable: Usage | null,
): PassedLimits {
  const passed = new Map<string | null, Pick<RunningGrace, 'isReported'>>();
  if (!settings.enabled) return passed;
  // The graces are left out, since a limit with a running grace is passed, too, and would count as allowing.
  const add = (of: Standing, isReported: boolean) => {
    for (const subject of subjects) {
      const judging = judgingOf({ settings, standing: of, usage, unreachable, subject });
      for (const name of passedFor(judging)) if (!passed.has(name)) passed.set(name, { isReported });
    }
  };
  add(standing, !isEnforced(settings));
  if (standing.reporting !== undefined) add({ ...standing, ...standing.reporting }, true);
  return passed;
}

function passedFor(judging: Judging): readonly (string | null)[] {
  const { settings } = judging;
  const judge = ownerJudge(judging);
  for (const step of precedence) {
    const groups = groupsAt(step, judging);
    const covering = groups
      .map(({ rules }) => rules.flatMap(rule => judge(rule) ?? []))
      .filter(judged => judged.length > 0)
      .map(judged => judged.filter(({ verdict }) => verdict === 'refuses'));
    if (covering.length === 0 && !(groups.length > 0 && settings.uncovered === 'deny')) continue;
    if (covering.some(refusing => refusing.length === 0)) return [];
    const refusing = covering.flat().map(({ rule }) => rule);
    return refusing.filter(rule => termsOf(settings, rule) !== null).map(({ name }) => name);
  }
  return [];
}
