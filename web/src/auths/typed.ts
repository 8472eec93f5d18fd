/** A source as it is typed, and as it is sent. */

import type { NewSource, Source } from '../../../src/wire/index.ts';
import { mappingIn, quotaGroupsIn } from '../../../src/wire/mapping.ts';

export interface TypedSource {
  readonly name: string;
  readonly discoveryUrl: string;
  readonly clientId: string;
  /** Empty: as it is. */
  readonly clientSecret: string;
  /** There is to be none, whatever there was. */
  readonly hasNoSecret: boolean;
  readonly scopes: string;
  readonly usernameClaim: string;
  readonly trustUsernames: boolean;
  readonly adminClaim: string;
  readonly adminGroup: string;
  readonly groupClaim: string;
  /** JSON. */
  readonly mapping: string;
  readonly removal: boolean;
  readonly missingClaim: Source['missing_claim'];
  readonly signOutAtProvider: boolean;
  readonly isActive: boolean;
}

export const newSource: TypedSource = {
  name: '',
  discoveryUrl: '',
  clientId: '',
  clientSecret: '',
  hasNoSecret: false,
  scopes: 'openid profile email',
  usernameClaim: 'preferred_username',
  trustUsernames: false,
  adminClaim: '',
  adminGroup: '',
  groupClaim: '',
  mapping: '{}',
  removal: false,
  missingClaim: 'remove',
  signOutAtProvider: false,
  isActive: true,
};

export function typedOf(source: Source): TypedSource {
  return {
    name: source.name,
    discoveryUrl: source.openid_connect_auto_discovery_url,
    clientId: source.client_id,
    clientSecret: '',
    hasNoSecret: false,
    scopes: source.scopes.join(' '),
    usernameClaim: source.username_claim,
    trustUsernames: source.trust_usernames,
    adminClaim: source.admin_group_claim_name,
    adminGroup: source.admin_group,
    groupClaim: source.quota_group_claim_name,
    mapping: JSON.stringify(source.quota_group_map, null, 2),
    removal: source.quota_group_map_removal,
    missingClaim: source.missing_claim,
    signOutAtProvider: source.sign_out_at_provider,
    isActive: source.is_active,
  };
}

export function fieldsOf(typed: TypedSource): NewSource {
  return {
    name: typed.name,
    openid_connect_auto_discovery_url: typed.discoveryUrl.trim(),
    client_id: typed.clientId.trim(),
    ...secretOf(typed),
    scopes: typed.scopes,
    username_claim: typed.usernameClaim,
    trust_usernames: typed.trustUsernames,
    admin_group_claim_name: typed.adminClaim,
    admin_group: typed.adminGroup,
    quota_group_claim_name: typed.groupClaim,
    quota_group_map: typed.mapping,
    quota_group_map_removal: typed.removal,
    missing_claim: typed.missingClaim,
    sign_out_at_provider: typed.signOutAtProvider,
    is_active: typed.isActive,
  };
}

function secretOf({ clientSecret, hasNoSecret }: TypedSource): Pick<NewSource, 'client_secret'> {
  if (hasNoSecret) return { client_secret: '' };
  return clientSecret === '' ? {} : { client_secret: clientSecret };
}

export interface MappingSeen {
  /** Each with its place; none: it can be saved. */
  readonly faults: readonly string[];
  /** Quota groups that it names and that there are not. */
  readonly unknown: readonly string[];
}

export function mappingSeen(text: string, quotaGroups: ReadonlySet<string>): MappingSeen {
  const mapped = mappingIn(text);
  if (!mapped.ok) return { faults: mapped.faults, unknown: [] };
  return { faults: [], unknown: [...quotaGroupsIn(mapped.mapping)].filter(name => !quotaGroups.has(name)) };
}

/** Claims in a pasted text; null if it is no JSON object. */
export function claimsIn(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
    return { ...value };
  } catch {
    return null;
  }
}
