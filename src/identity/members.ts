/** The members of an organization. Those with the role `owner` can see its quota. */

import type { ChangeSet, Snapshot } from '../documents/index.ts';
import { SoftquotaError } from '../errors.ts';
import type { OwnerRecord } from '../store/index.ts';
import { printable } from '../text.ts';
import { type Members, membersKind, type Role } from './kinds.ts';

export function membersOf(snapshot: Snapshot, organizationId: number): Members {
  return snapshot.get(membersKind, String(organizationId)) ?? [];
}

export function roleIn(snapshot: Snapshot, organizationId: number, userId: number): Role | null {
  return membersOf(snapshot, organizationId).find(({ user }) => user === userId)?.role ?? null;
}

export function organizationsOf(snapshot: Snapshot, userId: number): readonly number[] {
  return [...snapshot.all(membersKind)].flatMap(([organization, members]) =>
    members.some(({ user }) => user === userId) ? [Number(organization)] : [],
  );
}

/** Adds a member, or changes the role. Throws `not_found` for no organization, `invalid` for no user. */
export function setMember(
  changes: ChangeSet,
  organization: OwnerRecord,
  user: OwnerRecord,
  role: Role,
): void {
  mustBeOrganization(organization);
  if (user.type !== 'user') {
    const message = `${printable(user.name)} is an organization: only users can be members`;
    throw new SoftquotaError('invalid', message);
  }
  const members = membersOf(changes, organization.id);
  const member = { user: user.id, role };
  const isThere = members.some(each => each.user === user.id);
  const changed = members.map(each => (each.user === user.id ? member : each));
  put(changes, organization.id, isThere ? changed : [...members, member]);
}

/** Throws `not_found` if it is not an organization, `already_out` if the user is not a member. */
export function removeMember(changes: ChangeSet, organization: OwnerRecord, user: OwnerRecord): void {
  mustBeOrganization(organization);
  const members = membersOf(changes, organization.id);
  const others = members.filter(member => member.user !== user.id);
  if (others.length === members.length) {
    const message = `${printable(user.name)} is not a member of ${printable(organization.name)}`;
    throw new SoftquotaError('already_out', message);
  }
  put(changes, organization.id, others);
}

/** Removes the members of a deleted owner, and its own memberships. */
export function forgetMemberships(changes: ChangeSet, ownerId: number): void {
  changes.remove(membersKind, String(ownerId));
  for (const organization of organizationsOf(changes, ownerId)) {
    const others = membersOf(changes, organization).filter(({ user }) => user !== ownerId);
    put(changes, organization, others);
  }
}

/** Throws `not_found`. */
export function mustBeOrganization({ type, name }: Pick<OwnerRecord, 'type' | 'name'>): void {
  if (type === 'organization') return;
  throw new SoftquotaError('not_found', `${printable(name)} is a user, not an organization`);
}

function put(changes: ChangeSet, organizationId: number, members: Members): void {
  if (members.length === 0) changes.remove(membersKind, String(organizationId));
  else changes.put(membersKind, String(organizationId), members);
}
