/**
 * Another policy in place of the one that a change set has.
 *
 * Documents that stay as they are, are not written: the change set holds the difference and no more, however
 * large the policy is.
 */

import { ChangeSet, type Kind, type Snapshot } from '../documents/index.ts';
import { FaultList } from '../errors.ts';
import {
  type LintedPolicy,
  type LintFinding,
  lint,
  nameFault,
  type QuotaSettings,
  type Rule,
} from '../quota/index.ts';
import { runToEnd, type Work } from '../slices.ts';
import { printable } from '../text/index.ts';
import { createMissing, groupsIn, type NewGroup } from './groups.ts';
import { type Assignment, assignmentKind, groupKind, ruleKind } from './kinds.ts';
import { Policy } from './policy.ts';
import { ruleDocument, ruleFaults } from './rules.ts';

export interface WholeGroup extends NewGroup {
  /** The ids of those in it, each once; left out: those who are in the group of that name. */
  readonly ownerIds?: readonly number[];
}

/** Parts that are left out stay the same. The order of the lists is kept. */
export interface WholePolicy {
  readonly rules?: readonly Rule[];
  readonly groups?: readonly WholeGroup[];
}

/** Throws `invalid` with every fault; then the change set is of no use any more. */
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
    ...rules.flatMap((rule, index) => ruleFaults(rule).map(fault => `rules.${index}.${fault}`)),
  ];
}

function* replaceGroups(changes: ChangeSet, groups: readonly WholeGroup[]): Work<readonly string[]> {
  const before = new Map(changes.all(groupKind));
  const places = placesInOrder(namesOf(groups), name => before.get(name)?.place);
  const faults: string[] = [];
  for (const [index, { name, rules }] of groups.entries()) {
    const named = nameFault(name);
    const missing = createMissing(changes, rules);
    const names = rules.map(rule => rule.name);
    const document = { place: places.get(name) ?? 0, rules: names };
    // A mode of the release before may still be there: what it holds back does not come into force unasked.
    const isReporting = before.get(name)?.mode === 'report';
    putOther(changes, groupKind, name, isReporting ? { ...document, mode: 'report' } : document);
    const found = [...(named === null ? [] : [`name: ${named}`]), ...missing];
    for (const fault of found) faults.push(`groups.${index}.${fault}`);
    yield;
  }
  for (const name of before.keys()) if (!places.has(name)) changes.remove(groupKind, name);
  return [...listedTwice('groups', groups), ...faults];
}

/** An owner's groups stay in the order in which they were assigned; new ones come behind. */
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

/** For each owner, by key, the place in each of the groups that name their owners. */
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

/** Gives a fault for each name of a list that stands before it in the list, too. */
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

/** A place behind `last`: the one that it has, where that is such a one. */
function nextInOrder(last: number, place: number | undefined): number {
  return Math.max(last + 1, place ?? 0);
}

/** A place for each, in this order; whoever is in order already stays where they are. */
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

/** `snapshot` is what is in force, or a changes. */
export function lintIn(snapshot: Snapshot, settings: LintSettings): readonly LintFinding[] {
  const policy = new Policy(snapshot);
  const groups = groupsIn(snapshot);
  const members = new Map(groups.map(({ name }) => [name, policy.membersOf(name)]));
  const { defaultGroups, asked } = settings;
  return lint({ groups, defaultGroups, members, settings, asked });
}

const nothing: Snapshot = { get: () => undefined, all: () => [], ofOwner: () => [] };

/** Finds the faults of a policy that is in force nowhere. Throws `invalid` if it cannot be a policy. */
export function lintApart(policy: Required<WholePolicy>, settings: LintSettings): readonly LintFinding[] {
  const changes = new ChangeSet(nothing);
  runToEnd(replacePolicy(changes, policy));
  return lintIn(changes, settings);
}
