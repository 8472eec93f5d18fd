/** Groups: read, and changed in a draft. */

import { FaultList, SoftquotaError } from '../errors.ts';
import { type Group, nameFault, printable, type Rule } from '../quota/index.ts';
import { forgetGroup } from './assignments.ts';
import type { Draft, View } from './documents.ts';
import { type GroupDocument, groupKind, mustBeGroup, mustBeRule, ruleKind } from './kinds.ts';
import { inOrder, nextPlaceAmong } from './order.ts';
import { createRule, type RuleEdit, ruleNamed } from './rules.ts';

export interface NewGroup {
  readonly name: string;
  /** Those that exist are taken as they are, the others created. */
  readonly rules: readonly ({ readonly name: string } & RuleEdit)[];
}

/** As created, each with its rules as they were added. */
export function groupsIn(view: View): readonly Group[] {
  return inOrder(view.all(groupKind)).map(([name, document]) => groupOf(view, name, document));
}

export function groupNamed(view: View, name: string): Group | undefined {
  const found = view.get(groupKind, name);
  return found === undefined ? undefined : groupOf(view, name, found);
}

/** As `groupNamed`, but throws `not_found`. */
export function groupWithRules(view: View, name: string): Group {
  return groupOf(view, name, mustBeGroup(view, name));
}

/** Throws `conflict` where there is one of that name, else `invalid` with every fault of the name and the new rules. */
export function createGroup(draft: Draft, { name, rules }: NewGroup): void {
  if (draft.get(groupKind, name) !== undefined) {
    throw new SoftquotaError('conflict', `the group ${printable(name)} exists already`);
  }
  const named = nameFault(name);
  const faults = [...(named === null ? [] : [`name: ${named}`]), ...createMissing(draft, rules)];
  FaultList.of(faults).throwIfAny();
  draft.put(groupKind, name, {
    place: nextPlaceAmong(draft.all(groupKind)),
    rules: rules.map(rule => rule.name),
  });
}

/** Creates those of a group's rules that there are not; gives why some cannot be. */
export function createMissing(draft: Draft, rules: NewGroup['rules']): readonly string[] {
  const seen = new Set<string>();
  // All rules are looked at once, and not for each that is created.
  let place: number | null = null;
  return rules.flatMap((rule, index) => {
    if (seen.has(rule.name)) return [`rules.${index}.name: ${printable(rule.name)} is there twice`];
    seen.add(rule.name);
    if (ruleNamed(draft, rule.name) !== undefined) return [];
    place = place === null ? nextPlaceAmong(draft.all(ruleKind)) : place + 1;
    return faultsOfNew(draft, rule, place).map(fault => `rules.${index}.${fault}`);
  });
}

/** Creates the rule; gives why it cannot be. */
function faultsOfNew(
  draft: Draft,
  { name, limitBytes, subjects = [] }: NewGroup['rules'][number],
  place: number,
): readonly string[] {
  if (limitBytes === undefined) return ['limit: it is missing, and there is no rule of that name'];
  try {
    createRule(draft, { name, limitBytes, subjects }, place);
    return [];
  } catch (error) {
    if (error instanceof SoftquotaError) return [error.message];
    throw error;
  }
}

/** Nobody is in it any more; throws `not_found`. */
export function deleteGroup(draft: Draft, name: string): void {
  mustBeGroup(draft, name);
  draft.remove(groupKind, name);
  forgetGroup(draft, name);
}

/** Throws `not_found` where either is missing, `conflict` where the rule is in the group already. */
export function addRule(draft: Draft, groupName: string, ruleName: string): void {
  const group = mustBeGroup(draft, groupName);
  mustBeRule(draft, ruleName);
  if (group.rules.includes(ruleName)) {
    throw new SoftquotaError(
      'conflict',
      `the rule ${printable(ruleName)} is in the group ${printable(groupName)} already`,
    );
  }
  draft.put(groupKind, groupName, { ...group, rules: [...group.rules, ruleName] });
}

/** Throws `not_found` where the rule is not in the group. */
export function removeRule(draft: Draft, groupName: string, ruleName: string): void {
  const group = mustBeGroup(draft, groupName);
  if (!group.rules.includes(ruleName)) {
    throw new SoftquotaError(
      'not_found',
      `the rule ${printable(ruleName)} is not in the group ${printable(groupName)}`,
    );
  }
  draft.put(groupKind, groupName, { ...group, rules: group.rules.filter(rule => rule !== ruleName) });
}

function groupOf(view: View, name: string, { rules }: GroupDocument): Group {
  const found = rules.map(rule => ruleNamed(view, rule));
  return { name, rules: found.filter((rule): rule is Rule => rule !== undefined) };
}
