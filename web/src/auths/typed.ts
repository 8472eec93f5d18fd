/** A source in the form: the fields of the API, and the secret in two fields. */

import type { NewSource, Source, SourceEdit } from '../../../src/wire/index.ts';
import { mappingIn, quotaGroupsIn } from '../../../src/wire/mapping.ts';

export const newSource = {
  name: '',
  openid_connect_auto_discovery_url: '',
  client_id: '',
  /** Empty to keep the present secret. */
  client_secret: '',
  /** True to delete the secret. */
  hasNoSecret: false,
  scopes: 'openid profile email',
  username_claim: 'preferred_username',
  trust_usernames: false,
  admin_group_claim_name: '',
  admin_group: '',
  quota_group_claim_name: '',
  /** JSON. */
  quota_group_map: '{}',
  quota_group_map_removal: false,
  missing_claim: 'remove' as Source['missing_claim'], // the first of them
  sign_out_at_provider: false,
  is_active: true,
};

export type TypedSource = Readonly<typeof newSource>;

export function typedOf(source: Source): TypedSource {
  return {
    ...source,
    client_secret: '',
    hasNoSecret: false,
    scopes: source.scopes.join(' '),
    quota_group_map: JSON.stringify(source.quota_group_map, null, 2),
  };
}

export function fieldsOf({ hasNoSecret, client_secret: secret, ...typed }: TypedSource): NewSource {
  return {
    ...typed,
    openid_connect_auto_discovery_url: typed.openid_connect_auto_discovery_url.trim(),
    client_id: typed.client_id.trim(),
    ...(hasNoSecret || secret !== '' ? { client_secret: secret } : {}),
  };
}

/** Returns the fields that the form has changed, so that others keep what somebody else has set since. */
export function changesOf(opened: TypedSource, typed: TypedSource): SourceEdit {
  const before = fieldsOf(opened);
  const isChanged = ([name, value]: readonly [string, unknown]) => value !== Reflect.get(before, name);
  return Object.fromEntries(Object.entries(fieldsOf(typed)).filter(isChanged));
}

interface MappingSeen {
  /** Faults with their places; if there are none, the mapping can be saved. */
  readonly faults: readonly string[];
  /** Quota groups in the mapping that do not exist. */
  readonly unknown: readonly string[];
}

export function mappingSeen(text: string, quotaGroups: ReadonlySet<string>): MappingSeen {
  const mapped = mappingIn(text);
  if (!mapped.ok) return { faults: mapped.faults, unknown: [] };
  return { faults: [], unknown: [...quotaGroupsIn(mapped.mapping)].filter(name => !quotaGroups.has(name)) };
}

/** Parses claims; null if the text is not a JSON object. */
export function claimsIn(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
    return { ...value };
  } catch {
    return null;
  }
}
