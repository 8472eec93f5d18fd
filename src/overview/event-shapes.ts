/** The shapes of events in the API, and the conversion of stored records into them. */

import { z } from 'zod';
import { jsonOf } from '../parsed.ts';
import { boundScopes, leaves, subjects } from '../quota/index.ts';
import type { EventRecord } from '../store/index.ts';
import { isoTime } from '../text.ts';

const bytes = z.number().int();

const common = { id: z.string(), at: z.string().meta({ description: 'ISO 8601.' }) };

const ruling = {
  used: bytes.nullable().meta({ description: 'The usage by the deciding rule; null if there was none.' }),
  limit: bytes.nullable(),
  group: z.string().nullable().meta({ description: 'Null for the built-in group.' }),
  rule: z.string().nullable().meta({ description: 'Null for the built-in rule.' }),
};

/** The thing that the deciding rule limits, unless it is the owner. */
const bound = {
  per: z.enum(boundScopes).optional().meta({
    description: 'The thing that the deciding rule limits; left out where that is what the owner stores.',
  }),
  share: bytes.optional().meta({ description: 'Bytes of the owner among those of a group.' }),
  unit: z.string().optional().meta({ description: 'The repository that is limited.' }),
  file: z.string().optional().meta({ description: 'The path or the name of the file, where it is known.' }),
  object: z.string().optional().meta({ description: 'The id of the object with the content of the file.' }),
};

const refusalEvent = z
  .object({
    ...common,
    at: z.string().meta({ description: 'The time of the first refusal.' }),
    kind: z.literal('refusal'),
    last_at: z.string(),
    count: z.number().int().min(1),
    owner: z.string().nullable().meta({ description: 'Null if there are several, with `others` true.' }),
    actor: z
      .string()
      .nullable()
      .meta({ description: 'Null if it is not known, or if there are several, with `others` true.' }),
    subject: z.enum(subjects).meta({ description: 'The subject of the request.' }),
    mode: z
      .enum(['enforce', 'report'])
      .meta({ description: '`report`: the action was allowed nevertheless.' }),
    others: z.boolean().meta({
      description:
        'True for the sum of all further owners or actors of an hour. The number of records of an hour is limited.',
    }),
    host: z.string(),
    ...ruling,
    ...bound,
    full_disk: z.boolean().default(false).meta({
      description: 'True where the last refusal was by `[disk] MIN_FREE`, and not by a limit.',
    }),
  })
  .meta({
    id: 'RefusalEvent',
    description: 'The refusals of one hour, added up; `used` and `limit` are from the last one.',
  });

const level = z
  .union([z.literal('limit'), z.number().int().min(1).max(100)])
  .nullable()
  .meta({ description: 'A threshold in percent of the limit, or `limit`; null: below all thresholds.' });

const limited = {
  owner: z.string().nullable().meta({
    description: 'Null: the members of the group together, with `per`; only administrators see it.',
  }),
  per: z.literal('group').optional().meta({
    description: "There if the limit is of the group's members together, whose usage is `used`.",
  }),
};

const thresholdEvent = z
  .object({
    ...common,
    kind: z.literal('threshold'),
    ...limited,
    direction: z.enum(['up', 'down']),
    from: level,
    to: level,
    subjects: z.array(z.enum(leaves)).meta({ description: 'The kinds of data that are concerned.' }),
    ...ruling,
    grace_until: z.string().optional().meta({
      description: 'When refusals begin, where the limit has a grace; left out where they began at once.',
    }),
  })
  .meta({
    id: 'ThresholdEvent',
    description:
      'An owner, or the members of a group together, reached a threshold of WARN_AT or the limit, or are back below it. The ' +
      'latter is recorded only when a fiftieth of it is free, so that small changes around a threshold do not fill the record.',
  });

