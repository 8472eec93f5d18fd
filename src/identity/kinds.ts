/** The kinds of documents of accounts, from profiles and members to sources and mail preferences. */

import { randomInt } from 'node:crypto';
import { z } from 'zod';
import type { Kind, Snapshot } from '../documents/index.ts';
import { isoTime } from '../text.ts';

const whole = z.number().int();

/** Makes an id of at most 48 bits, so that every client reads it exactly. */
export function newNumber(): number {
  return randomInt(1, 2 ** 48 - 1);
}

interface Aged {
  readonly id: number;
  readonly createdAt: number;
}

/** Sorts the oldest first, ties by id. */
export function byAge(a: Aged, b: Aged): number {
  return a.createdAt - b.createdAt || a.id - b.id;
}

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

export const noProfile: Profile = { email: '', fullName: '', isAdmin: false };

export function profileOf(snapshot: Snapshot, ownerId: number): Profile {
  return snapshot.get(profileKind, String(ownerId)) ?? noProfile;
}

export const roles = ['owner', 'member'] as const;

export type Role = (typeof roles)[number];

const members = z.array(z.strictObject({ user: whole, role: z.enum(roles) })).readonly();

/** The members by user id, in the order in which they joined. */
export type Members = z.infer<typeof members>;

const mostShown = 50;

/**
 * The members of an organization. The key is its owner id; without members there is no document. The audit
 * log shows only members whom a change brings, removes or gives another role, since there may be thousands.
 */
export const membersKind: Kind<Members> = {
  name: 'members',
  durability: 'versioned',
  schema: members,
  describe: (key, entries, nameOf, other) => {
    const others = new Map(other?.map(({ user, role }) => [user, role]));
    const differing = entries.filter(({ user, role }) => others.get(user) !== role);
    const shown = differing.slice(0, mostShown).map(({ user, role }) => ({ user: nameOf(user), role }));
    const count = differing.length > mostShown ? { members_count: differing.length } : {};
    return { name: nameOf(Number(key)), ownerId: Number(key), content: { members: shown, ...count } };
  },
};

/** Drops the last use, which earlier versions stored here. A shared store or a backup may still have it. */
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
 * A token. The key is its SHA-256 in hexadecimal digits, so that it is found in one step, and the store does
 * not have the token itself.
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
  /** The key of the token that the user signed in with. The session ends with the token. */
  z.strictObject({ is: z.literal('token'), tokenKey: z.string() }),
  /** A link that an administrator made. */
  z.strictObject({ is: z.literal('link') }),
  /** A source, and the account at its provider. */
  z.strictObject({ is: z.literal('source'), source: whole, issuer: z.string(), subject: z.string() }),
]);

export type Via = Readonly<z.infer<typeof via>>;

const session = withoutLastUse({
  id: whole,
  owner: whole,
  via,
  scopes: z.array(z.string()).readonly(),
  /** The latest end of the session, because the credentials that started it end then; null: none. */
  endsAt: whole.nullable(),
  createdAt: whole,
  /** SHA-256 of the secret since `rotatedAt`, and of the one before; null: none. */
  secret: z.string(),
  previousSecret: z.string().nullable(),
  rotatedAt: whole,
  /** True once the current secret was used. Sessions of earlier versions do not say it. */
  isUsed: z.boolean().default(true),
  /** The time at which a replaced secret was presented; the session is invalid since then. Null: never. */
  stolenAt: whole.nullable(),
});

/** `owner` is an owner's id; times are milliseconds since 1970. */
export type SessionDocument = Readonly<z.infer<typeof session>>;

/**
 * A session. The key is the SHA-256 of its handle in hexadecimal digits. The handle stays the same when the
 * secret is replaced, so that a request with a replaced secret can be recognized.
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

/** The last use of a token or session, in milliseconds since 1970, under the key of the token or session. */
export const useKind: Kind<z.infer<typeof use>> = { name: 'use', durability: 'volatile', schema: use };

const link = z.strictObject({
  issuer: z.string(),
  subject: z.string(),
  owner: whole,
  administrationBy: whole.nullable(),
  createdAt: whole,
});

/**
 * `owner` is an owner id. `administrationBy` is the id of the source that made the owner an administrator;
 * null: none did. `createdAt` is milliseconds since 1970.
 */
export type LinkDocument = Readonly<z.infer<typeof link>>;

/** A link to an account at a provider. The key is the SHA-256 of issuer and subject in hexadecimal digits. */
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

const texts = z.array(z.string()).readonly();

const source = z.strictObject({
  id: whole,
  name: z.string(),
  discoveryUrl: z.string(),
  clientId: z.string(),
  clientSecret: z.string().nullable(),
  clientSecretAt: whole.nullable(),
  scopes: texts,
  usernameClaim: z.string(),
  trustUsernames: z.boolean(),
  adminClaim: z.string().nullable(),
  adminGroup: z.string().nullable(),
  /** Null: groups are not synchronized. */
  groupClaim: z.string().nullable(),
  mapping: z.array(z.tuple([z.string(), texts]).readonly()).readonly(),
  /** "Remove users from synchronized quota groups if user does not belong to corresponding group" */
  removal: z.boolean(),
  /** The effect of an absent claim: the user is in no group (`remove`), or nothing changes (`keep`). */
  missingClaim: z.enum(['remove', 'keep']),
  /** Older sources lack this setting. */
  signOutAtProvider: z.boolean().default(false),
  isActive: z.boolean(),
  createdAt: whole,
});

/**
 * `clientSecret` is encrypted; null: the provider needs none. `clientSecretAt` is the time at which it was
 * set. Times are milliseconds since 1970.
 */
export type SourceDocument = Readonly<z.infer<typeof source>>;

export const sourceKind: Kind<SourceDocument> = {
  name: 'source',
  durability: 'versioned',
  schema: source,
  describe: (_key, document) => ({
    name: document.name,
    ownerId: null,
    content: { ...sourceShown(document), client_secret_at: isoTime(document.clientSecretAt) },
  }),
};

/** Describes a source for the API and the audit log, without its secret. */
export function sourceShown(document: SourceDocument) {
  return {
    id: document.id,
    name: document.name,
    openid_connect_auto_discovery_url: document.discoveryUrl,
    client_id: document.clientId,
    scopes: document.scopes,
    username_claim: document.usernameClaim,
    trust_usernames: document.trustUsernames,
    admin_group_claim_name: document.adminClaim ?? '',
    admin_group: document.adminGroup ?? '',
    quota_group_claim_name: document.groupClaim ?? '',
    quota_group_map: Object.fromEntries(document.mapping),
    quota_group_map_removal: document.removal,
    missing_claim: document.missingClaim,
    sign_out_at_provider: document.signOutAtProvider,
    is_active: document.isActive,
    created_at: isoTime(document.createdAt),
  };
}

const preference = z.strictObject({ unsubscribedAt: z.number().int() });

/** Records that an owner wants no mail, since when in milliseconds since 1970. The key is the owner id. */
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
  sourceKind,
  mailPreferenceKind,
];
