/** Why decisions are as they are, what is odd about a policy, and what another one would change. */

import { z } from 'zod';
import { subjects } from '../quota/index.ts';
import { knownName, mostOf } from './bounds.ts';
import { bytes } from './bytes.ts';
import { groupsRule, limit, newGroup, newRule } from './policy.ts';
import { ownerType, verdict } from './usage.ts';

const named = z.array(z.string()).readonly().meta({ description: 'The subjects that it names.' });
const step = z.enum(['assigned', 'defaults', 'builtin']);

const explainedRule = z
  .object({
    rule: z.string().nullable().meta({ description: "Null for the built-in group's." }),
    subjects: named,
    used: bytes.meta({ description: 'What it counts.' }),
    limit: bytes.meta({ description: '-1: unlimited.' }),
    headroom: bytes.nullable().meta({ description: 'limit - used; null: endless.' }),
    verdict: z.enum(['allows', 'refuses']),
    decided: z.boolean().meta({ description: 'It is the one that decided.' }),
  })
  .meta({ id: 'ExplainedRule', description: 'A rule that covers the subject.' });

const explainedGroup = z
  .object({
    group: z.string().nullable().meta({ description: 'Null for the built-in one.' }),
    verdict: z
      .enum(['allows', 'refuses', 'no_match'])
      .meta({ description: '`no_match`: no rule of it covers the subject.' }),
    rules: z.array(explainedRule).readonly(),
    decided: z.boolean(),
  })
  .meta({ id: 'ExplainedGroup' });

export const explanation = z
  .object({
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
    steps: z
      .array(z.object({ step, groups: z.array(explainedGroup).readonly() }))
      .readonly()
      .meta({ description: 'In the order in which they were asked; none when quotas are switched off.' }),
    decision: verdict.extend({
      by: z.enum(['disabled', 'rule', 'no_match']),
      step: step.nullable(),
      subjects: named,
      warn_percent: z.number().nullable().meta({ description: 'The highest threshold that usage reaches.' }),
    }),
  })
  .meta({ id: 'Explanation' });

export type Explanation = z.infer<typeof explanation>;

export const policyFault = z
  .object({
    code: z.string(),
    group: z.string().optional(),
    rule: z.string().optional(),
    subject: z.string().optional(),
    message: z.string().meta({ description: 'One line for people.' }),
  })
  .meta({
    id: 'PolicyFault',
    description: 'Something of a policy that is allowed to stand, but hardly meant.',
  });

export type LintFault = z.infer<typeof policyFault>;

export const draftPolicy = z
  .strictObject({
    rules: z.array(newRule).max(mostOf.rules).optional().meta({ description: 'Instead of all rules.' }),
    groups: z
      .array(
        newGroup.extend({
          rules: z.array(groupsRule).max(mostOf.rules).nullish(),
          users: z
            .array(knownName)
            .max(mostOf.users)
            .optional()
            .meta({ description: 'Who is in it; left out: those who are in the group of that name.' }),
        }),
      )
      .max(mostOf.groups)
      .optional()
      .meta({ description: 'Instead of all groups.' }),
    settings: z
      .strictObject({
        total: limit.optional().meta({ description: '`[quota.default] TOTAL` in bytes.' }),
        default_groups: z.array(knownName).max(mostOf.groupsOfOwner).optional(),
        refuse_when: z.enum(['exceeded', 'reached']).optional(),
        uncovered: z.enum(['default', 'deny']).optional(),
      })
      .default({})
      .meta({ description: 'As in the configuration.' }),
  })
  .meta({ id: 'DraftPolicy', description: 'What is left out stays as it is.' });

export type DraftPolicy = z.output<typeof draftPolicy>;

const changedOwner = z
  .object({
    user: z.string(),
    type: ownerType,
    total: bytes.meta({ description: 'All kinds together.' }),
    changes: z.array(z.object({ subject: z.enum(subjects), before: verdict, after: verdict })),
  })
  .meta({ id: 'ChangedOwner' });

const changedOwners = z
  .object({ count: z.number().int(), first: z.array(changedOwner).readonly() })
  .meta({ id: 'ChangedOwners', description: 'How many there are, and those who store most.' });

export const simulation = z
  .object({
    owners: z.number().int().meta({ description: 'How many were looked at.' }),
    refused: changedOwners.meta({ description: 'Who would newly be refused something.' }),
    allowed: changedOwners.meta({ description: 'Who would newly be allowed something.' }),
    lint: z.array(policyFault).readonly().meta({ description: 'Faults of the policy as it would be.' }),
  })
  .meta({ id: 'Simulation' });

export type ChangedOwner = z.infer<typeof changedOwner>;

export type Simulation = z.infer<typeof simulation>;
