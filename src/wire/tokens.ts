/** Tokens, in the JSON that Forgejo's clients know. Times are ISO 8601. */

import { z } from 'zod';
import { atMost, mostOf } from './bounds.ts';
import { newName } from './policy.ts';

/** The areas of Forgejo's scopes. */
const areas = [
  'activitypub',
  'admin',
  'issue',
  'misc',
  'notification',
  'organization',
  'package',
  'repository',
  'user',
] as const;

const scope = z.enum(
  ['all', 'public-only', ...areas.flatMap(area => [`read:${area}` as const, `write:${area}` as const])],
  {
    error: issue =>
      `there is no scope ${JSON.stringify(issue.input) ?? ''}; expected all, or read: or write: and one of ${areas.join(', ')}`,
  },
);

const scopes = atMost(mostOf.scopes, z.array(scope)).meta({
  description:
    '`all`, or `read:` and `write:` of `admin`, `user`, `organization`; writing includes reading. `public-only` removes the ' +
    "scopes of `admin`. Forgejo's other scopes are accepted and have no effect.",
});

const longestTime = 64;

export const newToken = z
  .object({
    name: newName,
    scopes,
    expires_at: z.iso
      .datetime({ offset: true, error: 'expected a time such as 2027-01-31T00:00:00Z' })
      .max(longestTime)
      .nullish(),
  })
  .meta({ id: 'NewToken' });

export type NewToken = z.infer<typeof newToken>;

export const token = z
  .object({
    id: z.number().int(),
    name: z.string(),
    scopes: z.array(z.string()).readonly(),
    token_last_eight: z.string(),
    created_at: z.string(),
    last_used_at: z.string().nullable().meta({ description: 'Null: never.' }),
    expires_at: z.string().nullable().meta({ description: 'Null: never.' }),
  })
  .meta({ id: 'Token' });

export type Token = z.infer<typeof token>;

const whose = z.object({ user: z.string().meta({ description: 'The user whose it is.' }) });

export const anyToken = token.extend(whose.shape).meta({ id: 'AnyToken' });

export type AnyToken = z.infer<typeof anyToken>;

export const createdToken = token
  .extend({ sha1: z.string().meta({ description: 'The token itself, which is shown only once.' }) })
  .meta({ id: 'CreatedToken' });

export type CreatedToken = z.infer<typeof createdToken>;
