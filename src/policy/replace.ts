/** Another policy in place of the one that a draft has. */

import { SoftquotaError } from '../errors.ts';
import { printable, type Rule } from '../quota/index.ts';
import type { Draft } from './documents.ts';
import { createGroup, type NewGroup } from './groups.ts';
import { type Assignment, assignmentKind, groupKind } from './kinds.ts';
import { nextPlace } from './order.ts';
import { createRule, deleteRule, editRule, ruleNamed, rulesIn } from './rules.ts';

export interface WholeGroup extends NewGroup {
  /** The ids of those in it; left out: those who are in the group of that name. */
  readonly ownerIds?: readonly number[];
}

/** What is left out stays as it is. */
export interface WholePolicy {
  readonly rules?: readonly Rule[];
  readonly groups?: readonly WholeGroup[];
}

/** Throws `invalid` with every fault; then the draft is of no use any more. */
export function replacePolicy(draft: Draft, { rules, groups }: WholePolicy): void {
  const faults = [
    ...(rules === undefined ? [] : replaceRules(draft, rules)),
    ...(groups === undefined ? [] : replaceGroups(draft, groups)),
  ];
  if (faults.length > 0) throw new SoftquotaError('invalid', faults.join('; '));
}

function replaceRules(draft: Draft, rules: readonly Rule[]): readonly string[] {
  const wanted = new Set(rules.map(({ name }) => name));
  for (const { name } of rulesIn(draft)) if (!wanted.has(name)) deleteRule(draft, name);
  return rules.flatMap((rule, index) => {
    if (rules.findIndex(({ name }) => name === rule.name) < index) {
      return [`rules.${index}.name: ${printable(rule.name)} is there twice`];
    }
    return faultsOf(`rules.${index}`, () => {
      if (ruleNamed(draft, rule.name) === undefined) createRule(draft, rule);
      else editRule(draft, rule.name, rule);
    });
  });
}

/** Without a look at all assignments for each group. */
function replaceGroups(draft: Draft, groups: readonly WholeGroup[]): readonly string[] {
  for (const [name] of [...draft.all(groupKind)]) draft.remove(groupKind, name);
  const faults = groups.flatMap((group, index) =>
    faultsOf(`groups.${index}`, () => createGroup(draft, group)),
  );
  if (faults.length > 0) return faults;
  const staying = new Set(groups.flatMap(({ name, ownerIds }) => (ownerIds === undefined ? [name] : [])));
  const before = [...draft.all(assignmentKind)];
  const next = nextPlace(before.flatMap(([, entries]) => entries));
  const after = new Map<string, Assignment>();
  for (const [owner, entries] of before)
    after.set(
      owner,
      entries.filter(({ group }) => staying.has(group)),
    );
  for (const { name, ownerIds = [] } of groups) {
    for (const id of new Set(ownerIds)) {
      after.set(String(id), [...(after.get(String(id)) ?? []), { group: name, place: next }]);
    }
  }
  for (const [owner, entries] of after) {
    if (entries.length === 0) draft.remove(assignmentKind, owner);
    else draft.put(assignmentKind, owner, entries);
  }
  return [];
}

function faultsOf(where: string, change: () => void): readonly string[] {
  try {
    change();
    return [];
  } catch (error) {
    if (error instanceof SoftquotaError) return [`${where}: ${error.message}`];
    throw error;
  }
}
