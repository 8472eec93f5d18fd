/** Brings the members of the forge's organizations into softquota. */

import type { Transaction } from '../../documents/index.ts';
import type { ForgeMembers } from '../../forge/index.ts';
import { membersOf, type Role, removeMember, setMember } from '../../identity/index.ts';
import type { Work } from '../../slices.ts';
import type { OwnerRecord } from '../../store/index.ts';
import { forgeLinkKind } from './kinds.ts';

/** The forge says who belongs to its organizations: members whom it does not have go. */
export function* syncMembers(transaction: Transaction, all: readonly ForgeMembers[]): Work<void> {
  const told = new Set<number>();
  for (const members of all) {
    const organization = ownerOf(transaction, members.organization);
    if (organization?.type === 'organization') {
      told.add(organization.id);
      syncOne(transaction, organization, wantedOf(transaction, members));
    }
    yield;
  }
  for (const [, { owner: id, type }] of transaction.changes.all(forgeLinkKind)) {
    const isLeft = type === 'organization' && !told.has(id) && membersOf(transaction.changes, id).length > 0;
    const organization = isLeft ? transaction.ownerById(id) : undefined;
    if (organization !== undefined) syncOne(transaction, organization, new Map());
    yield;
  }
}

function wantedOf(transaction: Transaction, { owners, members }: ForgeMembers): ReadonlyMap<number, Role> {
  const wanted = new Map<number, Role>();
  for (const [ids, role] of [
    [members, 'member'],
    [owners, 'owner'],
  ] as const) {
    for (const id of ids) {
      const user = ownerOf(transaction, id);
      if (user?.type === 'user') wanted.set(user.id, role);
    }
  }
  return wanted;
}

function syncOne(
  transaction: Transaction,
  organization: OwnerRecord,
  wanted: ReadonlyMap<number, Role>,
): void {
  const { changes } = transaction;
  const present = new Map(membersOf(changes, organization.id).map(({ user, role }) => [user, role]));
  for (const id of present.keys()) {
    const user = wanted.has(id) ? undefined : transaction.ownerById(id);
    if (user !== undefined) removeMember(changes, organization, user);
  }
  for (const [id, role] of wanted) {
    const user = present.get(id) === role ? undefined : transaction.ownerById(id);
    if (user !== undefined) setMember(changes, organization, user, role);
  }
}

function ownerOf(transaction: Transaction, forgeId: number): OwnerRecord | undefined {
  const link = transaction.changes.get(forgeLinkKind, String(forgeId));
  return link === undefined ? undefined : transaction.ownerById(link.owner);
}
