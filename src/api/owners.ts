/** Owners as addresses and bodies name them, and what they are to a caller. */

import type { Documents, Transaction } from '../documents/index.ts';
import { SoftquotaError } from '../errors.ts';
import { type Caller, type Role, roleIn } from '../identity/index.ts';
import type { Ledger, OwnerUsage } from '../ledger/index.ts';
import type { OwnerRecord } from '../store/index.ts';
import { printable } from '../text/index.ts';
import { mustBeAllowed } from './asker.ts';

export type KnownOwner = OwnerUsage & { readonly id: number };

/** An owner who is there, with what is used; throws `not_found`. */
export function knownOwner(ledger: Ledger, name: string): KnownOwner {
  const owner = ledger.ownerUsage(name);
  if (owner.id === null) throw unknown(name);
  return { ...owner, id: owner.id };
}

/** The owner to be put into a group; with `create` made if not there. Throws `not_found`, saying how. */
export function ownerToAssign(transaction: Transaction, name: string, create: boolean): OwnerRecord {
  const owner = transaction.owner(name);
  if (owner !== undefined) return owner;
  if (create) return transaction.createOwner(name);
  throw unknown(name);
}

/**
 * Returns the role of a caller in an organization; null where there is none. Users are owners of their
 * own data. The administrator of the host is no user, and has no role anywhere.
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
 * The parts of an operation on what a user has, for the user and for administrators. Anybody else is refused
 * with `not_permitted` and learns nothing of who there is; then an unknown user is `not_found`.
 */
export function ownOrAdministered(ledger: Ledger, to: 'read' | 'write') {
  const keyOf = (name: string) => ledger.documents.owners.keyOf(name);
  return {
    access: { area: 'user', to },
    mustBe: ({ user }: { readonly user: string }, caller: Caller): void => {
      const isOwn = caller.name !== null && keyOf(caller.name) === keyOf(user);
      if (!isOwn) mustBeAllowed(caller, { area: 'admin', to });
      knownOwner(ledger, user);
    },
  } as const;
}

/**
 * Throws `not_permitted` where a caller would give more to themselves: to their own user, to an organization
 * that they own, or on a request that they made. The administrator of the host is no user, and so gives to
 * anybody.
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
