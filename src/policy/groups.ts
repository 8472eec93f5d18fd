/**
 * Groups and their members. Members are known by owner id, so an owner with a reused name inherits nothing.
 */

import type { ChangeSet, Documents, Snapshot } from '../documents/index.ts';
import { FaultList, SoftquotaError } from '../errors.ts';
import type { Log } from '../log.ts';
import { type Group, longestName, nameFaults } from '../quota/index.ts';
import { printable } from '../text.ts';
import { runToEnd, type Work } from '../turns.ts';
import {
  type Assignment,
  assignmentKind,
  createRule,
  type GroupDocument,
  groupKind,
  inOrder,
  mustBeGroup,
  mustBeRule,
  nextPlace,
  nextPlaceOf,
  type RuleEdit,
  ruleFrom,
  ruleKind,
  ruleNamed,
} from './rules.ts';

export interface NewGroup {
  readonly name: string;
  /** The rules of the group. Existing ones are used unchanged, others are created. */
  readonly rules: readonly ({ readonly name: string } & RuleEdit)[];
}

export function groupsIn(snapshot: Snapshot): readonly Group[] {
  return [...eachGroup(snapshot)];
}

/** Yields the groups one by one, so that long work can pause between them. */
export function* eachGroup(snapshot: Snapshot): Generator<Group> {
  for (const [name, document] of inOrder(snapshot.all(groupKind))) yield groupOf(snapshot, name, document);
}

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
 * Creates a group. Throws `conflict` if it exists, or `invalid` with all faults of its name and new rules.
 */
export function createGroup(changes: ChangeSet, { name, rules }: NewGroup): void {
  if (changes.get(groupKind, name) !== undefined) {
    throw new SoftquotaError('conflict', `the group ${printable(name)} exists already`);
  }
  FaultList.of([...nameFaults('name', name), ...createMissing(changes, rules)]).throwIfAny();
  changes.put(groupKind, name, {
    place: nextPlaceOf(changes, groupKind),
    rules: rules.map(rule => rule.name),
  });
}

/** Creates the missing rules of a group; returns the faults of those that are invalid. */
export function createMissing(changes: ChangeSet, rules: NewGroup['rules']): readonly string[] {
  const seen = new Set<string>();
  // Computed once, and not for each new rule, since it reads all rules.
  let place: number | null = null;
  return rules.flatMap((rule, index) => {
    if (seen.has(rule.name)) return [`rules.${index}.name: ${printable(rule.name)} is listed twice`];
    seen.add(rule.name);
    if (ruleNamed(changes, rule.name) !== undefined) return [];
    place = place === null ? nextPlaceOf(changes, ruleKind) : place + 1;
    return faultsOfNew(changes, rule, place).map(fault => `rules.${index}.${fault}`);
  });
}

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

/**
 * Deletes a group and removes its members from it; throws `not_found`. `members`: its members, for a caller
 * who knows them; without it, all owners are looked through.
 */
export function deleteGroup(
  changes: ChangeSet,
  name: string,
  members: readonly number[] = runToEnd(membersByGroup(changes)).get(name) ?? [],
): void {
  mustBeGroup(changes, name);
  changes.remove(groupKind, name);
  for (const ownerId of members)
    put(
      changes,
      ownerId,
      entriesOf(changes, ownerId).filter(({ group }) => group !== name),
    );
}

/** Throws `not_found` if the group or rule is missing, `already_in` if the rule is in the group already. */
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

/** Throws `not_found` if the group is missing, `already_out` if the rule is not in it. */
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

export function assignedGroups(snapshot: Snapshot, ownerId: number): readonly string[] {
  return entriesOf(snapshot, ownerId).map(({ group }) => group);
}

/**
 * Returns the ids of each group's members, in the order in which they joined; omits groups without members.
 */
