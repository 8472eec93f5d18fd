/**
 * Removes the report mode of groups, which only the previous release has: sets the rules of such a group to
 * report mode, so that they do not come into force.
 */

import type { ChangeSet, Documents } from '../documents/index.ts';
import { SoftquotaError } from '../errors.ts';
import type { Log } from '../log.ts';
import { longestName } from '../quota/index.ts';
import { groupKind, inOrder, nextPlaceAmong, ruleKind } from './kinds.ts';

/** Converts the policy in force, with an event for each change. Rejects as the store, except `store_away`. */
export async function endGroupModes(documents: Documents, log: Pick<Log, 'warn'>): Promise<void> {
  try {
    const groups = await documents.transact(({ changes }) => withoutGroupModes(changes));
    if (groups.length === 0) return;
    log.warn({ groups }, 'groups have no report mode any more: their rules are in report mode now');
  } catch (error) {
    if (!(error instanceof SoftquotaError) || error.code !== 'store_away') throw error;
    log.warn(
      { reason: error.message },
      'groups have no report mode any more: their rules only report, and say so themselves from the next start on',
    );
  }
}

interface ReportingGroup {
  readonly group: string;
  /** The names of its rules, which are in report mode now. */
  readonly rules: readonly string[];
}

/**
 * Converts all groups in report mode, and returns them. If another group has a rule, too, the rule stays
 * unchanged, and the converted group gets a copy, `NAME (GROUP)`.
 */
function withoutGroupModes(changes: ChangeSet): readonly ReportingGroup[] {
  const groups = inOrder(changes.all(groupKind));
  const uses = new Map<string, number>();
  for (const [, { rules }] of groups) for (const rule of rules) uses.set(rule, (uses.get(rule) ?? 0) + 1);

  const inReportMode = (name: string, group: string): string => {
    const rule = changes.get(ruleKind, name);
    if (rule === undefined || rule.mode === 'report') return name;
    const others = (uses.get(name) ?? 0) - 1;
    uses.set(name, others);
    const copy = others > 0 ? copyName(changes, name, group) : name;
    const place = others > 0 ? nextPlaceAmong(changes.all(ruleKind)) : rule.place;
    changes.put(ruleKind, copy, { ...rule, place, mode: 'report' });
    return copy;
  };

  return groups.flatMap(([group, { mode, ...document }]) => {
    if (mode !== 'report') return [];
    const rules = document.rules.map(name => inReportMode(name, group));
    changes.put(groupKind, group, { ...document, rules });
    return [{ group, rules }];
  });
}

/** Returns an unused name for the copy of a rule; cuts a long one. */
function copyName(changes: ChangeSet, name: string, group: string): string {
  for (let count = 1; ; count += 1) {
    const end = count === 1 ? '' : ` ${count}`;
    const copy = `${[...`${name} (${group})`].slice(0, longestName - end.length).join('')}${end}`;
    if (changes.get(ruleKind, copy) === undefined) return copy;
  }
}
