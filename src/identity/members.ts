/** Who belongs to an organization. Owners see its quota. */

import { SoftquotaError } from '../errors.ts';
import type { Draft, View } from '../policy/index.ts';
import { printable } from '../quota/index.ts';
import type { OwnerRecord } from '../store/index.ts';
import { type Members, membersKind, type Role } from './kinds.ts';

/** As they came to it. */
export function membersOf(view: View, organizationId: number): Members {
  return view.get(membersKind, String(organizationId)) ?? [];
}

/** Null where the user does not belong to it. */
export function roleIn(view: View, organizationId: number, userId: number): Role | null {
  return membersOf(view, organizationId).find(({ user }) => user === userId)?.role ?? null;
}

/** The ids of the organizations that a user belongs to. */
export function organizationsOf(view: View, userId: number): readonly number[] {
  return [...view.all(membersKind)].flatMap(([organization, members]) =>
    members.some(({ user }) => user === userId) ? [Number(organization)] : [],
  );
}

/** Takes a user in, or gives another role; throws `not_found` where it is no organization, `invalid` where it is no user. */
export function setMember(draft: Draft, organization: OwnerRecord, user: OwnerRecord, role: Role): void {
  mustBeOrganization(organization);
  if (user.type !== 'user') {
    throw new SoftquotaError(
      'invalid',
      `${printable(user.name)} is an organization: only users can be members of one`,
    );
  }
  const members = membersOf(draft, organization.id);
  const isThere = members.some(member => member.user === user.id);
  put(
    draft,
    organization.id,
    isThere
      ? members.map(member => (member.user === user.id ? { user: user.id, role } : member))
      : [...members, { user: user.id, role }],
  );
}

/** Throws `not_found` where it is no organization, or the user is not in it. */
export function removeMember(draft: Draft, organization: OwnerRecord, user: OwnerRecord): void {
  mustBeOrganization(organization);
  const members = membersOf(draft, organization.id);
  const others = members.filter(member => member.user !== user.id);
  if (others.length === members.length) {
    throw new SoftquotaError(
      'not_found',
      `${printable(user.name)} is no member of ${printable(organization.name)}`,
    );
  }
  put(draft, organization.id, others);
}

/** When an owner goes: its members, and wherever it is one. */
export function forgetMemberships(draft: Draft, ownerId: number): void {
  draft.remove(membersKind, String(ownerId));
  for (const organization of organizationsOf(draft, ownerId)) {
    const others = membersOf(draft, organization).filter(({ user }) => user !== ownerId);
    put(draft, organization, others);
  }
}

/** Throws `not_found`. */
export function mustBeOrganization({ type, name }: Pick<OwnerRecord, 'type' | 'name'>): void {
  if (type === 'organization') return;
  throw new SoftquotaError('not_found', `${printable(name)} is a user, not an organization`);
}

function put(draft: Draft, organizationId: number, members: Members): void {
  if (members.length === 0) draft.remove(membersKind, String(organizationId));
  else draft.put(membersKind, String(organizationId), members);
}
