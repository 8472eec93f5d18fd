/**
 * Creates, edits, renames and deletes users and organizations, with their members, and links between users
 * and accounts at a provider.
 *
 * Everything about an owner refers to its id. So it survives a rename, and an owner with a reused name
 * inherits nothing.
 */

import { hash } from 'node:crypto';
import type { ChangeSet, Kind, Snapshot, Transaction } from '../documents/index.ts';
import { FaultList, SoftquotaError } from '../errors.ts';
import * as policy from '../policy/index.ts';
import { nameFault, nameFaults } from '../quota/index.ts';
import type { OwnerRecord } from '../store/index.ts';
import { isEmail, printable } from '../text.ts';
import { filterMapInSlices } from '../turns.ts';
import {
  type LinkDocument,
  linkKind,
  type Members,
  mailPreferenceKind,
  membersKind,
  noProfile,
  type Profile,
  profileKind,
  profileOf,
  type Role,
  sessionKind,
  tokenKind,
} from './kinds.ts';
import { endSessions } from './sessions.ts';
import { tokensOf } from './tokens.ts';
import { forgetUse } from './uses.ts';

/** The fields of a user. Absent ones are empty in a new user, and unchanged in an edit. */
export interface UserFields extends Partial<Profile> {
  readonly type?: OwnerRecord['type'];
}

/** Tells whether an owner was made here or by a sign-in, and was not only found. */
export function hasProfile(snapshot: Snapshot, ownerId: number): boolean {
  return snapshot.get(profileKind, String(ownerId)) !== undefined;
}

export function administratorAddresses(snapshot: Snapshot): readonly string[] {
  const found = [...snapshot.all(profileKind)].flatMap(([, { isAdmin, email }]) =>
    isAdmin && email !== '' ? [email] : [],
  );
  return [...new Set(found)].sort();
}

/** Throws `conflict` if the name is taken, or `invalid` with all faults. */
export function createUser(
  transaction: Transaction,
  { name, type = 'user', ...fields }: { readonly name: string } & UserFields,
): OwnerRecord {
  if (transaction.owner(name) !== undefined) {
    throw new SoftquotaError('conflict', `there is an owner ${printable(name)} already`);
  }
  const profile = { ...noProfile, ...fields };
  mustHaveNoFault(name, type, profile);
  const owner = transaction.createOwner(name, type);
  transaction.changes.put(profileKind, String(owner.id), profile);
  return owner;
}

/**
 * Edits a user; `edit.name` renames. Throws `not_found`; `invalid` with all faults; `conflict` if the new
 * name is taken (unless that owner is only known from the disk), or the owner has things that the new type
 * cannot have.
 */
export function editUser(
  transaction: Transaction,
  name: string,
  edit: UserFields & { readonly name?: string },
): OwnerRecord {
  const { name: newName = name, type, ...fields } = edit;
  const { changes } = transaction;
  const before = transaction.mustBeOwner(name);
  const profile = { ...profileOf(changes, before.id), ...fields };
  mustHaveNoFault(newName, type ?? before.type, profile);
  if (type !== undefined && type !== before.type) {
    mustFit(changes, before, type);
    transaction.setType(name, type);
    endSessions(changes, before.id, () => true);
  }
  changes.put(profileKind, String(before.id), profile);
  if (fields.isAdmin !== undefined) forgetAdministrationBy(changes, before.id);
  if (edit.name === undefined) return transaction.mustBeOwner(name);
  return transaction.renameOwner(name, newName, owner => isOnlyFound(changes, owner));
}

/**
 * The kinds of documents that belong to an owner. Without `ownerOf`, the key of a document is the owner id.
 */
const ownedKinds: readonly Kind<unknown>[] = [
  policy.assignmentKind,
  policy.allowanceKind,
  ...policy.requestKinds,
  tokenKind,
  sessionKind,
  linkKind,
  profileKind,
];

/** Deletes a user with everything about it. Throws `not_found`, or `conflict` if the owner has units. */
export function deleteUser(transaction: Transaction, name: string): void {
  const { id } = transaction.deleteOwner(name);
  const { changes } = transaction;
  forgetMemberships(changes, id);
  for (const kind of [...ownedKinds, mailPreferenceKind]) {
    for (const key of keysOf(changes, kind, id)) {
      changes.remove(kind, key);
      if (kind === tokenKind || kind === sessionKind) forgetUse(changes, key);
    }
  }
}

