/**
 * Lengths of texts and lists that are sent to us, at most. Each is far beyond what anybody means, and near
 * enough that nobody fills a disk or holds up others.
 */

import { z } from 'zod';
import { longestName, nameFault } from '../quota/index.ts';

/** An owner's name may have come from a file of so many bytes. */
const longestKnownName = 4096;

export const mostOf = {
  /** In a rule; there are fewer to choose from. */
  subjects: 20,
  /** In one policy, or one group of it. */
  rules: 10_000,
  /** In a group that is created by itself. */
  rulesOfNewGroup: 1000,
  groups: 10_000,
  /** That all groups of one policy name together. */
  rulesOfGroups: 40_000,
  /** In one group. */
  users: 500_000,
  /** That one owner is put into at once. */
  groupsOfOwner: 1000,
  /** That one scan is for. */
  owners: 1000,
  scopes: 50,
  /** In a set of claims, or of groups at a provider. */
  claims: 1000,
} as const;

/** The characters of an `If-None-Match`; there is room for the other headers beside it. */
export const longestValidators = 8192;

/** Anything that is written by hand: an address, a secret, a search. */
export const text = z.string().max(2048);

/** Text that stands for something that is there, such as a number or a mark of a page. */
export const mark = z.string().max(255);

/** The list with at most so many entries; of a longer one no entry is looked at. */
export function atMost<Entry extends z.ZodType>(most: number, list: z.ZodArray<Entry>) {
  return z.preprocess((entries, { issues }) => {
    if (Array.isArray(entries) && entries.length > most) {
      issues.push({ code: 'too_big', origin: 'array', maximum: most, inclusive: true, input: entries });
    }
    return entries;
  }, list.max(most));
}

/** Names that stand for something that is there; anything may be asked for. */
export const knownName = z.string().max(longestKnownName);

/**
 * A whole number as a query has it: digits, perhaps with a minus before them. JavaScript would also take
 * nothing at all, `0x10` and `1e2`. `usual`: what it is where the query does not have it.
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

/**
 * The rules of `nameFault` as a regular expression of JSON Schema, for those who read the description of the
 * API. It has no classes of Unicode, which not every reader of such a schema knows.
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
