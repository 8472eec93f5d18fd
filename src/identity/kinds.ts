/** The documents of identity: who somebody is, who belongs to an organization, and tokens. */

import { z } from 'zod';
import type { Kind } from '../policy/index.ts';

const whole = z.number().int();

const profile = z.strictObject({ email: z.string(), fullName: z.string(), isAdmin: z.boolean() });

/** What an owner says of itself; empty where it says nothing. */
export type Profile = Readonly<z.infer<typeof profile>>;

/** By the owner's id. */
export const profileKind: Kind<Profile> = {
  name: 'profile',
  schema: profile,
  told: (key, content, nameOf) => ({ name: nameOf(Number(key)), ownerId: Number(key), content }),
};

export const roles = ['owner', 'member'] as const;

export type Role = (typeof roles)[number];

const members = z.array(z.strictObject({ user: whole, role: z.enum(roles) })).readonly();

/** As they came to it; users by their ids. */
export type Members = z.infer<typeof members>;

/** By the organization's id; kept only for organizations with a member. */
export const membersKind: Kind<Members> = {
  name: 'members',
  schema: members,
  told: (key, entries, nameOf) => ({
    name: nameOf(Number(key)),
    ownerId: Number(key),
    content: { members: entries.map(({ user, role }) => ({ user: nameOf(user), role })) },
  }),
};

const token = z.strictObject({
  id: whole,
  owner: whole,
  name: z.string(),
  lastEight: z.string(),
  scopes: z.array(z.string()).readonly(),
  createdAt: whole,
  expiresAt: whole.nullable(),
  lastUsedAt: whole.nullable(),
});

/** `owner` is an owner's id; times are milliseconds since 1970. */
export type TokenDocument = Readonly<z.infer<typeof token>>;

/**
 * By the SHA-256 of the token, in hexadecimal digits: whoever brings one is found in one step, and what is kept does
 * not let anybody in.
 */
export const tokenKind: Kind<TokenDocument> = {
  name: 'token',
  schema: token,
  told: (_key, { id, owner, name, scopes, expiresAt }) => ({
    name,
    ownerId: owner,
    content: { id, name, scopes, expiresAt },
  }),
};

/** What the ledger keeps for this room. */
export const identityKinds: readonly Kind<unknown>[] = [profileKind, membersKind, tokenKind];
