/** The fields of a source, from the API to what is kept. */

import { FaultList, SoftquotaError } from '../../errors.ts';
import { given } from '../../given.ts';
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
  const { scopes } = body;
  return {
    ...given({
      name: body.name,
      discoveryUrl: body.openid_connect_auto_discovery_url,
      clientId: body.client_id,
      scopes: typeof scopes === 'string' ? scopes.split(/\s+/).filter(scope => scope !== '') : scopes,
      usernameClaim: body.username_claim,
      trustUsernames: body.trust_usernames,
      mapping,
      removal: body.quota_group_map_removal,
      missingClaim: body.missing_claim,
      signOutAtProvider: body.sign_out_at_provider,
      isActive: body.is_active,
    }),
    ...emptyAsNull({
      clientSecret: body.client_secret,
      adminClaim: body.admin_group_claim_name,
      adminGroup: body.admin_group,
      groupClaim: body.quota_group_claim_name,
    }),
  };
}

type Texts = Readonly<Record<string, string | null | undefined>>;

function emptyAsNull<Fields extends Texts>(fields: Fields): { [Name in keyof Fields]?: string | null };
function emptyAsNull(fields: Texts): Texts {
  return Object.fromEntries(
    Object.entries(given(fields)).map(([name, text]) => [name, text === '' ? null : text]),
  );
}

/** Null: none is given. */
function mappingOf(value: unknown): SourceFields['mapping'] | null {
  if (value === undefined || value === null) return null;
  const mapped = mappingIn(value);
  if (mapped.ok) return mapped.mapping;
  const faults = mapped.faults.map(fault => `quota_group_map: ${fault}`);
  throw new SoftquotaError('invalid', printable(FaultList.of(faults).toString()));
}
