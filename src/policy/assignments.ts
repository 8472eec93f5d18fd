/** The groups of owners. Owners are identified by their ids, so that a reused name inherits nothing. */

import type { ChangeSet, Snapshot } from '../documents/index.ts';
import { FaultList, SoftquotaError } from '../errors.ts';
import { printable } from '../text/index.ts';
import { type Assignment, assignmentKind, groupKind, mustBeGroup, nextPlace } from './kinds.ts';

/** The names of an owner's groups, as they were assigned. */
export function assignedGroups(snapshot: Snapshot, ownerId: number): readonly string[] {
  return entriesOf(snapshot, ownerId).map(({ group }) => group);
}

/** Gives the ids of those in each group, in the order in which they came to it; no group without anybody. */
export function membersByGroup(snapshot: Snapshot): ReadonlyMap<string, readonly number[]> {
  const found = new Map<string, { id: number; place: number }[]>();
  for (const [owner, entries] of snapshot.all(assignmentKind)) {
    for (const { group, place: at } of entries) {
      const members = found.get(group) ?? [];
      members.push({ id: Number(owner), place: at });
      found.set(group, members);
    }
  }
  return new Map(
    [...found].map(([group, members]) => [
      group,
      members.sort((a, b) => a.place - b.place || a.id - b.id).map(({ id }) => id),
    ]),
  );
}

/** Throws `not_found` where there is no such group, `already_in` where the owner is in it already. */
export function assign(changes: ChangeSet, ownerId: number, group: string): void {
  mustBeGroup(changes, group);
  const entries = entriesOf(changes, ownerId);
  if (entries.some(entry => entry.group === group)) {
    throw new SoftquotaError('already_in', `the owner is in the group ${printable(group)} already`);
  }
  put(changes, ownerId, [...entries, { group, place: nextPlaceIn(changes) }]);
}

/** Throws `not_found` where there is no such group, `already_out` where the owner is not in it. */
export function unassign(changes: ChangeSet, ownerId: number, group: string): void {
  mustBeGroup(changes, group);
  const entries = entriesOf(changes, ownerId);
  const others = entries.filter(entry => entry.group !== group);
  if (others.length === entries.length) {
    throw new SoftquotaError('already_out', `the owner is not in the group ${printable(group)}`);
  }
  put(changes, ownerId, others);
}

/** Throws `invalid`, naming every group that there is not, or that is named twice. */
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

/** When an owner goes. */
export function forgetAssignments(changes: ChangeSet, ownerId: number): void {
  changes.remove(assignmentKind, String(ownerId));
}

/** When a group goes. */
export function forgetGroup(changes: ChangeSet, group: string): void {
  for (const [owner, entries] of [...changes.all(assignmentKind)]) {
    const others = entries.filter(entry => entry.group !== group);
    if (others.length < entries.length) put(changes, Number(owner), others);
  }
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