/** Tells whether an owner is only known from the disk or a report, without any document. */
export function isOnlyFound(snapshot: Snapshot, { id, type }: OwnerRecord): boolean {
  return (
    type === 'user' &&
    ownedKinds.every(kind => keysOf(snapshot, kind, id).length === 0) &&
    organizationsOf(snapshot, id).length === 0
  );
}

function keysOf(snapshot: Snapshot, kind: Kind<unknown>, ownerId: number): readonly string[] {
  if (kind.ownerOf !== undefined) return [...snapshot.ofOwner(kind, ownerId)].map(([key]) => key);
  return snapshot.get(kind, String(ownerId)) === undefined ? [] : [String(ownerId)];
}

function mustHaveNoFault(name: string, type: OwnerRecord['type'], profile: Profile): void {
  const { email, fullName, isAdmin } = profile;
  FaultList.of([
    ...nameFaults('username', name),
    ...(email === '' || isEmail(email) ? [] : ['email: expected an address such as alice@git.example']),
    ...(fullName === '' ? [] : nameFaults('full_name', fullName)),
    ...(isAdmin && type === 'organization' ? ['is_admin: an organization cannot be an administrator'] : []),
  ]).throwIfAny();
}

/** Throws `conflict` if the owner has things of the other type: members, or tokens, links and memberships. */
function mustFit(snapshot: Snapshot, { id, name }: OwnerRecord, type: OwnerRecord['type']): void {
  const has = [
    ...(type === 'user' && membersOf(snapshot, id).length > 0 ? ['members'] : []),
    ...(type === 'organization' && tokensOf(snapshot, id).length > 0 ? ['tokens'] : []),
    ...(type === 'organization' && hasLinks(snapshot, id) ? ['links to a provider'] : []),
    ...(type === 'organization' && organizationsOf(snapshot, id).length > 0 ? ['memberships'] : []),
  ];
  if (has.length === 0) return;
  const article = type === 'user' ? 'a user' : 'an organization';
  const what = `${printable(name)} has ${has.join(' and ')}, which ${article} cannot have`;
  throw new SoftquotaError('conflict', `type: ${what}: remove those first`);
}

export function wantsMail(snapshot: Snapshot, ownerId: number): boolean {
  return snapshot.get(mailPreferenceKind, String(ownerId)) === undefined;
}

/** `now`: milliseconds since 1970. */
export function setMailWanted(changes: ChangeSet, ownerId: number, isWanted: boolean, now: number): void {
  if (wantsMail(changes, ownerId) === isWanted) return;
  if (isWanted) changes.remove(mailPreferenceKind, String(ownerId));
  else changes.put(mailPreferenceKind, String(ownerId), { unsubscribedAt: now });
}

/** Returns the members of an organization. Those with the role `owner` can see its quota. */
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
  mustBeUser(user);
  const members = membersOf(changes, organization.id);
  const member = { user: user.id, role };
  const isThere = members.some(each => each.user === user.id);
  const changed = members.map(each => (each.user === user.id ? member : each));
  putMembers(changes, organization.id, isThere ? changed : [...members, member]);
}

export interface NewMember {
  readonly user: OwnerRecord;
  readonly role: Role;
}

/**
 * Gives an organization these members and no others; those who stay keep their places. If a user is named
 * twice, the last role counts. Throws `not_found` for no organization, `invalid` for no user.
 */
export function setMembers(
  changes: ChangeSet,
  organization: OwnerRecord,
  wanted: readonly NewMember[],
): void {
  mustBeOrganization(organization);
  for (const { user } of wanted) mustBeUser(user);
  const before = new Map(membersOf(changes, organization.id).map(({ user, role }) => [user, role]));
  const after = new Map(wanted.map(({ user, role }) => [user.id, role]));
  if (after.size === before.size && [...after].every(([user, role]) => before.get(user) === role)) return;
  const members = [...new Set([...before.keys(), ...after.keys()])].flatMap(user => {
    const role = after.get(user);
    return role === undefined ? [] : [{ user, role }];
  });
  putMembers(changes, organization.id, members);
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
  putMembers(changes, organization.id, others);
}

/** Removes the members of a deleted owner, and its own memberships. */
function forgetMemberships(changes: ChangeSet, ownerId: number): void {
  changes.remove(membersKind, String(ownerId));
  for (const organization of organizationsOf(changes, ownerId)) {
    const others = membersOf(changes, organization).filter(({ user }) => user !== ownerId);
    putMembers(changes, organization, others);
  }
}

