/**
 * Judges an action by one rule, and picks the rule that speaks for a group, and the group that speaks for the
 * owner.
 *
 * A rule allows, refuses, or lets through by its grace. Without graces the order of headrooms says it all: a
 * rule that refuses has less than any that allows.
 */

import { type Counted, countedAdding, countedBy, type Load, refuses } from './counted.ts';
import { type Grace, type Graces, graceOf, isLetThrough } from './grace.ts';
import type { BuiltinGroup, CompiledGroup, CompiledRule } from './policy.ts';
import type { QuotaSettings } from './settings.ts';

/** The answer of a rule or a group, the worst first. */
const verdicts = ['refuses', 'graced', 'allows'] as const;

export type RuleVerdict = (typeof verdicts)[number];

/** A rule with what it counts, and says. */
interface CountedRule extends Counted {
  readonly rule: CompiledRule;
  readonly verdict: RuleVerdict;
  /** Grace of the limit if it is passed and has one, else null. */
  readonly grace: Grace | null;
}

/** Counts by a rule, and decides by it alone. `isTold`: as in `graceOf`. */
export function judgedBy(
  settings: QuotaSettings,
  rule: CompiledRule,
  load: Load,
  graces: Graces | undefined,
  isTold: boolean,
): CountedRule {
  const counted = countedBy(settings, rule, load);
  const adding = countedAdding(settings, load.addingBytes);
  if (!refuses(settings, counted.headroom, adding))
    return { ...counted, rule, verdict: 'allows', grace: null };
  const grace = graceOf(settings, rule, graces, isTold);
  const isGraced =
    grace !== null &&
    graces !== undefined &&
    isLetThrough(grace, graces, rule.limitBytes, counted.headroom, adding);
  return { ...counted, rule, verdict: isGraced ? 'graced' : 'refuses', grace };
}

/** The rule that decides for a group. */
export interface DecidingRule extends CountedRule {
  readonly group: string | null;
}

/**
 * Gives the covering rule of a group that decides: of those with the worst verdict the one with the least
 * headroom, or whose grace ends first; ties by name. Null: none covers it.
 */
export function decidingRule(
  settings: QuotaSettings,
  group: CompiledGroup | BuiltinGroup,
  asked: number,
  load: Load,
  graces: Graces | undefined,
  isTold: boolean,
): DecidingRule | null {
  let found: CountedRule | null = null;
  for (const rule of group.rules) {
    if ((rule.covers & asked) === 0) continue;
    const judged = judgedBy(settings, rule, load, graces, isTold);
    const order = found === null ? -1 : compared(judged, found);
    if (found === null || order < 0 || (order === 0 && before(rule.name, found.rule.name))) found = judged;
  }
  return found === null ? null : { ...found, group: group.name };
}

/** Gives the groups' deciding rule with the best verdict, ties by the group's name; null: none. */
export function decidingAmong(
  groups: readonly (CompiledGroup | BuiltinGroup)[],
  decidingOf: (group: CompiledGroup | BuiltinGroup) => DecidingRule | null,
): DecidingRule | null {
  let found: DecidingRule | null = null;
  for (const group of groups) {
    const deciding = decidingOf(group);
    if (deciding === null) continue;
    const order = found === null ? 1 : compared(deciding, found);
    if (found === null || order > 0 || (order === 0 && before(deciding.group, found.group))) found = deciding;
  }
  return found;
}

/** Below 0 where `a` is stricter than `b`, above 0 where it leaves more. */
function compared(a: CountedRule, b: CountedRule): number {
  if (a.verdict !== b.verdict) return verdicts.indexOf(a.verdict) - verdicts.indexOf(b.verdict);
  if (a.verdict === 'graced' && a.grace?.until !== b.grace?.until) {
    return (a.grace?.until ?? 0) - (b.grace?.until ?? 0);
  }
  // Two infinities have no difference.
  return a.headroom < b.headroom ? -1 : Number(a.headroom > b.headroom);
}

/** Null, the built-in group's name, never stands beside another. */
function before(a: string | null, b: string | null): boolean {
  return a !== null && b !== null && a < b;
}
