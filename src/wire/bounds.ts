/**
 * Parts of schemas: objects with a name in the description of the API, and limits of texts and lists. These
 * are far above any sensible use, and low enough that nobody can fill a disk or delay others.
 */

import { z } from 'zod';
import { longestName, nameFault } from '../quota/index.ts';

/** Limit of an owner's name in bytes, as far as it may come from a file. */
const longestKnownName = 4096;

export const mostOf = {
  /** Subjects of a rule; there are fewer to choose from. */
  subjects: 20,
  /** Rules of a policy, or of one group in it. */
  rules: 10_000,
  /** Rules of a group that is created alone. */
  rulesOfNewGroup: 1000,
  groups: 10_000,
  /** Rules in all groups of a policy together. */
  rulesOfGroups: 40_000,
  /** Members of a group. */
  users: 500_000,
  /** Groups into which one owner is put at once. */
  groupsOfOwner: 1000,
  /** Owners of one scan. */
  owners: 1000,
  scopes: 50,
  /** Claims in a set, or groups at a provider. */
  claims: 1000,
} as const;

/** Limit of `If-None-Match` in characters, which leaves room for the other headers. */
export const longestValidators = 8192;

/** Text that people write: an address, a secret, a search. */
export const text = z.string().max(2048);

/** Text that names an existing thing, such as a number or the position of a page. */
export const mark = z.string().max(255);

/** Limits a list. The entries of a longer list are not checked. */
export function atMost<Entry extends z.ZodType>(most: number, list: z.ZodArray<Entry>) {
  return z.preprocess((entries, { issues }) => {
    if (Array.isArray(entries) && entries.length > most) {
      issues.push({ code: 'too_big', origin: 'array', maximum: most, inclusive: true, input: entries });
    }
    return entries;
  }, list.max(most));
}

/** Name of something that exists. Any text may be asked for. */
export const knownName = z.string().max(longestKnownName);

/**
 * Whole number in a query: digits, perhaps after a minus. JavaScript's own conversion would accept an empty
 * text, `0x10` and `1e2`, too. `usual` is the value if the parameter is absent.
 */
export function queryNumber(least: number, most: number, usual: number) {
  const expected = `expected a whole number from ${least} to ${most}`;
  return z
    .string()
    .refine(said => /^-?\d{1,16}$/.test(said), { error: expected, abort: true })
    .transform(Number)
    .pipe(z.number().int({ error: expected }).min(least, { error: expected }).max(most, { error: expected }))
    .default(usual)
    .meta({ override: { type: 'integer', minimum: least, maximum: most, default: usual } });
}

export const bytes = z.number().int();

/** Names in an answer. */
export const names = z.array(z.string()).readonly();

/**
 * The rules of `nameFault` as a regular expression in JSON Schema, for the description of the API. It has no
 * Unicode classes, which some readers of such schemas do not support.
 */
const namePattern = String.raw`^(?!\.{1,2}$)(?!\s*$)[^\u0000-\u001f\u007f-\u009f]+$`;

export const nameOrNothing = `^$|${namePattern}`;

export const newName = z
  .string()
  .refine(name => nameFault(name) === null, {
    error: issue => nameFault(String(issue.input)) ?? 'it cannot be taken',
  })
  .meta({
    minLength: 1,
    maxLength: longestName,
    pattern: namePattern,
    description:
      'Up to 255 characters without control characters, not only spaces, not `.` or `..`; it compares exactly.',
  });

/** A name, perhaps a description, and the fields. */
type Named<Shape extends z.ZodRawShape> =
  | readonly [id: string, shape: Shape]
  | readonly [id: string, description: string, shape: Shape];

/** Makes an object that has this name and description in the description of the API. */
export function component<Shape extends z.ZodRawShape>(...named: Named<Shape>): z.ZodObject<Shape> {
  const { shape, meta } = partsOf(named);
  return z.object(shape).meta(meta);
}

/** Makes one as `component` does that may have no other fields. */
export function strictComponent<Shape extends z.ZodRawShape>(
  ...named: Named<Shape>
): z.ZodObject<Shape, z.core.$strict> {
  const { shape, meta } = partsOf(named);
  return z.strictObject(shape).meta(meta);
}

function partsOf<Shape extends z.ZodRawShape>(named: Named<Shape>) {
  if (named.length === 2) return { shape: named[1], meta: { id: named[0] } };
  const [id, description, shape] = named;
  return { shape, meta: { id, description } };
}