/** Throws `invalid`. */
function mustBeUser({ type, name }: OwnerRecord): void {
  if (type === 'user') return;
  throw new SoftquotaError('invalid', `${printable(name)} is an organization: only users can be members`);
}

/** Throws `not_found`. */
export function mustBeOrganization({ type, name }: Pick<OwnerRecord, 'type' | 'name'>): void {
  if (type === 'organization') return;
  throw new SoftquotaError('not_found', `${printable(name)} is a user, not an organization`);
}

function putMembers(changes: ChangeSet, organizationId: number, members: Members): void {
  if (members.length === 0) changes.remove(membersKind, String(organizationId));
  else changes.put(membersKind, String(organizationId), members);
}

interface ProviderSubject {
  /** The address of the issuer, without a slash at the end. */
  readonly issuer: string;
  readonly subject: string;
}

/**
 * Returns the link of an account at a provider. An issuer and a subject belong to one user, even after
 * renames on either side; a user has at most one subject at each issuer.
 */
export function linkOf(snapshot: Snapshot, { issuer, subject }: ProviderSubject): LinkDocument | null {
  return snapshot.get(linkKind, keyOf({ issuer, subject })) ?? null;
}

export function linkAt(snapshot: Snapshot, ownerId: number, issuer: string): LinkDocument | null {
  return linksOf(snapshot, ownerId).find(link => link.issuer === issuer) ?? null;
}

/** Yields the links at an issuer, unordered, and nulls as `filterMapInSlices` does. */
export function linksAt(snapshot: Snapshot, issuer: string): Generator<LinkDocument | null> {
  return filterMapInSlices(snapshot.all(linkKind), ([, link]) => (link.issuer === issuer ? link : undefined));
}

function hasLinks(snapshot: Snapshot, ownerId: number): boolean {
  return linksOf(snapshot, ownerId).length > 0;
}

/**
 * Links a subject to a user. Throws `invalid` for an organization or an invalid subject, `conflict` if the
 * subject has another user, or the user has another subject at this issuer.
 */
export function putLink(
  changes: ChangeSet,
  user: OwnerRecord,
  who: ProviderSubject,
  now: number,
): LinkDocument {
  const shown = printable(user.name);
  if (user.type !== 'user') {
    throw new SoftquotaError('invalid', `${shown} is an organization: only users sign in`);
  }
  const fault = nameFault(who.subject);
  if (fault !== null) throw new SoftquotaError('invalid', `subject: ${fault}`);
  const known = linkOf(changes, who);
  if (known !== null && known.owner !== user.id) {
    const message = 'subject: it is already linked to another user; delete that link first';
    throw new SoftquotaError('conflict', message);
  }
  if (known !== null) return known;
  if (linkAt(changes, user.id, who.issuer) !== null) {
    const what = `${shown} is linked to another subject at ${printable(who.issuer)} already`;
    throw new SoftquotaError('conflict', `${what}; delete that link first`);
  }
  const link = { ...who, owner: user.id, administrationBy: null, createdAt: now };
  changes.put(linkKind, keyOf(who), link);
  return link;
}

/** Records which source made the user an administrator, by its id; null: none did. */
export function setAdministrationBy(changes: ChangeSet, link: LinkDocument, sourceId: number | null): void {
  changes.put(linkKind, keyOf(link), { ...link, administrationBy: sourceId });
}

/** Forgets that a source made the user an administrator, since somebody has set it by hand. */
function forgetAdministrationBy(changes: ChangeSet, ownerId: number): void {
  for (const link of linksOf(changes, ownerId)) {
    if (link.administrationBy !== null) setAdministrationBy(changes, link, null);
  }
}

/** Throws `not_found`. */
export function removeLink(changes: ChangeSet, user: OwnerRecord, issuer: string): LinkDocument {
  const link = linkAt(changes, user.id, issuer);
  if (link === null) {
    const message = `${printable(user.name)} is not linked to an account at ${printable(issuer)}`;
    throw new SoftquotaError('not_found', message);
  }
  changes.remove(linkKind, keyOf(link));
  return link;
}

function linksOf(snapshot: Snapshot, ownerId: number): readonly LinkDocument[] {
  return [...snapshot.ofOwner(linkKind, ownerId)].map(([, link]) => link);
}

/** Returns the key of a link. JSON keeps issuer and subject apart, whatever characters they have. */
function keyOf({ issuer, subject }: ProviderSubject): string {
  return hash('sha256', JSON.stringify([issuer, subject]));
}
