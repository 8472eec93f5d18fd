/** "Try it": what claims would change, without changing it. */

import type { Documents, Snapshot } from '../documents/index.ts';
import { linkAt, linkOf, profileOf } from '../identity/index.ts';
import type { OwnerRecord } from '../store/index.ts';
import type { TriedSynchronization } from '../wire/index.ts';
import { administrationBy } from './administration.ts';
import { type Claims, textClaim } from './claim-names.ts';
import { issuerOf } from './issuer.ts';
import type { SourceDocument } from './kinds.ts';
import { draftedSource, type NewSource, sourceNamed, unknownQuotaGroups } from './sources.ts';
import { plan } from './synchronization.ts';

type Trying = Pick<Documents, 'owners' | 'snapshot'>;

/** No source has it. */
const noId = 0;

/** `user` null: whose claims they are, by subject or else by name, if that is anybody. */
export function tryClaims(
  documents: Trying,
  source: SourceDocument,
  user: string | null,
  claims: Claims,
): TriedSynchronization {
  const { snapshot } = documents;
  const issuer = issuerOf(source.discoveryUrl);
  const owner = user === null ? whose(documents, source, claims) : documents.owners.named(user);
  const link = owner === undefined ? null : linkAt(snapshot, owner.id, issuer);
  const standing = {
    isAdmin: owner !== undefined && profileOf(snapshot, owner.id).isAdmin,
    by: link?.administrationBy ?? null,
  };
  return {
    ...plan(snapshot, source, owner?.id ?? null, claims),
    is_known: owner !== undefined,
    administration: administrationBy(source, claims, standing),
    unknown_quota_groups: unknownQuotaGroups(snapshot, source.mapping),
  };
}

/**
 * Gives a source as it would be saved: a change to the source of that name, if there is one. Throws `invalid`
 * where it could not be saved.
 */
export function draftSource(snapshot: Snapshot, wanted: NewSource, now: number): SourceDocument {
  return draftedSource(sourceNamed(snapshot, wanted.name)?.id ?? noId, wanted, now);
}

/** Finds the user as a sign-in would. */
function whose(documents: Trying, source: SourceDocument, claims: Claims): OwnerRecord | undefined {
  const subject = textClaim(claims, 'sub');
  const link =
    subject === null ? null : linkOf(documents.snapshot, { issuer: issuerOf(source.discoveryUrl), subject });
  if (link !== null) return documents.owners.byId(link.owner);
  const name = textClaim(claims, source.usernameClaim);
  return name === null ? undefined : documents.owners.named(name);
}
