/** Groups: read from documents, and changed in a transaction. */

import type { ChangeSet, Snapshot } from '../documents/index.ts';
import { FaultList, SoftquotaError } from '../errors.ts';
import { type Group, nameFault } from '../quota/index.ts';
import { printable } from '../text/index.ts';
import { forgetGroup } from './assignments.ts';
import {
  type GroupDocument,
  groupKind,
  inOrder,
  mustBeGroup,
  mustBeRule,
  nextPlaceAmong,
  ruleKind,
} from './kinds.ts';
import { createRule, type RuleEdit, ruleFrom, ruleNamed } from './rules.ts';

export interface NewGroup {
  readonly name: string;
  /** Those that exist are taken as they are, the others created. */
  readonly rules: readonly ({ readonly name: string } & RuleEdit)[];
}

/** Groups in the order of their creation, each with its rules as they were added. */
export function groupsIn(snapshot: Snapshot): readonly Group[] {
  return inOrder(snapshot.all(groupKind)).map(([name, document]) => groupOf(snapshot, name, document));
}

/** Only their names, in the same order. */
export function groupNamesIn(snapshot: Snapshot): string[] {
  return inOrder(snapshot.all(groupKind)).map(([name]) => name);
}

export function groupNamed(snapshot: Snapshot, name: string): Group | undefined {
  const found = snapshot.get(groupKind, name);
  return found === undefined ? undefined : groupOf(snapshot, name, found);
}

/** Finds a group like `groupNamed`, but throws `not_found`. */
export function groupWithRules(snapshot: Snapshot, name: string): Group {
  return groupOf(snapshot, name, mustBeGroup(snapshot, name));
}

/**
 * Throws `conflict` where there is one of that name, else `invalid` with every fault of the name and the new
 * rules.
 */
export function createGroup(changes: ChangeSet, { name, rules }: NewGroup): void {
  if (changes.get(groupKind, name) !== undefined) {
    throw new SoftquotaError('conflict', `the group ${printable(name)} exists already`);
  }
  const named = nameFault(name);
  const faults = [...(named === null ? [] : [`name: ${named}`]), ...createMissing(changes, rules)];
  FaultList.of(faults).throwIfAny();
  changes.put(groupKind, name, {
    place: nextPlaceAmong(changes.all(groupKind)),
    rules: rules.map(rule => rule.name),
  });
}

/** Creates those of a group's rules that there are not; gives why some cannot be. */
export function createMissing(changes: ChangeSet, rules: NewGroup['rules']): readonly string[] {
  const seen = new Set<string>();
  // All rules are looked at once, and not for each that is created.
  let place: number | null = null;
  return rules.flatMap((rule, index) => {
    if (seen.has(rule.name)) return [`rules.${index}.name: ${printable(rule.name)} is listed twice`];
    seen.add(rule.name);
    if (ruleNamed(changes, rule.name) !== undefined) return [];
    place = place === null ? nextPlaceAmong(changes.all(ruleKind)) : place + 1;
    return faultsOfNew(changes, rule, place).map(fault => `rules.${index}.${fault}`);
  });
}

/** Creates the rule; gives why it cannot be. */
function faultsOfNew(
  changes: ChangeSet,
  { name, limitBytes, ...fields }: NewGroup['rules'][number],
  place: number,
): readonly string[] {
  if (limitBytes === undefined) return ['limit: it is missing, and there is no rule of that name'];
  try {
    createRule(changes, ruleFrom(name, { limitBytes, ...fields }), place);
    return [];
  } catch (error) {
    if (error instanceof SoftquotaError) return [error.message];
    throw error;
  }
}

/** Nobody is in it any more; throws `not_found`. */
export function deleteGroup(changes: ChangeSet, name: string): void {
  mustBeGroup(changes, name);
  changes.remove(groupKind, name);
  forgetGroup(changes, name);
}

/** Throws `not_found` where either is missing, `already_in` where the rule is in the group already. */
export function addRuleToGroup(changes: ChangeSet, groupName: string, ruleName: string): void {
  const group = mustBeGroup(changes, groupName);
  mustBeRule(changes, ruleName);
  if (group.rules.includes(ruleName)) {
    throw new SoftquotaError(
      'already_in',
      `the rule ${printable(ruleName)} is in the group ${printable(groupName)} already`,
    );
  }
  changes.put(groupKind, groupName, { ...group, rules: [...group.rules, ruleName] });
}

/** Throws `not_found` where there is no such group, `already_out` where the rule is not in it. */
export function removeRuleFromGroup(changes: ChangeSet, groupName: string, ruleName: string): void {
  const group = mustBeGroup(changes, groupName);
  if (!group.rules.includes(ruleName)) {
    throw new SoftquotaError(
      'already_out',
      `the rule ${printable(ruleName)} is not in the group ${printable(groupName)}`,
    );
  }
  changes.put(groupKind, groupName, { ...group, rules: group.rules.filter(rule => rule !== ruleName) });
}

function groupOf(snapshot: Snapshot, name: string, { rules, mode }: GroupDocument): Group {
  const found = rules.flatMap(rule => ruleNamed(snapshot, rule) ?? []);
  return { name, rules: mode === 'report' ? found.map(rule => ({ ...rule, mode })) : found };
}
