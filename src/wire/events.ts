/** What happened: refusals, crossings of thresholds, changes of policy, sign-ins. */

import { z } from 'zod';
import { leaves, subjects } from '../quota/index.ts';
import { bytes } from './bytes.ts';

export const eventKinds = ['refusal', 'threshold', 'policy', 'sign-in'] as const;

const common = {
  id: z.string(),
  at: z.string().meta({ description: 'ISO 8601.' }),
};

const ruling = {
  used: bytes.nullable().meta({ description: 'What the deciding rule counted; null where there was none.' }),
  limit: bytes.nullable(),
  group: z.string().nullable().meta({ description: 'Null for the built-in group.' }),
  rule: z.string().nullable().meta({ description: 'Null for the built-in rule.' }),
};

export const refusalEvent = z
  .object({
    ...common,
    at: z.string().meta({ description: 'When the first was.' }),
    kind: z.literal('refusal'),
    last_at: z.string(),
    count: z.number().int().min(1),
    owner: z.string().nullable().meta({ description: 'Null: several, where `others` is true.' }),
    actor: z
      .string()
      .nullable()
      .meta({ description: 'Null: nobody said, or several where `others` is true.' }),
    subject: z.enum(subjects).meta({ description: 'What was asked about.' }),
    mode: z.enum(['enforce', 'report']).meta({ description: '`report`: let through all the same.' }),
    others: z.boolean().meta({
      description:
        'Added up of those for whom an hour has no room of their own, so that nobody can flood the record.',
    }),
    host: z.string(),
    ...ruling,
  })
  .meta({
    id: 'RefusalEvent',
    description: 'Refusals of one hour, added up; used and limit are those of the last.',
  });

const level = z
  .union([z.literal('limit'), z.number().int().min(1).max(100)])
  .nullable()
  .meta({ description: 'A threshold in percent of the limit, or `limit`; null: below all of them.' });

export const thresholdEvent = z
  .object({
    ...common,
    kind: z.literal('threshold'),
    owner: z.string(),
    direction: z.enum(['up', 'down']),
    from: level,
    to: level,
    subjects: z.array(z.enum(leaves)).meta({ description: 'The kinds of data that this bears on.' }),
    ...ruling,
  })
  .meta({
    id: 'ThresholdEvent',
    description:
      'An owner came to a threshold of WARN_AT or to the limit, or is below again. Down is told once a fiftieth of ' +
      'it is free, so that nobody who hovers there fills the record.',
  });

const author = z
  .object({
    owner_id: z.number().int().nullable(),
    name: z.string().nullable().meta({ description: "Null: this host's administrator." }),
    token_id: z.string().nullable(),
  })
  .meta({ id: 'Author' });

const become = {
  action: z.enum(['created', 'edited', 'deleted']),
  what: z
    .string()
    .meta({ description: 'Such as `rule`, `group`, `assignment`, `owner`, `token`, `session`.' }),
  name: z.string().nullable(),
  owner: z.string().nullable().meta({ description: "Whose it is, where it is one owner's." }),
  before: z.unknown().meta({ description: 'An object; null where there was nothing.' }),
  after: z.unknown().meta({ description: 'An object; null where there is nothing any more.' }),
};

const policyEventFields = {
  ...common,
  change: z.string().meta({ description: 'The same for all that came into force together.' }),
  by: author.nullable().meta({ description: 'Null: softquota itself.' }),
};

export const policyEvent = z.object({ ...policyEventFields, kind: z.literal('policy'), ...become }).meta({
  id: 'PolicyEvent',
  description: 'Something of the policy, or an owner, became another. Secrets are left out.',
});

const names = z.array(z.string());

export const signInEvent = z
  .object({
    ...policyEventFields,
    kind: z.literal('sign-in'),
    owner: z.string(),
    source: z.object({ id: z.number().int(), name: z.string() }),
    via: z.enum(['sign-in', 'program']).meta({ description: '`program`: a program told the claims.' }),
    outcome: z.enum(['synchronized', 'kept', 'overage', 'off']).meta({
      description:
        '`kept`: the claim is absent, which is to change nothing; `overage`: the provider had too many groups to name ' +
        'them; `off`: the source names no claim.',
    }),
    groups: names.meta({ description: "The user's quota groups afterwards." }),
    added: names,
    removed: names,
    skipped: names.meta({ description: 'Mapped and claimed quota groups that there are not.' }),
    ignored: names.meta({ description: 'What of the claim could not be understood.' }),
    unmapped: names
      .max(50)
      .optional()
      .meta({
        description:
          'Groups at the provider that the mapping does not name, by name: the first 50. Left out in events of older versions, ' +
          'as `unmapped_count` is.',
      }),
    unmapped_count: z.number().int().optional().meta({ description: 'How many there are of them.' }),
    administration: z.enum(['given', 'ended', 'unchanged']),
    changes: z.array(z.object(become)).meta({ description: 'All that became another.' }),
  })
  .meta({
    id: 'SignInEvent',
    description:
      'Somebody signed in by an OAuth2 source, or a program told what the source claims of somebody.',
  });

export const event = z
  .discriminatedUnion('kind', [refusalEvent, thresholdEvent, policyEvent, signInEvent])
  .meta({ id: 'Event' });

/** Who changed what of the policy is for administrators. */
export const ownEventKinds = ['refusal', 'threshold'] as const satisfies readonly EventKind[];

export const ownEvent = z
  .discriminatedUnion('kind', [refusalEvent, thresholdEvent])
  .meta({ id: 'OwnEvent', description: 'What owners see of what happened to them.' });

export type OwnEvent = z.infer<typeof ownEvent>;
export type RefusalEvent = z.infer<typeof refusalEvent>;
export type SignInEvent = z.infer<typeof signInEvent>;
export type ThresholdEvent = z.infer<typeof thresholdEvent>;
export type Event = z.infer<typeof event>;
export type EventKind = (typeof eventKinds)[number];
