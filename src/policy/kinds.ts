/** The kinds of documents that the policy consists of. */

import { z } from 'zod';
import type { Kind, Snapshot } from '../documents/index.ts';
import { SoftquotaError } from '../errors.ts';
import {
  boundScopes,
  graceMostText,
  isSubject,
  longestGraceMs,
  type RuleSubject,
  ruleModes,
} from '../quota/index.ts';
import { printable } from '../text.ts';
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
  graceMs: z.number().int().min(0).max(longestGraceMs).exactOptional(),
  graceMost: graceMost.exactOptional(),
  mode: z.enum(ruleModes).exactOptional(),
  per: z.enum(boundScopes).exactOptional(),
  warnAt: z.array(z.number().int().min(1).max(100)).readonly().exactOptional(),
});

export type RuleDocument = z.infer<typeof rule>;

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
  const { limitBytes: limit, subjects, graceMs, graceMost: most, mode: inMode, per, warnAt } = rule;
  return {
    limit,
    subjects,
    ...(graceMs === undefined ? {} : { grace: graceMs / 1000 }),
    ...(most === undefined ? {} : { grace_most: graceMostText(most) }),
    ...(inMode === undefined ? {} : { mode: inMode }),
    ...(per === undefined ? {} : { per }),
    ...(warnAt === undefined ? {} : { warn_at: warnAt }),
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

export function isRuleSubject(value: unknown): value is RuleSubject {
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

export function nextPlaceAmong(entries: Iterable<readonly [string, Placed]>): number {
  return nextPlace([...entries].map(([, placed]) => placed));
}
