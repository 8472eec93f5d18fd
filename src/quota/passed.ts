/** The limits that an owner has passed, for which graces run. */

import { groupsAt, isEnforced, precedence, reportingStanding, type Standing } from './decide.ts';
import { type RunningGrace, termsOf } from './grace.ts';
import { type Judging, judgedBy } from './judged.ts';
import { subjectBit } from './policy.ts';
import type { QuotaSettings } from './settings.ts';
import { type Subject, subjects } from './subjects.ts';
import type { Usage } from './usage.ts';

/** By the name of the rule; null is the built-in one. */
export type PassedLimits = ReadonlyMap<string | null, Pick<RunningGrace, 'isReported'>>;

/**
 * Gives the passed limits that have a grace and decide about anything: a limit beside which another group
 * allows is no news to the owner. Throws `sum_too_large`.
 */
export function passedLimits(
  settings: QuotaSettings,
  standing: Standing,
  usage: Usage,
  unreachable: Usage | null,
): PassedLimits {
  const passed = new Map<string | null, Pick<RunningGrace, 'isReported'>>();
  if (!settings.enabled) return passed;
  const nothing = { reserved: null, addingBytes: 0, graces: undefined, isTold: false };
  const judging = { settings, usage, unreachable, ...nothing };
  const add = (of: Standing, isReported: boolean) => {
    for (const subject of subjects) {
      for (const name of passedFor(of, subject, judging)) {
        if (!passed.has(name)) passed.set(name, { isReported });
      }
    }
  };
  add(standing, !isEnforced(settings));
  if (standing.reporting !== undefined) add(reportingStanding(standing), true);
  return passed;
}

function passedFor(standing: Standing, subject: Subject, judging: Judging): readonly (string | null)[] {
  const { settings } = judging;
  const asked = subjectBit(subject);
  for (const step of precedence) {
    const groups = groupsAt(step, settings, standing);
    const covering = groups
      .map(({ rules }) => rules.filter(rule => (rule.covers & asked) !== 0))
      .filter(rules => rules.length > 0)
      .map(rules => rules.filter(rule => judgedBy(rule, judging).verdict === 'refuses'));
    if (covering.length === 0 && !(groups.length > 0 && settings.uncovered === 'deny')) continue;
    if (covering.some(refusing => refusing.length === 0)) return [];
    return covering.flatMap(refusing =>
      refusing.filter(rule => termsOf(settings, rule) !== null).map(({ name }) => name),
    );
  }
  return [];
}
