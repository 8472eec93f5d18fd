/** Sessions in browsers: signing in, and what is told of them. Times are ISO 8601. */

import { z } from 'zod';
import { mark } from './bounds.ts';

export const signIn = z
  .object({
    token: mark.optional().meta({ description: 'A token of the user.' }),
    code: mark.optional().meta({ description: 'What stands behind `#code=` in a sign-in link.' }),
  })
  .refine(({ token, code }) => (token === undefined) !== (code === undefined), {
    error: 'expected either token or code',
  })
  .meta({ id: 'SignIn', description: 'Either of the two.' });

const via = z.enum(['token', 'link', 'source']).meta({
  description:
    'A token that was pasted or sent, a link that an administrator made, or a provider of identities.',
});

export const session = z
  .object({
    login: z.string(),
    full_name: z.string(),
    is_admin: z.boolean(),
    organizations: z
      .array(z.string())
      .readonly()
      .meta({ description: 'Those that one is an owner of, whose quota one may see.' }),
    scopes: z.array(z.string()).readonly(),
    expires_at: z.string().nullable().meta({
      description: 'When it ends unless it is used until then; null: never, which is so of some tokens.',
    }),
    via,
    sign_out_href: z
      .string()
      .nullable()
      .meta({
        description:
          'Where a browser goes to sign out at the provider as well, relative to the base URL; it ends this session. Null: ' +
          '`DELETE /session` is all there is.',
      }),
    host: z.string().meta({ description: 'The host that answers.' }),
    store_away_since: z.string().nullable().meta({
      description:
        'Since when the store takes nothing: decisions go on, nothing can be changed. Null: it takes what is written.',
    }),
    shares: z.boolean().meta({ description: 'It shares its quota with other hosts.' }),
    version: z.string(),
  })
  .meta({ id: 'Session' });

export type Session = z.infer<typeof session>;

export const sessionRow = z
  .object({
    id: z.string(),
    created_at: z.string(),
    last_used_at: z.string(),
    expires_at: z.string().meta({ description: 'When it ends unless it is used until then.' }),
    via,
    current: z.boolean().meta({ description: 'It is the one that asks.' }),
  })
  .meta({ id: 'SessionRow' });

export type SessionRow = z.infer<typeof sessionRow>;

export const signInLink = z
  .object({
    url: z.string().meta({ description: 'Good once.' }),
    expires_at: z.string(),
  })
  .meta({ id: 'SignInLink' });
