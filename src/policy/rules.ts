/**
 * The kinds of documents that the policy consists of, and rules: reads them from documents, and changes them
 * in a transaction.
 */

import { z } from 'zod';
import type { ChangeSet, Kind, Snapshot } from '../documents/index.ts';
import { FaultList, SoftquotaError } from '../errors.ts';
import { given } from '../given.ts';
import {
  boundScopes,
  type GraceMost,
  graceMostText,
  isOfIncoming,
  isSubject,
  limitFault,
  nameFaults,
  type Rule,
  type RuleMode,
  type RuleScope,
  type RuleSubject,
  ruleModes,
  ruleScopes,
} from '../quota/index.ts';
import { longestDurationMs, printable } from '../text.ts';
import { allowanceKind } from './allowances.ts';

/** The position in lists, in the order of creation. */
const place = z.number().int();

const graceMost = z.union([
  z.strictObject({ percent: z.number().positive().max(1000) }),
  z.strictObject({ bytes: z.number().int().positive().max(Number.MAX_SAFE_INTEGER) }),
]);

/** Optional fields are absent if they have their default, so that an older softquota can read the rule. */
const rule = z.strictObject({
  place,
  limitBytes: z.number().int().min(-1).max(Number.MAX_SAFE_INTEGER),
  subjects: z.array(z.custom<RuleSubject>(isRuleSubject)).readonly(),
  graceMs: z.number().int().min(0).max(longestDurationMs).exactOptional(),
  graceMost: graceMost.exactOptional(),
  mode: z.enum(ruleModes).exactOptional(),
  per: z.enum(boundScopes).exactOptional(),
  warnAt: z.array(z.number().int().min(1).max(100)).readonly().exactOptional(),
});

type RuleDocument = z.infer<typeof rule>;

export const ruleKind: Kind<RuleDocument> = {
  name: 'rule',
  durability: 'versioned',
  schema: rule,
  describe: (name, document) => ({ name, ownerId: null, content: ruleContent(document) }),
};

/**
 * Returns a rule without its name, for API and audit log. Clients of Forgejo know only the first two fields.
 */
export function ruleContent(rule: Omit<RuleDocument, 'place'>) {
  const { limitBytes: limit, subjects, graceMs, graceMost: most, mode, per, warnAt } = rule;
  return {
    limit,
    subjects,
    ...given({
      grace: graceMs === undefined ? undefined : graceMs / 1000,
      grace_most: most && graceMostText(most),
      mode,
      per,
      warn_at: warnAt,
    }),
  };
}

/** The previous release had a mode for groups. `groupOf` respects it until `endGroupModes` has removed it. */
const group = z.strictObject({
  place,
  rules: z.array(z.string()).readonly(),
  mode: z.literal('report').exactOptional(),
});

export type GroupDocument = z.infer<typeof group>;

export const groupKind: Kind<GroupDocument> = {
  name: 'group',
  durability: 'versioned',
  schema: group,
  describe: (name, { rules, mode: inMode }) => ({
    name,
    ownerId: null,
    content: { rules, ...(inMode === undefined ? {} : { mode: inMode }) },
  }),
};

/** The groups of an owner; `place` is the position of the owner among the group's members. */
const assignment = z.array(z.strictObject({ group: z.string(), place })).readonly();

export type Assignment = z.infer<typeof assignment>;

/** The groups of an owner. The key is the owner id; owners without groups have no document. */
export const assignmentKind: Kind<Assignment> = {
  name: 'assignment',
  durability: 'versioned',
  schema: assignment,
  describe: (key, entries, nameOf) => ({
    name: nameOf(Number(key)),
    ownerId: Number(key),
    content: { groups: entries.map(entry => entry.group) },
  }),
};

const begun = z.strictObject({
  /** The name of the rule; null is the built-in one. */
  rule: z.string().nullable(),
  /** Milliseconds since 1970. */
  since: z.number().int(),
  /** True if the limit only reported, so that the owner was not warned. */
  isReported: z.boolean(),
});

const graces = z.array(begun).readonly();

export type GraceDocument = z.infer<typeof graces>;

/**
 * The times at which an owner was first seen over limits, so that a restart does not begin graces anew. The
 * key is the owner id; only owners over a limit with a grace have a document. If it is lost, graces begin
 * anew. Although volatile, it is part of backups.
 */
export const graceKind: Kind<GraceDocument> = { name: 'grace', durability: 'volatile', schema: graces };

/** Stores such times for the limits of a group's members together. The key is the name of the group. */
export const poolGraceKind: Kind<GraceDocument> = {
  name: 'pool-grace',
  durability: 'volatile',
  schema: graces,
};

/** The kinds of documents that decisions depend on. */
export const policyKinds: readonly Kind<unknown>[] = [ruleKind, groupKind, assignmentKind, allowanceKind];

/** Throws `not_found`. */
export function mustBeRule(snapshot: Snapshot, name: string): RuleDocument {
  const found = snapshot.get(ruleKind, name);
  if (found === undefined) throw new SoftquotaError('not_found', `there is no rule ${printable(name)}`);
  return found;
}

/** Throws `not_found`. */
export function mustBeGroup(snapshot: Snapshot, name: string): GroupDocument {
  const found = snapshot.get(groupKind, name);
  if (found === undefined) throw new SoftquotaError('not_found', `there is no group ${printable(name)}`);
  return found;
}

function isRuleSubject(value: unknown): value is RuleSubject {
  return typeof value === 'string' && (value === 'none' || isSubject(value));
}

