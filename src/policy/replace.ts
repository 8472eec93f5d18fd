/**
 * Replaces the policy in a change set by another one.
 *
 * Does not write unchanged documents: the change set has only the difference, however large the policy is.
 */

import { isDeepStrictEqual } from 'node:util';
import { ChangeSet, type Kind, type Snapshot } from '../documents/index.ts';
import { FaultList } from '../errors.ts';
import {
  type Group,
  type LintedPolicy,
  type LintFinding,
  lint,
  nameFaults,
  type QuotaSettings,
  type Rule,
} from '../quota/index.ts';
import { printable } from '../text.ts';
import { runToEnd, type Work } from '../turns.ts';
import { createMissing, eachGroup, type NewGroup } from './groups.ts';
import { Policy } from './policy.ts';
import { type Assignment, assignmentKind, groupKind, ruleDocument, ruleFaults, ruleKind } from './rules.ts';

export interface WholeGroup extends NewGroup {
  /** The ids of the members, each once; absent: the members stay. */
  readonly ownerIds?: readonly number[];
}

/** The new policy; absent parts stay unchanged. The lists are in the order for people. */
export interface WholePolicy {
  readonly rules?: readonly Rule[];
  readonly groups?: readonly WholeGroup[];
}

/** Throws `invalid` with all faults; then the change set is unusable. */
export function* replacePolicy(changes: ChangeSet, { rules, groups }: WholePolicy): Work<void> {
  const faults = [
    ...(rules === undefined ? [] : yield* replaceRules(changes, rules)),
    ...(groups === undefined ? [] : yield* replaceGroups(changes, groups)),
  ];
  FaultList.of(faults).throwIfAny();
  if (groups !== undefined) yield* replaceAssignments(changes, groups);
}

function* replaceRules(changes: ChangeSet, rules: readonly Rule[]): Work<readonly string[]> {
  const before = new Map(changes.all(ruleKind));
  const places = placesInOrder(namesOf(rules), name => before.get(name)?.place);
  for (const rule of rules) {
    putOther(changes, ruleKind, rule.name, ruleDocument(rule, places.get(rule.name) ?? 0));
    yield;
  }
  const gone = new Set([...before.keys()].filter(name => !places.has(name)));
  for (const name of gone) changes.remove(ruleKind, name);
  for (const [name, group] of [...changes.all(groupKind)]) {
    const left = group.rules.filter(rule => !gone.has(rule));
    if (left.length < group.rules.length) changes.put(groupKind, name, { ...group, rules: left });
    yield;
  }
  return [
    ...listedTwice('rules', rules),
    ...rules.flatMap((rule, index) => {
      // A stored rule may be older than what is expected of rules now.
      const stored = before.get(rule.name);
      if (stored !== undefined && isDeepStrictEqual(stored, ruleDocument(rule, stored.place))) return [];
      return ruleFaults(rule).map(fault => `rules.${index}.${fault}`);
    }),
  ];
}

function* replaceGroups(changes: ChangeSet, groups: readonly WholeGroup[]): Work<readonly string[]> {
  const before = new Map(changes.all(groupKind));
  const places = placesInOrder(namesOf(groups), name => before.get(name)?.place);
  const faults: string[] = [];
  for (const [index, { name, rules }] of groups.entries()) {
    const missing = createMissing(changes, rules);
    const names = rules.map(rule => rule.name);
    const document = { place: places.get(name) ?? 0, rules: names };
    // A group may still be in report mode, from the previous release. Its rules must not come into force
    // here.
    const isReporting = before.get(name)?.mode === 'report';
    putOther(changes, groupKind, name, isReporting ? { ...document, mode: 'report' } : document);
    const found = [...nameFaults('name', name), ...missing];
    for (const fault of found) faults.push(`groups.${index}.${fault}`);
    yield;
  }
  for (const name of before.keys()) if (!places.has(name)) changes.remove(groupKind, name);
  return [...listedTwice('groups', groups), ...faults];
}

