/** The reasons for decisions, possible mistakes in a policy, and the effect of another policy. */

import { z } from 'zod';
import { subjects } from '../quota/index.ts';
import { atMost, bytes, component, knownName, mostOf, names, strictComponent } from './bounds.ts';
import { groupsRule, limit, newGroup, newRule, rule } from './policy.ts';
import { ownerType, verdict } from './usage.ts';

const named = names.meta({ description: 'The subjects of the rule.' });
const step = z.enum(['assigned', 'defaults', 'builtin']);

const explainedRule = component('ExplainedRule', 'A rule that covers the subject.', {
  rule: z.string().nullable().meta({ description: 'Null for the rule of the built-in group.' }),
  subjects: named,
  used: bytes.meta({ description: 'The usage by this rule, with the bytes that are reserved.' }),
  reserved: bytes.meta({ description: 'Those of them that are reserved and not measured yet.' }),
  limit: bytes.meta({ description: '-1: unlimited. Allowances are added to it.' }),
  allowance: verdict.shape.allowance,
  garbage: verdict.shape.garbage,
  headroom: bytes.nullable().meta({ description: 'limit - used; null if unlimited.' }),
  grace: verdict.shape.grace,
  mode: rule.shape.mode,
  verdict: z
    .enum(['allows', 'graced', 'refuses'])
    .meta({ description: '`graced`: the limit is passed, and its grace lets it through.' }),
  decided: z.boolean().meta({ description: 'True for the deciding one.' }),
});

const explainedBound = explainedRule
  .extend({
    per: rule.shape.per,
    step: z.enum(['assigned', 'defaults']),
    group: z.string(),
    rule: z.string(),
    used: bytes.nullable().meta({ description: 'Null where nobody knows what the bound is about.' }),
    verdict: z.enum(['allows', 'graced', 'refuses', 'not_asked']).meta({
      description: '`not_asked`: nobody knows the repository, or what comes.',
    }),
    share: verdict.shape.share,
    unit: verdict.shape.unit,
    file: verdict.shape.file,
    object: verdict.shape.object,
  })
  .meta({ id: 'ExplainedBound', description: 'A limit of anything but the owner that covers the subject.' });

const explainedBounds = z.array(explainedBound).readonly().optional().meta({
  description:
    'Limits of groups, repositories, pushes and files, in the order in which they are asked after the groups have allowed; left out where there are none.',
});

const explainedGroup = component('ExplainedGroup', {
  group: z.string().nullable().meta({ description: 'Null for the built-in one.' }),
  verdict: z
    .enum(['allows', 'graced', 'refuses', 'no_match'])
    .meta({ description: '`no_match`: no rule of the group covers the subject.' }),
  rules: z.array(explainedRule).readonly(),
  decided: z.boolean(),
});

const explainedDecision = verdict.extend({
  by: z.enum(['disabled', 'rule', 'no_match']),
  step: step.nullable(),
  subjects: named,
  reserved: bytes.meta({ description: 'The bytes of `used` that are reserved and not measured yet.' }),
  warn_percent: z.number().nullable().meta({ description: 'The highest threshold that usage reaches.' }),
});

const explainedSteps = z
  .array(z.object({ step, groups: z.array(explainedGroup).readonly() }))
  .readonly()
  .meta({ description: 'In the order in which they were asked; none when quotas are switched off.' });

const otherwiseDecided = z.object({
  steps: explainedSteps,
  bounds: explainedBounds,
  decision: explainedDecision,
});

export const explanation = component('Explanation', {
  subject: z.enum(subjects),
  settings: z.object({
    enabled: z.boolean(),
    refuse_when: z.enum(['exceeded', 'reached']),
    uncovered: z.enum(['default', 'deny']),
    precise: z.boolean(),
    mode: z.enum(['enforce', 'report']),
    total_bytes: bytes,
  }),
  adding_bytes: bytes.meta({ description: 'Bytes about to be added, as far as they count.' }),
  steps: explainedSteps,
  bounds: explainedBounds,
  decision: explainedDecision,
  reporting: otherwiseDecided.optional().meta({
    description:
      'The same as it would be if all rules in report mode were in force; left out where none bears on the owner.',
  }),
  warning: otherwiseDecided.optional().meta({
    description:
      'The same as it would be if all rules that only warn were in force; left out where none bears on the owner.',
  }),
});

export type Explanation = z.infer<typeof explanation>;

export const policyFault = component('PolicyFault', 'A possible mistake in a policy.', {
  code: z.string(),
  group: z.string().optional(),
  rule: z.string().optional(),
  subject: z.string().optional(),
  message: z.string().meta({ description: 'One line for people.' }),
});

export type LintFault = z.infer<typeof policyFault>;

const draftGroup = newGroup.extend({
  rules: atMost(mostOf.rules, z.array(groupsRule)).nullish(),
  users: atMost(mostOf.users, z.array(knownName)).optional().meta({
    description: 'The members; without it: the members of the group that has this name now.',
  }),
});

export const draftPolicy = strictComponent('DraftPolicy', 'Parts that are left out stay the same.', {
  rules: atMost(mostOf.rules, z.array(newRule)).optional().meta({ description: 'Instead of all rules.' }),
  groups: atMost(mostOf.groups, z.array(draftGroup))
    .optional()
    .meta({ description: 'Instead of all groups.' }),
  without_group: knownName.optional().meta({
    description:
      'Without this group, and without linting. If nothing else changes, only its members are checked.',
  }),
  settings: z
    .strictObject({
      total: limit.optional().meta({ description: '`[quota.default] TOTAL` in bytes.' }),
      default_groups: atMost(mostOf.groupsOfOwner, z.array(knownName)).optional(),
      refuse_when: z.enum(['exceeded', 'reached']).optional(),
      uncovered: z.enum(['default', 'deny']).optional(),
    })
    .default({})
    .meta({ description: 'As in the configuration.' }),
});

export type DraftPolicy = z.output<typeof draftPolicy>;

const changedOwner = component('ChangedOwner', {
  user: z.string(),
  type: ownerType,
  total: bytes.meta({ description: 'The sum of all kinds of data.' }),
  changes: z
    .array(
      z.object({
        subject: z.enum(subjects),
        unit: z.string().optional().meta({
          description: 'The repository, where only its own limit decides otherwise.',
        }),
        before: verdict,
        after: verdict,
      }),
    )
    .meta({ description: 'Of repositories the 20 largest.' }),
});

const changedOwners = z
  .object({ count: z.number().int(), first: z.array(changedOwner).readonly() })
  .meta({ id: 'ChangedOwners', description: 'The number of these owners, and the largest of them.' });

export const simulation = component('Simulation', {
  owners: z.number().int().meta({ description: 'The number of owners that were checked.' }),
  refused: changedOwners.meta({ description: 'Owners who would be newly refused.' }),
  graced: changedOwners.optional().meta({
    description: 'Owners who would newly be over a limit within its grace; left out where there are none.',
  }),
  allowed: changedOwners.meta({ description: 'Owners who would be newly allowed.' }),
  not_asked: z
    .array(z.enum(['push', 'file']))
    .readonly()
    .optional()
    .meta({
      description:
        'What rules of the policy as it would be limit besides, which has no effect on stored data; left out where there are no such rules.',
    }),
  lint: z
    .array(policyFault)
    .readonly()
    .meta({ description: 'Possible mistakes in the policy as it would be.' }),
});

export type ChangedOwner = z.infer<typeof changedOwner>;

export type Simulation = z.infer<typeof simulation>;