interface Placed {
  readonly place: number;
}

export function inOrder<T extends Placed>(
  entries: Iterable<readonly [string, T]>,
): readonly (readonly [string, T])[] {
  return [...entries].sort(([, a], [, b]) => a.place - b.place);
}

export function nextPlace(placed: Iterable<Placed>): number {
  let last = 0;
  for (const { place: at } of placed) last = Math.max(last, at);
  return last + 1;
}

export function nextPlaceOf(snapshot: Snapshot, kind: Kind<Placed>): number {
  return nextPlace([...snapshot.all(kind)].map(([, placed]) => placed));
}

/** A change of a rule; fields that are left out stay the same. */
export interface RuleEdit extends Partial<Pick<Rule, 'limitBytes' | 'subjects'>> {
  /** Null: as configured. */
  readonly graceMs?: number | null;
  /** Null: as configured. */
  readonly graceMost?: GraceMost | null;
  /** `enforce`: the rule is in force. */
  readonly mode?: 'enforce' | RuleMode;
  /** The thing that the rule limits. `ruleFaults` reports an unknown one. */
  readonly per?: RuleScope;
  /** Percentages of the limit, in any order; null: as configured. */
  readonly warnAt?: readonly number[] | null;
}

export function rulesIn(snapshot: Snapshot): readonly Rule[] {
  return inOrder(snapshot.all(ruleKind)).map(([name, document]) => ruleOf(name, document));
}

export function ruleNamed(snapshot: Snapshot, name: string): Rule | undefined {
  const found = snapshot.get(ruleKind, name);
  return found === undefined ? undefined : ruleOf(name, found);
}

function ruleOf(name: string, { place: _, ...fields }: RuleDocument): Rule {
  return { name, ...fields };
}

export function ruleFrom(
  name: string,
  { limitBytes, subjects = [], ...edit }: RuleEdit & Pick<Rule, 'limitBytes'>,
): Rule {
  return edited({ name, limitBytes, subjects }, edit);
}

/** Returns the rule with the fields of the edit. Fields with default values are absent in the result. */
function edited(before: Rule, edit: RuleEdit): Rule {
  const graceMs = edit.graceMs === undefined ? before.graceMs : edit.graceMs;
  const graceMost = edit.graceMost === undefined ? before.graceMost : edit.graceMost;
  const warnAt = edit.warnAt === undefined ? before.warnAt : edit.warnAt;
  const mode = edit.mode ?? before.mode;
  const per = edit.per ?? before.per ?? 'owner';
  return {
    name: before.name,
    limitBytes: edit.limitBytes ?? before.limitBytes,
    subjects: edit.subjects ?? before.subjects,
    ...given({ graceMs, graceMost, warnAt: warnAt && [...new Set(warnAt)].sort((a, b) => a - b) }),
    ...(mode === undefined || mode === 'enforce' ? {} : { mode }),
    ...(per === 'owner' ? {} : { per }),
  };
}

/** Returns the faults of a rule, each with the name of the field; empty: it is valid. */
export function ruleFaults(rule: Rule): readonly string[] {
  const { name, limitBytes, subjects, graceMs = 0, graceMost, per = 'owner' } = rule;
  const limit = limitFault(limitBytes, per);
  return [
    ...nameFaults('name', name),
    ...(limit === null ? [] : [`limit: ${limit}`]),
    ...(ruleScopes.includes(per) ? [] : [`per: expected one of ${ruleScopes.join(', ')}`]),
    ...((per === 'repository' || isOfIncoming({ per })) && (graceMs > 0 || graceMost !== undefined)
      ? [`grace: expected none for each ${per}; "default" takes it away`]
      : []),
    ...(Number.isSafeInteger(graceMs) && graceMs >= 0 && graceMs <= longestDurationMs
      ? []
      : ['grace: expected whole seconds from 0 to a hundred years']),
    ...subjects.flatMap(each =>
      isRuleSubject(each) ? [] : [`subjects: there is no subject ${printable(String(each))}`],
    ),
  ];
}

/**
 * Creates a rule, by default after all others. Throws `conflict` if it exists, or `invalid` with all faults.
 */
export function createRule(changes: ChangeSet, rule: Rule, place = nextPlaceOf(changes, ruleKind)): void {
  if (ruleNamed(changes, rule.name) !== undefined) {
    throw new SoftquotaError('conflict', `the rule ${printable(rule.name)} exists already`);
  }
  put(changes, rule, place);
}

/** Throws `not_found`, or `invalid` with all faults. */
export function editRule(changes: ChangeSet, name: string, edit: RuleEdit): Rule {
  const before = mustBeRule(changes, name);
  const after = edited(ruleOf(name, before), edit);
  put(changes, after, before.place);
  return after;
}

/** Deletes a rule, and removes it from all groups; throws `not_found`. */
export function deleteRule(changes: ChangeSet, name: string): void {
  mustBeRule(changes, name);
  changes.remove(ruleKind, name);
  for (const [group, document] of [...changes.all(groupKind)]) {
    if (!document.rules.includes(name)) continue;
    changes.put(groupKind, group, { ...document, rules: document.rules.filter(rule => rule !== name) });
  }
}

function put(changes: ChangeSet, rule: Rule, at: number): void {
  const faults = ruleFaults(rule);
  FaultList.of(faults).throwIfAny();
  changes.put(ruleKind, rule.name, ruleDocument(rule, at));
}

export function ruleDocument({ name: _, ...fields }: Rule, at: number): RuleDocument {
  return { place: at, ...fields };
}
