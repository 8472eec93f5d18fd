/** Tokens, in the JSON that Forgejo's clients know. Times are ISO 8601. */

import { z } from 'zod';
import { newName } from './policy.ts';

const scopes = z
  .array(z.string())
  .readonly()
  .meta({
    description:
      '`all`, or `read:` and `write:` of `admin`, `user`, `organization`; writing includes reading. `public-only` takes the ' +
      'scopes of `admin` away. Others are taken and give nothing.',
  });

export const newToken = z
  .object({
    name: newName,
    scopes,
    expires_at: z.iso
      .datetime({ offset: true, error: 'expected a time such as 2027-01-31T00:00:00Z' })
      .nullish(),
  })
  .meta({ id: 'NewToken' });

export type NewToken = z.infer<typeof newToken>;

export const token = z
  .object({
    id: z.number().int(),
    name: z.string(),
    scopes,
    token_last_eight: z.string(),
    created_at: z.string(),
    last_used_at: z.string().nullable().meta({ description: 'Null: never.' }),
    expires_at: z.string().nullable().meta({ description: 'Null: never.' }),
  })
  .meta({ id: 'Token' });

export type Token = z.infer<typeof token>;

export const createdToken = token
  .extend({ sha1: z.string().meta({ description: 'The token itself, which is shown this once.' }) })
  .meta({ id: 'CreatedToken' });

export type CreatedToken = z.infer<typeof createdToken>;
