/** "Try it": what claims would change, without changing it. */

import { type Claims, type Synchronization, textClaim } from '../claims/index.ts';
import { linkAt, profileOf } from '../identity/index.ts';
import type { Ledger } from '../ledger/index.ts';
import { type Administration, administrationBy } from './administration.ts';
import { issuerOf } from './issuer.ts';
import type { SourceDocument } from './kinds.ts';
import { draftedSource, type NewSource, unknownQuotaGroups } from './sources.ts';
import { plan } from './synchronization.ts';

export interface TriedSynchronization extends Synchronization {
  readonly is_known: boolean;
  readonly administration: Administration;
  readonly unknown_quota_groups: readonly string[];
}

/** A source as it would be saved. */
export interface DraftSource {
  readonly draft: NewSource;
  readonly now: number;
}

/** No source has it. */
const noId = 0;

/** `user` null: the one whom the claims name, if they name one. Throws `invalid` where a draft could not be saved. */
export function tryClaims(
  ledger: Pick<Ledger, 'view' | 'ownerRecord'>,
  source: SourceDocument | DraftSource,
  user: string | null,
  claims: Claims,
): TriedSynchronization {
  const { view } = ledger;
  const document = 'draft' in source ? draftedSource(noId, source.draft, source.now) : source;
  const name = user ?? textClaim(claims, document.usernameClaim);
  const owner = name === null ? undefined : ledger.ownerRecord(name);
  const link = owner === undefined ? null : linkAt(view, owner.id, issuerOf(document.discoveryUrl));
  const standing = {
    isAdmin: owner !== undefined && profileOf(view, owner.id).isAdmin,
    by: link?.administrationBy ?? null,
  };
  return {
    ...plan(view, document, owner?.id ?? null, claims),
    is_known: owner !== undefined,
    administration: administrationBy(document, claims, standing),
    unknown_quota_groups: unknownQuotaGroups(view, document.mapping),
  };
}
