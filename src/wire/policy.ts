/**
 * Rules and groups, single and as one document, and the limits of an owner, in the JSON of Forgejo's clients.
 *
 * Schemas of requests contain the checks. Their messages are for the client, and each says what is expected.
 */

import { z } from 'zod';
import {
  isSubject,
  parseGraceMost,
  type RuleScope,
  type RuleSubject,
  ruleModes,
  ruleScopes,
  subjects,
} from '../quota/index.ts';
import { longestDurationMs } from '../text.ts';
import {
  atMost,
  bytes,
  component,
  knownName,
  mark,
  mostOf,
  names,
  newName,
  queryNumber,
  strictComponent,
  text,
} from './bounds.ts';
import { allowance } from './requests.ts';
import { ownerRow, ownerState, usageTree } from './usage.ts';

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

/** A subject in a question; surrounding spaces are ignored. */
export const askedSubject = text
  .trim()
  .refine(isSubject, { error: `expected one of ${subjects.join(', ')}` })
  .meta({
    pattern: `^ *(${subjects.join('|')}) *$`,
    description: `One of ${subjects.map(subject => `\`${subject}\``).join(', ')}.`,
  });

/** Parameters of a question about a decision. */
export const askedDecision = {
  subject: askedSubject,
  size: queryNumber(0, Number.MAX_SAFE_INTEGER, 0).meta({
    description: 'Bytes about to be added; they count with `[quota] PRECISE`.',
  }),
} as const;

const asConfigured = 'default';

const graceExpected = 'expected whole seconds from 0 to 3153600000, or "default" for as configured';

/** Grace in seconds; `default` stands for the configuration. */
const newGrace = z
  .union(
    [
      z.literal(asConfigured),
      z
        .number({ error: graceExpected })
        .int({ error: graceExpected })
        .min(0, { error: graceExpected })
        .max(longestDurationMs / 1000, { error: graceExpected }),
    ],
    { error: graceExpected },
  )
  .meta({
    description:
      'How long an owner who comes over the limit by less than `grace_most` is warned before refusals begin, in seconds; 0: not at all; `default`: as `[quota] GRACE` says.',
    examples: [604_800],
  });

const longestMost = 50;
/** Form that `parseGraceMost` reads, but without limits of the size. */
const mostPattern = String.raw`^(default|\s*(\d{1,4}(\.\d{1,3})? ?%|(\d[\d,]*(\.\d*)?|\.\d+)[ \t]*([kmgtpeKMGTPE][iI]?)?[bB]?)\s*)$`;
const mostExpected = 'expected per cent of the limit, such as "10 %", a size, such as "5G", or "default"';

const newGraceMost = z
  .string({ error: mostExpected })
  .max(longestMost, { error: mostExpected })
  .refine(text => text === asConfigured || parseGraceMost(text).ok, { error: mostExpected })
  .meta({
    description:
      'How far the limit may be passed meanwhile: a percentage of the limit, or a size; `default`: as `[quota] GRACE_MOST` says.',
    pattern: mostPattern,
    examples: ['10 %'],
  });

const newMode = z.enum(['enforce', ...ruleModes], { error: 'expected enforce, report or warn' }).meta({
  description:
    '`report`: what it would refuse is recorded, and let through; `warn`: who passes its limit is told, and refused nothing; `enforce`, as it is unless given: it is in force.',
});

const warnAtExpected = 'expected a list of whole percentages from 1 to 100, or "default" for as configured';

const percentage = z
  .number({ error: warnAtExpected })
  .int({ error: warnAtExpected })
  .min(1, { error: warnAtExpected })
  .max(100, { error: warnAtExpected });

const newWarnAt = z
  .union([z.literal(asConfigured), z.array(percentage).max(100).readonly()], { error: warnAtExpected })
  .meta({
    description:
      'Percentages of the limit at which pushers are warned and events are sent; an empty list: none; `default`: as `[quota] WARN_AT` says.',
    examples: [[50, 80]],
  });

const scopeMeta = {
  description:
    'The thing that it limits: all that an `owner` stores, as it is unless given; the members of its `group` together; each `repository`; all that a `push` or an upload brings; each `file` of that.',
};

/**
 * The whole rule is checked later, after its name: an existing name is a conflict before anything else is.
 */
const newScope = z
  .custom<RuleScope>(() => true)
  .meta({ ...scopeMeta, type: 'string', enum: [...ruleScopes] });

const shownScope = z.enum(ruleScopes).meta(scopeMeta);

/** Rejects the mode that groups had in the previous release. */
const noGroupMode = z
  .never({
    error:
      'groups have no mode any more: leave it out, and set "mode": "report" on the rules of the group; copy a rule that another group shares under the name "NAME (GROUP)" first',
  })
  .optional()
  .meta({ description: 'Groups have no mode: it is an error. Set the mode of their rules.' });

const graceFields = {
  grace: z
    .number()
    .optional()
    .meta({ description: 'Its own grace, in seconds; 0: none. Left out: as `[quota] GRACE` says.' }),
  grace_most: z
    .string()
    .optional()
    .meta({
      description:
        'How far its limit may be passed meanwhile, such as `10 %` or `5 GB`. Left out: as `[quota] GRACE_MOST` says.',
      examples: ['10 %'],
    }),
};

const shownWarnAt = z.array(z.number().int()).readonly().optional().meta({
  description: 'The percentages of its own at which is warned. Left out: as `[quota] WARN_AT` says.',
});

const shownMode = z.enum(ruleModes).optional().meta({
  description:
    '`report`: what it would refuse is recorded, and let through; `warn`: who passes its limit is told, and refused nothing. Left out: it is in force.',
});

/** Null means the same as absent, because clients in other languages send it. */
const newTerms = {
  per: newScope.nullish(),
  grace: newGrace.nullish(),
  grace_most: newGraceMost.nullish(),
  mode: newMode.nullish(),
  warn_at: newWarnAt.nullish(),
};

export const newRule = z
  .object({ name: newName, limit, subjects: newSubjects.nullish(), ...newTerms })
  .meta({ id: 'NewRule' });

export type NewRule = z.output<typeof newRule>;

export const ruleEdit = z
  .object({ limit: limit.nullish(), subjects: newSubjects.nullish(), ...newTerms })
  .meta({ id: 'RuleEdit', description: 'Fields that are left out stay the same.' });

export type RuleEdit = z.output<typeof ruleEdit>;

export const rule = component('Rule', {
  name: z.string(),
  limit: bytes,
  subjects: ruleSubjects,
  ...graceFields,
  mode: shownMode,
  per: shownScope,
  warn_at: shownWarnAt,
});

export type Rule = z.infer<typeof rule>;

export const groupsRule = z
  .object({ name: newName, limit: limit.nullish(), subjects: newSubjects.nullish(), ...newTerms })
  .meta({
    description: 'An existing rule is used unchanged; a new rule is created, and needs a limit.',
  });

export const newGroup = component('NewGroup', {
  name: newName,
  rules: atMost(mostOf.rulesOfNewGroup, z.array(groupsRule)).nullish(),
  mode: noGroupMode,
});

export const group = z.object({ name: z.string(), rules: z.array(rule).readonly() }).meta({ id: 'Group' });

export type Group = z.infer<typeof group>;

export const ownersGroups = component('OwnersGroups', {
  groups: atMost(mostOf.groupsOfOwner, z.array(knownName)).meta({
    description: 'The names of all groups that the owner should be in.',
  }),
});

const pool = z.object({
  rule: z.string(),
  subjects: ruleSubjects,
  limit: bytes.meta({ description: '-1 if unlimited.' }),
  used: bytes.meta({ description: 'The bytes of all members together that the rule counts.' }),
  percent: ownerRow.shape.percent,
  state: ownerState.meta({
    description:
      '`over`: the limit refuses the members; `grace`: it is passed, and its grace lets them through; `near`: the lowest threshold of WARN_AT is reached; `ok`: none of these. A rule with a `mode` has the state that it would have if it were in force.',
  }),
  mode: shownMode,
});

const ownPool = component('OwnPool', 'A limit that an owner shares with the other members of a group.', {
  group: z.string(),
  ...pool.shape,
  limit: bytes.meta({ description: '-1 if unlimited. Allowances of the owner are added to it.' }),
  share: bytes.meta({ description: 'Bytes of the owner among them.' }),
});

export const groupUsage = z
  .object({
    group: z.string(),
    pools: z
      .array(pool.meta({ id: 'Pool' }))
      .readonly()
      .meta({ description: 'The rules of the group that limit its members together, by their names.' }),
    count: z.number().int().meta({ description: 'The number of all members.' }),
    members: z
      .array(
        z
          .object({
            owner: z.string(),
            used: z
              .record(z.string(), bytes)
              .meta({ description: 'By the name of each of these rules: the bytes that it counts.' }),
          })
          .meta({ id: 'PoolMember' }),
      )
      .readonly()
      .meta({ description: 'One page, those first who have most below the first of these rules.' }),
  })
  .meta({ id: 'GroupUsage', description: 'What the members of a group use together, and each of them.' });

export type GroupUsage = z.infer<typeof groupUsage>;

export const quotaInfo = component('QuotaInfo', 'The usage of an owner, and the effective groups.', {
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
  pools: z.array(ownPool).readonly().optional().meta({
    description: 'Limits of all members of a group together; left out if the owner is in no such group.',
  }),
});

export type OwnPool = z.infer<typeof ownPool>;

export type QuotaInfo = z.infer<typeof quotaInfo>;

const namelessGroup = z.object({ rules: z.array(rule.omit({ name: true })).readonly() });

export const ownQuotaInfo = quotaInfo.extend({ groups: z.array(namelessGroup).readonly() }).meta({
  id: 'OwnQuotaInfo',
  description: 'The usage and the limits of an owner; rules and groups have no names here.',
});

const version = mark.meta({
  description: 'Of what it says: another policy has another version, the same one has the same.',
});

const wholeGroup = component('WholeGroup', {
  name: z.string(),
  rules: names.meta({ description: 'The names of its rules.' }),
  users: names.meta({ description: 'The users and organizations in it, as they came to it.' }),
});

export const wholePolicy = z
  .object({ version, rules: z.array(rule).readonly(), groups: z.array(wholeGroup).readonly() })
  .meta({ id: 'WholePolicy', description: 'All rules and groups, and who is in which.' });

export type WholePolicy = z.infer<typeof wholePolicy>;

export const newWholeRule = z.strictObject(newRule.shape);

const newWholeGroup = strictComponent('NewWholeGroup', {
  name: newName,
  rules: atMost(mostOf.rules, z.array(knownName))
    .nullish()
    .meta({ description: 'Names of rules of this document.' }),
  users: atMost(mostOf.users, z.array(knownName))
    .nullish()
    .meta({ description: 'Who is in it; left out: those who are in the group of that name.' }),
  mode: noGroupMode,
});

export const newWholePolicy = z
  .strictObject({
    version: version.nullish().meta({
      description:
        'Of the policy that this one is to take the place of; left out: of any. Another one is a conflict.',
    }),
    rules: atMost(mostOf.rules, z.array(newWholeRule)),
    groups: atMost(mostOf.groups, z.array(newWholeGroup)),
  })
  .meta({
    id: 'NewWholePolicy',
    description: 'All rules and groups that there are to be; there are no others then.',
  });

export type NewWholePolicy = z.output<typeof newWholePolicy>;

export const replacedPolicy = wholePolicy
  .extend({
    created_users: names.meta({ description: 'Who was not known before, and was created.' }),
  })
  .meta({ id: 'ReplacedPolicy', description: 'The policy as it is now.' });

export type ReplacedPolicy = z.infer<typeof replacedPolicy>;
