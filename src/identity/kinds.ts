/** The documents of identity: who somebody is, members of organizations, tokens, and browser sessions. */

import { z } from 'zod';
import type { Kind } from '../documents/index.ts';
import { isoTime } from '../text/index.ts';

const whole = z.number().int();

const profile = z.strictObject({ email: z.string(), fullName: z.string(), isAdmin: z.boolean() });

/** The profile of an owner; fields are empty if not set. */
export type Profile = Readonly<z.infer<typeof profile>>;

export const profileKind: Kind<Profile> = {
  name: 'profile',
  durability: 'versioned',
  schema: profile,
  describe: (key, { email, fullName, isAdmin }, nameOf) => ({
    name: nameOf(Number(key)),
    ownerId: Number(key),
    content: { email, full_name: fullName, is_admin: isAdmin },
  }),
};

export const roles = ['owner', 'member'] as const;

export type Role = (typeof roles)[number];

const members = z.array(z.strictObject({ user: whole, role: z.enum(roles) })).readonly();

/** Members in the order in which they joined; users by their ids. */
export type Members = z.infer<typeof members>;

/** By the organization's id; kept only for organizations with a member. */
export const membersKind: Kind<Members> = {
  name: 'members',
  durability: 'versioned',
  schema: members,
  describe: (key, entries, nameOf) => ({
    name: nameOf(Number(key)),
    ownerId: Number(key),
    content: { members: entries.map(({ user, role }) => ({ user: nameOf(user), role })) },
  }),
};

/** Earlier versions kept the last use here: a shared store and a backup may have it still. */
const withoutLastUse = <T extends z.ZodRawShape>(shape: T) =>
  z.preprocess(document => {
    if (typeof document !== 'object' || document === null || !('lastUsedAt' in document)) return document;
    const { lastUsedAt: _, ...others } = document;
    return others;
  }, z.strictObject(shape));

const token = withoutLastUse({
  id: whole,
  owner: whole,
  name: z.string(),
  lastEight: z.string(),
  scopes: z.array(z.string()).readonly(),
  createdAt: whole,
  expiresAt: whole.nullable(),
});

/** `owner` is an owner's id; times are milliseconds since 1970. */
export type TokenDocument = Readonly<z.infer<typeof token>>;

/**
 * By the SHA-256 of the token, in hexadecimal digits: whoever brings one is found in one step, and what is
 * kept does not let anybody in.
 */
export const tokenKind: Kind<TokenDocument> = {
  name: 'token',
  durability: 'versioned',
  schema: token,
  describe: (_key, { id, owner, name, scopes, expiresAt }) => ({
    name,
    ownerId: owner,
    content: { id, name, scopes, expires_at: isoTime(expiresAt) },
  }),
  ownerOf: ({ owner }) => owner,
};

const via = z.discriminatedUnion('is', [
  /** By the key of the token that was pasted; it ends with that. */
  z.strictObject({ is: z.literal('token'), tokenKey: z.string() }),
  /** A link that an administrator made. */
  z.strictObject({ is: z.literal('link') }),
  /** An identity provider, and the account there. */
  z.strictObject({ is: z.literal('source'), source: whole, issuer: z.string(), subject: z.string() }),
]);

export type Via = Readonly<z.infer<typeof via>>;

const session = withoutLastUse({
  id: whole,
  owner: whole,
  via,
  scopes: z.array(z.string()).readonly(),
  /** It ends then at the latest, because what it was made from does. */
  endsAt: whole.nullable(),
  createdAt: whole,
  /** SHA-256 of the secret that is good now, since `rotatedAt`, and of the one before. */
  secret: z.string(),
  previousSecret: z.string().nullable(),
  rotatedAt: whole,
  /** When a secret came back that had been replaced: from then on nobody is let in. */
  stolenAt: whole.nullable(),
});

/** `owner` is an owner's id; times are milliseconds since 1970. */
export type SessionDocument = Readonly<z.infer<typeof session>>;

/**
 * By the SHA-256 of the session's handle, in hexadecimal digits. The handle stays the same while the secrets
 * beside it come and go, so that one that was replaced is told from one that never was.
 */
export const sessionKind: Kind<SessionDocument> = {
  name: 'session',
  durability: 'volatile',
  schema: session,
  describe: (_key, { id, owner, via: { is }, stolenAt }) => ({
    name: is,
    ownerId: owner,
    content: { id, via: is, stolen: stolenAt !== null },
  }),
  ownerOf: ({ owner }) => owner,
};

const use = z.strictObject({ at: whole });

/** When a token or a session was last used, in milliseconds since 1970, by its key. */
export const useKind: Kind<z.infer<typeof use>> = { name: 'use', durability: 'volatile', schema: use };

const link = z.strictObject({
  issuer: z.string(),
  subject: z.string(),
  owner: whole,
  administrationBy: whole.nullable(),
  createdAt: whole,
});

/**
 * `owner` is an owner's id. `administrationBy` is the id of the source that made the owner an administrator,
 * null where none did; `createdAt` is milliseconds since 1970.
 */
export type LinkDocument = Readonly<z.infer<typeof link>>;

/** By the SHA-256 of issuer and subject, in hexadecimal digits. */
export const linkKind: Kind<LinkDocument> = {
  name: 'link',
  durability: 'versioned',
  schema: link,
  describe: (_key, { issuer, subject, owner, administrationBy }, nameOf) => ({
    name: nameOf(owner),
    ownerId: owner,
    content: { issuer, subject, user: nameOf(owner), gives_administration: administrationBy !== null },
  }),
  ownerOf: ({ owner }) => owner,
};

const preference = z.strictObject({ unsubscribedAt: z.number().int() });

/** By the owner's id; kept only for owners who want none. Milliseconds since 1970. */
export const mailPreferenceKind: Kind<Readonly<z.infer<typeof preference>>> = {
  name: 'mail-preference',
  durability: 'versioned',
  schema: preference,
  describe: (key, { unsubscribedAt }, nameOf) => ({
    name: nameOf(Number(key)),
    ownerId: Number(key),
    content: { unsubscribed_at: isoTime(unsubscribedAt) },
  }),
};

export const identityKinds: readonly Kind<unknown>[] = [
  profileKind,
  membersKind,
  tokenKind,
  sessionKind,
  useKind,
  linkKind,
  mailPreferenceKind,
];