/** An owner's groups stay in the order in which they were assigned; new ones come last. */
function* replaceAssignments(changes: ChangeSet, groups: readonly WholeGroup[]): Work<void> {
  const before = new Map<string, Assignment>();
  for (const [owner, entries] of changes.all(assignmentKind)) {
    before.set(owner, entries);
    yield;
  }
  const staying = new Set(groups.flatMap(({ name, ownerIds }) => (ownerIds === undefined ? [name] : [])));
  const wanted = yield* wantedPlaces(groups, before);
  for (const owner of new Set([...before.keys(), ...wanted.keys()])) {
    yield;
    const left = new Map(wanted.get(owner));
    const kept = (before.get(owner) ?? []).flatMap(entry => {
      if (staying.has(entry.group)) return [entry];
      const place = left.get(entry.group);
      left.delete(entry.group);
      return place === undefined ? [] : [{ group: entry.group, place }];
    });
    const entries = [...kept, ...[...left].map(([group, place]) => ({ group, place }))];
    if (entries.length === 0) changes.remove(assignmentKind, owner);
    else putOther(changes, assignmentKind, owner, entries);
  }
}

/** Returns the place of each owner in each group with a list of members, by owner id and group. */
function* wantedPlaces(
  groups: readonly WholeGroup[],
  before: ReadonlyMap<string, Assignment>,
): Work<ReadonlyMap<string, ReadonlyMap<string, number>>> {
  const wanted = new Map<string, Map<string, number>>();
  for (const { name, ownerIds = [] } of groups) {
    let last = 0;
    for (const id of ownerIds) {
      const owner = String(id);
      if (wanted.get(owner)?.has(name)) continue;
      const place = nextInOrder(last, before.get(owner)?.find(({ group }) => group === name)?.place);
      wanted.set(owner, (wanted.get(owner) ?? new Map()).set(name, place));
      last = place;
      yield;
    }
  }
  return wanted;
}

function putOther<T>(changes: ChangeSet, kind: Kind<T>, key: string, document: T): void {
  if (JSON.stringify(changes.get(kind, key)) !== JSON.stringify(document)) changes.put(kind, key, document);
}

/** Returns a fault for each repeated name in a list. */
export function listedTwice(where: string, named: readonly { readonly name: string }[]): readonly string[] {
  const seen = new Set<string>();
  return named.flatMap(({ name }, index) => {
    if (seen.has(name)) return [`${where}.${index}.name: ${printable(name)} is listed twice`];
    seen.add(name);
    return [];
  });
}

function namesOf(named: readonly { readonly name: string }[]): readonly string[] {
  return named.map(({ name }) => name);
}

/** Returns `place` if it is after `last`, or else the next place after `last`. */
function nextInOrder(last: number, place: number | undefined): number {
  return Math.max(last + 1, place ?? 0);
}

/** Returns ascending places for the keys in this order. A key that is in order already keeps its place. */
function placesInOrder(
  keys: Iterable<string>,
  placeOf: (key: string) => number | undefined,
): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  let last = 0;
  for (const key of keys) {
    if (places.has(key)) continue;
    last = nextInOrder(last, placeOf(key));
    places.set(key, last);
  }
  return places;
}

export type LintSettings = QuotaSettings & Pick<LintedPolicy, 'asked' | 'defaultGroups'>;

/** Lints a policy, which may be that of a change set. */
export function* lintIn(policy: Policy, settings: LintSettings): Work<readonly LintFinding[]> {
  yield* policy.readMembers();
  const groups: Group[] = [];
  for (const group of eachGroup(policy.snapshot)) {
    groups.push(group);
    yield;
  }
  const members = new Map(groups.map(({ name }) => [name, policy.membersOf(name)]));
  const { defaultGroups, asked } = settings;
  return yield* lint({ groups, defaultGroups, members, settings, asked });
}

const nothing: Snapshot = { get: () => undefined, all: () => [], ofOwner: () => [] };

/** Lints a policy that is not in force. Throws `invalid` if the policy is invalid. */
export function lintApart(policy: Required<WholePolicy>, settings: LintSettings): readonly LintFinding[] {
  const changes = new ChangeSet(nothing);
  runToEnd(replacePolicy(changes, policy));
  return runToEnd(lintIn(new Policy(changes), settings));
}
