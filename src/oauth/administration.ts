/**
 * Administrators because a source says so.
 *
 * A source takes only what it gave: who was made an administrator by hand stays one. What it gave ends as
 * soon as it does not give it any more, whoever is left: this host's administrator always is, over
 * ADMIN_SOCKET.
 */

import type { Transaction } from '../documents/index.ts';
import { editUser, type LinkDocument, profileOf, setAdministrationBy } from '../identity/index.ts';
import { type Claims, namesInClaim } from './claim-names.ts';
import type { SourceDocument } from './kinds.ts';

export type Administration = 'given' | 'ended' | 'unchanged';

/** Decides by the claims whether the user of a link is an administrator, and by what. */
export function administrationBy(
  { id, adminClaim, adminGroup, missingClaim }: SourceDocument,
  claims: Claims,
  { isAdmin, by }: { readonly isAdmin: boolean; readonly by: number | null },
): Administration {
  const ended = by === id ? 'ended' : 'unchanged';
  if (adminClaim === null || adminGroup === null) return ended;
  const read = namesInClaim(claims, adminClaim);
  if (read.is === 'overage' || (read.is === 'absent' && missingClaim === 'keep')) return 'unchanged';
  if (read.is === 'absent' || !read.names.has(adminGroup)) return ended;
  return isAdmin ? 'unchanged' : 'given';
}

export function applyAdministration(
  transaction: Transaction,
  source: SourceDocument,
  link: LinkDocument,
  claims: Claims,
): Administration {
  const { changes } = transaction;
  const { isAdmin } = profileOf(changes, link.owner);
  const found = administrationBy(source, claims, { isAdmin, by: link.administrationBy });
  if (found === 'unchanged') return found;
  setAdministrator(transaction, link.owner, found === 'given');
  setAdministrationBy(changes, link, found === 'given' ? source.id : null);
  return found;
}

export function endAdministration(transaction: Transaction, ownerId: number): void {
  if (profileOf(transaction.changes, ownerId).isAdmin) setAdministrator(transaction, ownerId, false);
}

function setAdministrator(transaction: Transaction, ownerId: number, isAdmin: boolean): void {
  const owner = transaction.ownerById(ownerId);
  if (owner !== undefined) editUser(transaction, owner.name, { isAdmin });
}
