/** Sessions in browsers: signing in, and what is told of them. Times are ISO 8601. */

import { z } from 'zod';
import { mark } from './bounds.ts';

export const signIn = z
  .object({
    token: mark.optional().meta({ description: 'A token of the user.' }),
    code: mark.optional().meta({ description: 'The text after `#code=` in a sign-in link.' }),
  })
  .refine(({ token, code }) => (token === undefined) !== (code === undefined), {
    error: 'expected either token or code',
  })
  .meta({ id: 'SignIn', description: 'One of the two.' });

const via = z.enum(['token', 'link', 'source']).meta({
  description: 'A token, a sign-in link, or an identity provider.',
});

export const session = z
  .object({
    login: z.string(),
    full_name: z.string(),
    is_admin: z.boolean(),
    organizations: z
      .array(z.string())
      .readonly()
      .meta({ description: 'The organizations in which the user has the role owner and can see the quota.' }),
    scopes: z.array(z.string()).readonly(),
    expires_at: z.string().nullable().meta({
      description: 'When the session ends if it is not used; null: never, as with some tokens.',
    }),
    via,
    sign_out_href: z
      .string()
      .nullable()
      .meta({
        description:
          'The address, relative to the base URL, where a browser signs out here and at the provider. Null: ' +
          'only `DELETE /session` is possible.',
      }),
    host: z.string().meta({ description: 'The host that answers.' }),
    store_away_since: z.string().nullable().meta({
      description:
        'Since when the store cannot be written: decisions continue, but nothing can be changed. Null if it can.',
    }),
    shares: z.boolean().meta({ description: 'True if the host shares its quota with other hosts.' }),
    version: z.string(),
  })
  .meta({ id: 'Session' });

export type Session = z.infer<typeof session>;

export const sessionRow = z
  .object({
    id: z.string(),
    created_at: z.string(),
    last_used_at: z.string(),
    expires_at: z.string().meta({ description: 'When the session ends if it is not used.' }),
    via,
    current: z.boolean().meta({ description: 'True for the session of this request.' }),
  })
  .meta({ id: 'SessionRow' });

export type SessionRow = z.infer<typeof sessionRow>;

export const anySession = sessionRow
  .extend({ user: z.string().meta({ description: 'The user who is signed in.' }) })
  .meta({ id: 'AnySession' });

export type AnySession = z.infer<typeof anySession>;

export const signInLink = z
  .object({
    url: z.string().meta({ description: 'It works once.' }),
    expires_at: z.string(),
  })
  .meta({ id: 'SignInLink' });

/** A source that the sign-in page offers. */
export const offeredSource = z
  .object({
    id: z.string(),
    name: z.string(),
    href: z.string().meta({
      description:
        'The address where a sign-in begins, relative to the base URL; `?return_to=` can name a page below it to return to.',
    }),
  })
  .meta({ id: 'OfferedSource' });

export type OfferedSource = z.infer<typeof offeredSource>;