const graceEvent = z
  .object({
    ...common,
    kind: z.literal('grace'),
    ...limited,
    ended_by: z.enum(['time', 'size']).meta({
      description:
        '`time`: it had its time; `size`: usage is higher than it allows, and refused before its end.',
    }),
    mode: z.enum(['enforce', 'report']).meta({ description: '`report`: nothing is refused nevertheless.' }),
    subjects: z.array(z.enum(leaves)).meta({ description: 'The kinds of data that are concerned.' }),
    ...ruling,
    until: z.string().meta({ description: 'The end of the time, ISO 8601.' }),
    below: bytes.meta({
      description: 'The usage at which everything that grows is refused during the grace.',
    }),
  })
  .meta({
    id: 'GraceEvent',
    description: 'The grace of an owner, or of a group, over a limit ended, and refusals began.',
  });

const author = z
  .object({
    owner_id: z.number().int().nullable(),
    name: z.string().nullable().meta({ description: "Null: the host's administrator." }),
    token_id: z.string().nullable(),
  })
  .meta({ id: 'Author' });

const become = {
  action: z.enum(['created', 'edited', 'deleted']),
  what: z
    .string()
    .meta({ description: 'Such as `rule`, `group`, `assignment`, `owner`, `token`, `session`.' }),
  name: z.string().nullable(),
  owner: z.string().nullable().meta({ description: 'The owner that it belongs to, if there is one.' }),
  before: z.unknown().meta({ description: 'An object; null if it did not exist before.' }),
  after: z.unknown().meta({ description: 'An object; null if it was deleted.' }),
};

const policyEventFields = {
  ...common,
  change: z.string().meta({ description: 'The same value for all events of one change.' }),
  by: author.nullable().meta({ description: 'Null: softquota itself.' }),
};

const policyEvent = z.object({ ...policyEventFields, kind: z.literal('policy'), ...become }).meta({
  id: 'PolicyEvent',
  description: 'A change of the policy, an owner or an account. Secrets are left out.',
});

const names = z.array(z.string());
const changes = z.array(z.object(become)).meta({ description: 'All changes.' });

const signInEvent = z
  .object({
    ...policyEventFields,
    kind: z.literal('sign-in'),
    owner: z.string(),
    source: z.object({ id: z.number().int(), name: z.string() }),
    via: z.enum(['sign-in', 'program']).meta({ description: '`program`: a program sent the claims.' }),
    outcome: z.enum(['synchronized', 'kept', 'overage', 'off']).meta({
      description:
        '`kept`: the claim is absent, and `missing_claim` is `keep`; `overage`: the provider had too many groups to name ' +
        'them; `off`: the source names no claim.',
    }),
    groups: names.meta({ description: "The user's quota groups afterwards." }),
    added: names,
    removed: names,
    skipped: names.meta({ description: 'Mapped and claimed quota groups that do not exist.' }),
    ignored: names.meta({ description: 'The parts of the claim that could not be understood.' }),
    unmapped: names
      .max(50)
      .optional()
      .meta({
        description:
          'Groups at the provider that the mapping does not name, by name: the first 50. Left out in events of older versions, ' +
          'as `unmapped_count` is.',
      }),
    unmapped_count: z.number().int().optional().meta({ description: 'The number of these groups.' }),
    administration: z.enum(['given', 'ended', 'unchanged']),
    changes,
  })
  .meta({
    id: 'SignInEvent',
    description:
      'A user signed in with an OAuth2 source, or a program sent claims of the source about a user.',
  });

const requestEvent = z
  .object({
    ...policyEventFields,
    kind: z.literal('request'),
    owner: z.string(),
    action: z.enum(['asked', 'granted', 'declined', 'withdrawn']),
    request: z.string().meta({ description: 'Its id.' }),
    bytes: bytes.meta({ description: 'As it was asked for, or, like `until`, as it was granted.' }),
    until: z.string().nullable(),
    words: z.string().meta({ description: 'Why it was asked for, or the words of the answer.' }),
    automatic: z
      .boolean()
      .meta({ description: 'Granted by `[requests] AUTO_GRANT` as it was asked for; `by` is the asker.' }),
    allowance: z.string().nullable().meta({ description: 'The id of the allowance that was given.' }),
    changes,
  })
  .meta({ id: 'RequestEvent', description: 'A request for more space was made or answered.' });