export function* membersByGroup(snapshot: Snapshot): Work<ReadonlyMap<string, readonly number[]>> {
  const found = new Map<string, { id: number; place: number }[]>();
  for (const [owner, entries] of snapshot.all(assignmentKind)) {
    for (const { group, place: at } of entries) {
      const members = found.get(group) ?? [];
      members.push({ id: Number(owner), place: at });
      found.set(group, members);
    }
    yield;
  }
  const ordered = new Map<string, readonly number[]>();
  for (const [group, members] of found) {
    members.sort((a, b) => a.place - b.place || a.id - b.id);
    yield;
    ordered.set(
      group,
      members.map(({ id }) => id),
    );
    yield;
  }
  return ordered;
}

/** Throws `not_found` if the group is missing, `already_in` if the owner is in it already. */
export function assign(changes: ChangeSet, ownerId: number, group: string): void {
  mustBeGroup(changes, group);
  const entries = entriesOf(changes, ownerId);
  if (entries.some(entry => entry.group === group)) {
    throw new SoftquotaError('already_in', `the owner is in the group ${printable(group)} already`);
  }
  put(changes, ownerId, [...entries, { group, place: nextPlaceIn(changes) }]);
}

/** Throws `not_found` if the group is missing, `already_out` if the owner is not in it. */
export function unassign(changes: ChangeSet, ownerId: number, group: string): void {
  mustBeGroup(changes, group);
  const entries = entriesOf(changes, ownerId);
  const others = entries.filter(entry => entry.group !== group);
  if (others.length === entries.length) {
    throw new SoftquotaError('already_out', `the owner is not in the group ${printable(group)}`);
  }
  put(changes, ownerId, others);
}

/** Replaces the groups of an owner. Throws `invalid`, naming each group that is missing or listed twice. */
export function setGroups(changes: ChangeSet, ownerId: number, names: readonly string[]): void {
  const seen = new Set<string>();
  const faults = names.flatMap((name, index) => {
    if (seen.has(name)) return [`groups.${index}: ${printable(name)} is listed twice`];
    seen.add(name);
    return changes.get(groupKind, name) === undefined
      ? [`groups.${index}: there is no group ${printable(name)}`]
      : [];
  });
  FaultList.of(faults).throwIfAny();
  const before = new Map(entriesOf(changes, ownerId).map(entry => [entry.group, entry]));
  const next = nextPlaceIn(changes);
  put(
    changes,
    ownerId,
    names.map(group => before.get(group) ?? { group, place: next }),
  );
}

function entriesOf(snapshot: Snapshot, ownerId: number): Assignment {
  return snapshot.get(assignmentKind, String(ownerId)) ?? [];
}

function put(changes: ChangeSet, ownerId: number, entries: Assignment): void {
  if (entries.length === 0) changes.remove(assignmentKind, String(ownerId));
  else changes.put(assignmentKind, String(ownerId), entries);
}

function nextPlaceIn(snapshot: Snapshot): number {
  return nextPlace(everyEntry(snapshot));
}

function* everyEntry(snapshot: Snapshot): Generator<Assignment[number]> {
  for (const [, entries] of snapshot.all(assignmentKind)) yield* entries;
}

/**
 * Removes the report mode of groups, which only the previous release has: sets the rules of such a group to
 * report mode, so that they do not come into force. Each change has an event. Rejects as the store, except
 * `store_away`.
 */
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

/**
 * Converts all groups in report mode, and returns them with the names of their rules. If another group has a
 * rule, too, the rule stays unchanged, and the converted group gets a copy, `NAME (GROUP)`.
 */
function withoutGroupModes(
  changes: ChangeSet,
): readonly { readonly group: string; readonly rules: readonly string[] }[] {
  const groups = inOrder(changes.all(groupKind));
  const uses = new Map<string, number>();
  for (const [, { rules }] of groups) for (const rule of rules) uses.set(rule, (uses.get(rule) ?? 0) + 1);

  const inReportMode = (name: string, group: string): string => {
    const rule = changes.get(ruleKind, name);
    if (rule === undefined || rule.mode === 'report') return name;
    const others = (uses.get(name) ?? 0) - 1;
    uses.set(name, others);
    const copy = others > 0 ? copyName(changes, name, group) : name;
    const place = others > 0 ? nextPlaceOf(changes, ruleKind) : rule.place;
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
