/**
 * Users, organizations, members, tokens and sessions in the form of Forgejo's clients. Times are ISO 8601.
 */

import { z } from 'zod';
import { longestName } from '../quota/index.ts';
import { emailPattern, longestEmail } from '../text.ts';
import { atMost, component, mark, mostOf, nameOrNothing, names, newName, text } from './bounds.ts';
import { ownerType } from './usage.ts';

export const user = component('User', 'A user or an organization.', {
  id: z.number().int(),
  login: z.string(),
  username: z.string().meta({ description: 'The same as `login`.' }),
  type: ownerType,
  email: z.string().meta({ description: 'Empty where it is not known, as `full_name` is.' }),
  full_name: z.string(),
  is_admin: z.boolean(),
  created: z.string().meta({ description: 'When the owner was first heard of, in ISO 8601.' }),
});

export type User = z.infer<typeof user>;

/** Null means the same as absent. */
const fields = {
  type: ownerType.nullish(),
  email: text.meta({ maxLength: longestEmail, pattern: `^(${emailPattern})?$` }).nullish(),
  full_name: text.meta({ maxLength: longestName, pattern: nameOrNothing }).nullish(),
  is_admin: z.boolean().nullish(),
};

export const newUser = z.object({ username: newName, ...fields }).meta({ id: 'NewUser' });

export const userEdit = z.object({ username: newName.nullish(), ...fields }).meta({
  id: 'UserEdit',
  description: 'What is left out stays; `username` renames.',
});

export type UserEdit = z.infer<typeof userEdit>;

const role = z.enum(['owner', 'member']).meta({ description: 'Owners see the quota of the organization.' });

export const membership = z.object({ role }).meta({ id: 'Membership' });

export const member = user.extend({ role }).meta({ id: 'Member' });

export type Member = z.infer<typeof member>;

/** Areas of Forgejo's scopes. */
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

export const newToken = component('NewToken', {
  name: newName,
  scopes,
  expires_at: z.iso
    .datetime({ offset: true, error: 'expected a time such as 2027-01-31T00:00:00Z' })
    .max(longestTime)
    .nullish(),
});

export type NewToken = z.infer<typeof newToken>;

export const token = component('Token', {
  id: z.number().int(),
  name: z.string(),
  scopes: names,
  token_last_eight: z.string(),
  created_at: z.string(),
  last_used_at: z.string().nullable().meta({ description: 'Null: never.' }),
  expires_at: z.string().nullable().meta({ description: 'Null: never.' }),
});

export type Token = z.infer<typeof token>;

export const anyToken = token
  .extend({ user: z.string().meta({ description: 'The user whose it is.' }) })
  .meta({ id: 'AnyToken' });

export type AnyToken = z.infer<typeof anyToken>;

export const createdToken = token
  .extend({ sha1: z.string().meta({ description: 'The token itself, which is shown only once.' }) })
  .meta({ id: 'CreatedToken' });

export type CreatedToken = z.infer<typeof createdToken>;

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

export const session = component('Session', {
  login: z.string(),
  full_name: z.string(),
  is_admin: z.boolean(),
  organizations: names.meta({
    description: 'The organizations in which the user has the role owner and can see the quota.',
  }),
  scopes: names,
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
});

export type Session = z.infer<typeof session>;

export const sessionRow = component('SessionRow', {
  id: z.string(),
  created_at: z.string(),
  last_used_at: z.string(),
  expires_at: z.string().meta({ description: 'When the session ends if it is not used.' }),
  via,
  current: z.boolean().meta({ description: 'True for the session of this request.' }),
});

export type SessionRow = z.infer<typeof sessionRow>;

export const anySession = sessionRow
  .extend({ user: z.string().meta({ description: 'The user who is signed in.' }) })
  .meta({ id: 'AnySession' });

export type AnySession = z.infer<typeof anySession>;

export const signInLink = component('SignInLink', {
  url: z.string().meta({ description: 'It works once.' }),
  expires_at: z.string(),
});

export const offeredSource = component('OfferedSource', {
  id: z.string(),
  name: z.string(),
  href: z.string().meta({
    description:
      'The address where a sign-in begins, relative to the base URL; `?return_to=` can name a page below it to return to.',
  }),
});

export type OfferedSource = z.infer<typeof offeredSource>;
