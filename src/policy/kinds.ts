/** The documents of the policy. */

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
import { printable } from '../text/index.ts';
import { allowanceKind } from './allowances.ts';

/** The order in which things were created, which lists keep. */
const place = z.number().int();

const graceMost = z.union([
  z.strictObject({ percent: z.number().positive().max(1000) }),
  z.strictObject({ bytes: z.number().int().positive().max(Number.MAX_SAFE_INTEGER) }),
]);

/** Fields that may be missing are missing where they are as usual, so that an older softquota can read it. */
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

/** Describes a rule without its name, for API and audit log. Forgejo's clients do not know the last five. */
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

/** The release before had modes of groups, which `groupOf` heeds until `endGroupModes` takes them away. */
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

/** `place` is the owner's among those of the group. */
const assignment = z.array(z.strictObject({ group: z.string(), place })).readonly();

export type Assignment = z.infer<typeof assignment>;

/** By the owner's id; kept only for owners with a group. */
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
  /** The limit only reported, so that the owner was not warned. */
  isReported: z.boolean(),
});

const graces = z.array(begun).readonly();

export type GraceDocument = z.infer<typeof graces>;

/**
 * When owners were first seen over limits, so that a restart gives nobody another grace. By the owner's id;
 * kept only for owners over a limit that has a grace. It is made again by use: where it is lost, graces begin
 * again. A backup has it all the same.
 */
export const graceKind: Kind<GraceDocument> = { name: 'grace', durability: 'volatile', schema: graces };

/** When the members of a group were first seen over its limits together, by its name; kept as graces. */
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
