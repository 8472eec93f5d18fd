/** The fields of a source, from the API to what is kept. */

import { FaultList, SoftquotaError } from '../../errors.ts';
import type { SourceFields, NewSource as WantedSource } from '../../oauth/index.ts';
import { printable } from '../../text/index.ts';
import { mappingIn, type NewSource, type SourceEdit } from '../../wire/index.ts';

/** Throws `invalid` with the places of a mapping's faults. */
export function wantedSource(body: NewSource): WantedSource {
  const { name, openid_connect_auto_discovery_url: discoveryUrl, client_id: clientId } = body;
  return { ...editIn(body), name, discoveryUrl, clientId };
}

/**
 * Null is as good as left out, an empty text takes out what may be missing. Throws as `wantedSource` does.
 */
export function editIn(body: SourceEdit): Partial<SourceFields> {
  const mapping = mappingOf(body.quota_group_map);
  return {
    ...(isGiven(body.name) ? { name: body.name } : {}),
    ...(isGiven(body.openid_connect_auto_discovery_url)
      ? { discoveryUrl: body.openid_connect_auto_discovery_url }
      : {}),
    ...(isGiven(body.client_id) ? { clientId: body.client_id } : {}),
    ...(isGiven(body.client_secret) ? { clientSecret: orNull(body.client_secret) } : {}),
    ...(isGiven(body.scopes) ? { scopes: scopesOf(body.scopes) } : {}),
    ...(isGiven(body.username_claim) ? { usernameClaim: body.username_claim } : {}),
    ...(isGiven(body.trust_usernames) ? { trustUsernames: body.trust_usernames } : {}),
    ...(isGiven(body.admin_group_claim_name) ? { adminClaim: orNull(body.admin_group_claim_name) } : {}),
    ...(isGiven(body.admin_group) ? { adminGroup: orNull(body.admin_group) } : {}),
    ...(isGiven(body.quota_group_claim_name) ? { groupClaim: orNull(body.quota_group_claim_name) } : {}),
    ...(mapping === null ? {} : { mapping }),
    ...(isGiven(body.quota_group_map_removal) ? { removal: body.quota_group_map_removal } : {}),
    ...(isGiven(body.missing_claim) ? { missingClaim: body.missing_claim } : {}),
    ...(isGiven(body.sign_out_at_provider) ? { signOutAtProvider: body.sign_out_at_provider } : {}),
    ...(isGiven(body.is_active) ? { isActive: body.is_active } : {}),
  };
}

function isGiven<T>(value: T | null | undefined): value is T {
  return value !== null && value !== undefined;
}

function orNull(text: string): string | null {
  return text === '' ? null : text;
}

function scopesOf(scopes: readonly string[] | string): readonly string[] {
  return typeof scopes === 'string' ? scopes.split(/\s+/).filter(scope => scope !== '') : scopes;
}

/** Null: none is given. */
function mappingOf(value: unknown): SourceFields['mapping'] | null {
  if (value === undefined || value === null) return null;
  const mapped = mappingIn(value);
  if (mapped.ok) return mapped.mapping;
  const faults = mapped.faults.map(fault => `quota_group_map: ${fault}`);
  throw new SoftquotaError('invalid', printable(FaultList.of(faults).toString()));
}
