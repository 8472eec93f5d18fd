/** Looks up owners by the names in addresses and bodies, and the roles of callers over them. */

import type { Documents, Transaction } from '../documents/index.ts';
import { SoftquotaError } from '../errors.ts';
import { type Caller, type Role, roleIn } from '../identity/index.ts';
import type { Ledger, OwnerUsage } from '../ledger/index.ts';
import type { OwnerRecord } from '../store/index.ts';
import { printable } from '../text.ts';

export type KnownOwner = OwnerUsage & { readonly id: number };

/** Returns an existing owner with the usage. Throws `not_found`. */
export function knownOwner(ledger: Ledger, name: string): KnownOwner {
  const owner = ledger.ownerUsage(name);
  if (owner.id === null) throw unknown(name);
  return { ...owner, id: owner.id };
}

/** Returns the owner to add to a group, and creates it if `create` is set. Throws `not_found` with advice. */
export function ownerToAssign(transaction: Transaction, name: string, create: boolean): OwnerRecord {
  const owner = transaction.owner(name);
  if (owner !== undefined) return owner;
  if (create) return transaction.createOwner(name);
  throw unknown(name);
}

/**
 * Returns the role of a caller in an organization, or null. Users have the role `owner` for their own data.
 * The administrator of the host is not a user, and has no role.
 */
export function roleOver(
  { snapshot }: Pick<Documents, 'snapshot'>,
  ownerId: number,
  { ownerId: callerId }: Caller,
): Role | null {
  if (callerId === null) return null;
  return callerId === ownerId ? 'owner' : roleIn(snapshot, ownerId, callerId);
}

/**
 * Throws `not_permitted` if callers would give more space to themselves: to their own user, to an
 * organization that they own, or on a request that they made. The administrator of the host is not a user,
 * and may give to anybody.
 */
export function mustNotGiveThemselves(
  documents: Pick<Documents, 'snapshot'>,
  caller: Caller,
  { ownerId, askedById = null }: { readonly ownerId: number; readonly askedById?: number | null },
): void {
  const asked = askedById !== null && askedById === caller.ownerId;
  if (!asked && roleOver(documents, ownerId, caller) !== 'owner') return;
  throw new SoftquotaError(
    'not_permitted',
    'nobody gives more space to themselves or to an organization that they own: another administrator can, or the ' +
      'administrator of the host with softquota allowance create',
  );
}

function unknown(name: string): SoftquotaError {
  const shown = printable(name);
  return new SoftquotaError(
    'not_found',
    `there is no user or organization ${shown}; create it with softquota user create or POST /api/v1/admin/users; ` +
      'with [users] AUTO_CREATE = true, adding a name to a group also creates it',
  );
}