const allowanceEvent = z
  .object({
    ...policyEventFields,
    kind: z.literal('allowance'),
    owner: z.string(),
    action: z.enum(['granted', 'ended']),
    allowance: z.string().meta({ description: 'Its id.' }),
    bytes,
    until: z.string(),
    why: z.string(),
    request: z.string().nullable().meta({ description: 'The id of the request that it answered.' }),
    changes,
  })
  .meta({
    id: 'AllowanceEvent',
    description:
      'Somebody gave an owner extra bytes without a request, or ended an allowance; with `by` null it ended at its time.',
  });

const reclaimEvent = z
  .object({
    ...common,
    kind: z.literal('reclaim'),
    owner: z.string().nullable(),
    repository: z.string().meta({ description: 'Its path.' }),
    host: z.string(),
    freed: z.number().int().meta({ description: 'Bytes.' }),
    fault: z.string().nullable().meta({ description: "Why it failed, in git's words; null: it did not." }),
  })
  .meta({
    id: 'ReclaimEvent',
    description: 'The worker deleted what nothing reaches in a repository, or failed to.',
  });

const { id, owner, actor, subject, last_at, count, others, host } = refusalEvent.shape;

const unaskedEvent = z
  .object({
    id,
    at: z.string().meta({ description: 'The first time.' }),
    kind: z.literal('unasked'),
    last_at,
    count,
    owner,
    actor,
    subject,
    others,
    host,
    unasked: z.enum(boundScopes).meta({ description: 'What the limit is for, as `per` of a rule.' }),
  })
  .meta({
    id: 'UnaskedEvent',
    description:
      'What was let through in one hour, added up, because a limit could not be asked: nobody could tell the size of what came, or the repository.',
  });

const inheritedEvent = z
  .object({
    ...common,
    kind: z.literal('inherited'),
    owner: z.string().meta({ description: 'The owner for whom the repository counts from now on.' }),
    from: z.string().meta({ description: 'The owner for whom it counted before.' }),
    repository: z.string().meta({ description: 'Its name, such as `pool of group/project`.' }),
    host: z.string(),
    bytes,
  })
  .meta({
    id: 'InheritedEvent',
    description:
      'What forks of a project share counts for the owner of one of the forks, because the project is gone.',
  });

export const event = z
  .discriminatedUnion('kind', [
    refusalEvent,
    thresholdEvent,
    graceEvent,
    policyEvent,
    signInEvent,
    requestEvent,
    allowanceEvent,
    reclaimEvent,
    unaskedEvent,
    inheritedEvent,
  ])
  .meta({ id: 'Event' });

export const eventKinds = event.options.map(({ shape }) => shape.kind.value);

export const ownEvent = z
  .discriminatedUnion('kind', [refusalEvent, thresholdEvent, graceEvent, inheritedEvent])
  .meta({ id: 'OwnEvent', description: 'The events that owners see about themselves.' });

/** The kinds that owners see. Changes of the policy, with their authors, are only for administrators. */
export const ownEventKinds = ownEvent.options.map(({ shape }) => shape.kind.value);

export type Event = z.infer<typeof event>;
/** The events of some kinds. */
export type EventOf<Kind extends EventKind> = Extract<Event, { readonly kind: Kind }>;
export type EventKind = Event['kind'];

/** Converts a stored record to an event; null: it is not a valid event. */
export function eventOf({ id, kind, at, text }: EventRecord): Event | null {
  const kept = keptFields.safeParse(fieldsIn(text));
  if (!kept.success) return null;
  const { lastAt, by, ...fields } = kept.data;
  const author = by && { owner_id: by.ownerId, name: by.name, token_id: by.tokenId };
  return event.safeParse({ id, kind, at: isoTime(at), ...fields, last_at: lastAt, by: author }).data ?? null;
}

/** Fields whose names in the store differ from those in the API; `event` checks their values. */
const keptFields = z.looseObject({
  lastAt: z.unknown().optional(),
  by: z.object({ ownerId: z.unknown(), name: z.unknown(), tokenId: z.unknown() }).nullish(),
});

/** Parses the fields of a JSON object; returns none if it is not one. */
export function fieldsIn(text: string): Readonly<Record<string, unknown>> {
  const fields = jsonOf(text);
  return typeof fields === 'object' && !Array.isArray(fields) ? { ...fields } : {};
}
