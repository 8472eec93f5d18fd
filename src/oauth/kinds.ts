/** The kind of documents of OAuth2 sources. */

import { z } from 'zod';
import type { Kind } from '../documents/index.ts';
import { isoTime } from '../text.ts';

const whole = z.number().int();
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

export const sourceKinds: readonly Kind<unknown>[] = [sourceKind];
