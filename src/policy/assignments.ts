/** Who is in which group. Owners are told apart by their ids, so that a name used anew inherits nothing. */

import { FaultList, SoftquotaError } from '../errors.ts';
import { printable } from '../quota/index.ts';
import type { Draft, View } from './documents.ts';
import { type Assignment, assignmentKind, groupKind, mustBeGroup } from './kinds.ts';
import { nextPlace } from './order.ts';

/** The names of an owner's groups, as they were assigned. */
export function assignedGroups(view: View, ownerId: number): readonly string[] {
  return entriesOf(view, ownerId).map(({ group }) => group);
}

/** The ids of those in each group that has any, as they came to it. */
export function membersByGroup(view: View): ReadonlyMap<string, readonly number[]> {
  const found = new Map<string, { id: number; place: number }[]>();
  for (const [owner, entries] of view.all(assignmentKind)) {
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

/** Throws `not_found` where there is no such group, `conflict` where the owner is in it already. */
export function assign(draft: Draft, ownerId: number, group: string): void {
  mustBeGroup(draft, group);
  const entries = entriesOf(draft, ownerId);
  if (entries.some(entry => entry.group === group)) {
    throw new SoftquotaError('conflict', `the owner is in the group ${printable(group)} already`);
  }
  put(draft, ownerId, [...entries, { group, place: nextPlaceIn(draft) }]);
}

/** Throws `not_found` where there is no such group, or the owner is not in it. */
export function unassign(draft: Draft, ownerId: number, group: string): void {
  mustBeGroup(draft, group);
  const entries = entriesOf(draft, ownerId);
  const others = entries.filter(entry => entry.group !== group);
  if (others.length === entries.length) {
    throw new SoftquotaError('not_found', `the owner is not in the group ${printable(group)}`);
  }
  put(draft, ownerId, others);
}

/** Throws `invalid`, naming every group that there is not, or that is named twice. */
export function setGroups(draft: Draft, ownerId: number, names: readonly string[]): void {
  const seen = new Set<string>();
  const faults = names.flatMap((name, index) => {
    if (seen.has(name)) return [`groups.${index}: ${printable(name)} is there twice`];
    seen.add(name);
    return draft.get(groupKind, name) === undefined
      ? [`groups.${index}: there is no group ${printable(name)}`]
      : [];
  });
  FaultList.of(faults).throwIfAny();
  const before = new Map(entriesOf(draft, ownerId).map(entry => [entry.group, entry]));
  const next = nextPlaceIn(draft);
  put(
    draft,
    ownerId,
    names.map(group => before.get(group) ?? { group, place: next }),
  );
}

/** When an owner goes. */
export function forgetAssignments(draft: Draft, ownerId: number): void {
  draft.remove(assignmentKind, String(ownerId));
}

/** When a group goes. */
export function forgetGroup(draft: Draft, group: string): void {
  for (const [owner, entries] of [...draft.all(assignmentKind)]) {
    const others = entries.filter(entry => entry.group !== group);
    if (others.length < entries.length) put(draft, Number(owner), others);
  }
}

function entriesOf(view: View, ownerId: number): Assignment {
  return view.get(assignmentKind, String(ownerId)) ?? [];
}

function put(draft: Draft, ownerId: number, entries: Assignment): void {
  if (entries.length === 0) draft.remove(assignmentKind, String(ownerId));
  else draft.put(assignmentKind, String(ownerId), entries);
}

function nextPlaceIn(view: View): number {
  return nextPlace(everyEntry(view));
}

function* everyEntry(view: View): Generator<Assignment[number]> {
  for (const [, entries] of view.all(assignmentKind)) yield* entries;
}
