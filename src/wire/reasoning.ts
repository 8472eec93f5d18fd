/** The whole reasoning of a decision. */

import { z } from 'zod';
import { subjects } from '../quota/index.ts';
import { bytes } from './bytes.ts';
import { verdict } from './usage.ts';

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
      .enum(['allows', 'refuses', 'silent'])
      .meta({ description: '`silent`: no rule of it covers the subject.' }),
    rules: z.array(explainedRule).readonly(),
    decided: z.boolean(),
  })
  .meta({ id: 'ExplainedGroup' });

export const explanation = z
  .object({
    subject: z.enum(subjects),
    settings: z.object({
      enabled: z.boolean(),
      refuseWhen: z.enum(['exceeded', 'reached']),
      uncovered: z.enum(['default', 'deny']),
      precise: z.boolean(),
      mode: z.enum(['enforce', 'report']),
      totalBytes: bytes,
    }),
    addingBytes: bytes.meta({ description: 'Bytes about to be added, as far as they count.' }),
    steps: z
      .array(z.object({ step, groups: z.array(explainedGroup).readonly() }))
      .readonly()
      .meta({ description: 'In the order in which they were asked; none when quotas are switched off.' }),
    decision: verdict.extend({
      by: z.enum(['disabled', 'rule', 'silence']),
      step: step.nullable(),
      subjects: named,
      warnPercent: z.number().nullable().meta({ description: 'The highest threshold that usage reaches.' }),
    }),
  })
  .meta({ id: 'Explanation' });
