/** Requests for more space, and allowances: extra bytes for a limited time. */

import { z } from 'zod';
import { bytes, component, strictComponent } from './bounds.ts';

const mostWords = 1000;
const longestMoment = 40;

/** Text from one person for another. */
const words = z.string().trim().max(mostWords);

const wanted = 'expected whole bytes from 1 to 2^53 - 1';

const moreBytes = z
  .number({ error: issue => (issue.input === undefined ? `it is missing, ${wanted}` : wanted) })
  .int({ error: wanted, abort: true })
  .min(1, { error: wanted })
  .meta({ description: 'Bytes on top of what the rules say.' });

const end = z.iso
  .datetime({
    offset: true,
    error: 'expected a moment in ISO 8601 with its time zone, such as 2026-12-24T12:00:00Z',
  })
  .max(longestMoment)
  .meta({ description: 'ISO 8601; a part of a second does not count.' });

/** Unreachable bytes under a rule that do not count. */
export const unreachableGarbage = z
  .object({
    stored: bytes.meta({ description: 'The stored bytes that the rule counts, with the unreachable ones.' }),
    unreachable: bytes.meta({ description: 'Those that no ref of their repository reaches.' }),
    billed: bytes.meta({ description: 'Those that count: `used` without what is reserved.' }),
    most: bytes.meta({ description: 'The most unreachable bytes that are forgiven (`GARBAGE_MOST`).' }),
  })
  .meta({
    id: 'Garbage',
    description:
      'The stored bytes, with `[quota] GARBAGE = forgive`, of which unreachable ones do not count.',
  });

export const newRequest = strictComponent('NewRequest', {
  bytes: moreBytes,
  until: end.nullish().meta({ description: 'If omitted, the administrator sets the end when granting.' }),
  why: words.min(1, { error: 'it is missing: say in a few words what for' }),
});

export const requestStates = ['open', 'granted', 'declined', 'withdrawn'] as const;

export const spaceRequest = component('SpaceRequest', 'A request for more space.', {
  id: z.string(),
  owner: z.string().meta({ description: 'The user or the organization that is to have more.' }),
  asked_by: z.string(),
  asked_at: z.string(),
  bytes: bytes.meta({ description: 'As it was asked for, as `until` is.' }),
  until: z.string().nullable(),
  why: z.string(),
  state: z.enum(requestStates),
  answer: z
    .object({
      at: z.string(),
      by: z.string().nullable().meta({
        description: 'Null: the administrator of a host, the configuration, or the asker who withdrew it.',
      }),
      automatic: z.boolean().meta({ description: 'Granted by `[requests] AUTO_GRANT`.' }),
      words: z.string(),
      granted: z
        .object({ allowance: z.string(), bytes, until: z.string() })
        .nullable()
        .meta({ description: 'The allowance that was given; null if none was.' }),
    })
    .nullable()
    .meta({ description: 'Null while the request is open.' }),
});

export type SpaceRequest = z.infer<typeof spaceRequest>;

export const grantOrder = strictComponent('GrantOrder', {
  bytes: moreBytes.nullish().meta({ description: 'Left out: as it was asked for.' }),
  until: end.nullish().meta({ description: 'Left out: as it was asked for; required if it was not.' }),
  words: words.nullish().meta({ description: 'For the asker.' }),
});

export const declineOrder = strictComponent('DeclineOrder', {
  words: words
    .min(1, { error: 'it is missing: say in a few words why' })
    .meta({ description: 'For the asker.' }),
});

export const newAllowance = strictComponent('NewAllowance', {
  bytes: moreBytes,
  until: end,
  why: words.min(1, { error: 'it is missing: say in a few words what for' }),
});

export const allowance = z
  .object({
    id: z.string(),
    bytes,
    until: z.string(),
    why: z.string(),
    granted_by: z
      .string()
      .nullable()
      .meta({ description: 'Null: the administrator of a host, or the configuration.' }),
    granted_at: z.string(),
    request: z.string().nullable().meta({ description: 'The request that it answers.' }),
    automatic: z.boolean().meta({ description: 'Granted by `[requests] AUTO_GRANT`.' }),
  })
  .meta({
    id: 'Allowance',
    description: 'Extra bytes for an owner on top of what the rules say, for a time.',
  });

export type Allowance = z.infer<typeof allowance>;
