/**
 * Rules, groups and what an owner has of them, in the JSON that Forgejo's clients know.
 *
 * Schemas of requests carry the checks, and their words are what the asker reads: each names what is
 * expected.
 */

import { z } from 'zod';
import { isSubject, longestName, nameFault, type RuleSubject, subjects } from '../quota/index.ts';
import { atMost, bytes, knownName, mostOf, queryNumber, text } from './bounds.ts';
import { graceFields, newGrace, newGraceMost, newMode, noGroupMode, shownMode } from './grace.ts';
import { allowance } from './requests.ts';
import { usageTree } from './usage.ts';

/**
 * The rules of `nameFault` as a regular expression of JSON Schema, for those who read the description of the
 * API. It has no classes of Unicode, which not every reader of such a schema knows.
 */
const namePattern = String.raw`^(?!\.{1,2}$)(?!\s*$)[^\u0000-\u001f\u007f-\u009f]+$`;

/** Pattern of a name that may also be empty. */
export const nameOrNothing = `^$|${namePattern}`;

/** A name that a rule, a group or an owner is given. */
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

const wholeBytes = 'expected whole bytes from 0 to 2^53 - 1, or -1 for unlimited';

export const limit = z
  .number({ error: issue => (issue.input === undefined ? `it is missing, ${wholeBytes}` : wholeBytes) })
  .int({ error: wholeBytes, abort: true })
  .min(-1, { error: wholeBytes })
  .meta({ description: 'Bytes; -1 is unlimited, 0 allows nothing.' });

const subjectName = z.enum([...subjects, 'none'] satisfies readonly RuleSubject[], {
  error: issue => `there is no subject ${JSON.stringify(issue.input) ?? ''}`,
});

const subjectsMeta = {
  description: 'The kinds of data that the rule limits, counted together; `none` is nothing.',
} as const;

const ruleSubjects = z.array(subjectName).max(mostOf.subjects).readonly().meta(subjectsMeta);

const newSubjects = atMost(mostOf.subjects, z.array(subjectName)).readonly().meta(subjectsMeta);

/** A subject that can be asked about; spaces around it do not count. */
export const askedSubject = text
  .trim()
  .refine(isSubject, { error: `expected one of ${subjects.join(', ')}` })
  .meta({
    pattern: `^ *(${subjects.join('|')}) *$`,
    description: `One of ${subjects.map(subject => `\`${subject}\``).join(', ')}.`,
  });

/** The bytes about to be added, as a query has them. */
export const askedSize = queryNumber(0, Number.MAX_SAFE_INTEGER, 0).meta({
  description: 'Bytes about to be added; they count with `[quota] PRECISE`.',
});

/** Null is as good as left out in all of them, as clients of other languages write it. */
const newTerms = { grace: newGrace.nullish(), grace_most: newGraceMost.nullish(), mode: newMode.nullish() };

export const newRule = z
  .object({ name: newName, limit, subjects: newSubjects.nullish(), ...newTerms })
  .meta({ id: 'NewRule' });

export type NewRule = z.output<typeof newRule>;

export const ruleEdit = z
  .object({ limit: limit.nullish(), subjects: newSubjects.nullish(), ...newTerms })
  .meta({ id: 'RuleEdit', description: 'Fields that are left out stay the same.' });

export type RuleEdit = z.output<typeof ruleEdit>;

export const rule = z
  .object({ name: z.string(), limit: bytes, subjects: ruleSubjects, ...graceFields, mode: shownMode })
  .meta({ id: 'Rule' });

export type Rule = z.infer<typeof rule>;

export const groupsRule = z
  .object({ name: newName, limit: limit.nullish(), subjects: newSubjects.nullish(), ...newTerms })
  .meta({
    description: 'An existing rule is used unchanged; a new rule is created, and needs a limit.',
  });

export const newGroup = z
  .object({
    name: newName,
    rules: atMost(mostOf.rulesOfNewGroup, z.array(groupsRule)).nullish(),
    mode: noGroupMode,
  })
  .meta({ id: 'NewGroup' });

export const group = z.object({ name: z.string(), rules: z.array(rule).readonly() }).meta({ id: 'Group' });

export type Group = z.infer<typeof group>;

export const ownersGroups = z
  .object({
    groups: atMost(mostOf.groupsOfOwner, z.array(knownName)).meta({
      description: 'The names of all groups that the owner should be in.',
    }),
  })
  .meta({ id: 'OwnersGroups' });

export const quotaInfo = z
  .object({
    used: usageTree,
    unreachable: usageTree.optional().meta({
      description:
        'The part of `used` that no ref reaches and that is forgiven up to GARBAGE_MOST; left out if there is none.',
    }),
    groups: z.array(group).readonly().meta({ description: 'The rules as they are, without allowances.' }),
    allowances: z
      .array(allowance)
      .readonly()
      .optional()
      .meta({ description: 'Extra bytes on top of each limit above 0; left out if there are none.' }),
  })
  .meta({ id: 'QuotaInfo', description: 'The usage of an owner, and the effective groups.' });

export type QuotaInfo = z.infer<typeof quotaInfo>;

const namelessGroup = z.object({ rules: z.array(rule.omit({ name: true })).readonly() });

export const ownQuotaInfo = quotaInfo.extend({ groups: z.array(namelessGroup).readonly() }).meta({
  id: 'OwnQuotaInfo',
  description: 'The usage and the limits of an owner; rules and groups have no names here.',
});
