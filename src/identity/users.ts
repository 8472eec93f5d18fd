/**
 * Creates, edits, renames and deletes users and organizations.
 *
 * Everything about an owner refers to its id. So it survives a rename, and an owner with a reused name
 * inherits nothing.
 */

import type { ChangeSet, Kind, Snapshot, Transaction } from '../documents/index.ts';
import { FaultList, SoftquotaError } from '../errors.ts';
import * as policy from '../policy/index.ts';
import { nameFault } from '../quota/index.ts';
import type { OwnerRecord } from '../store/index.ts';
import { isEmail, printable } from '../text.ts';
import { linkKind, mailPreferenceKind, type Profile, profileKind } from './kinds.ts';
import { forgetAdministrationBy, hasLinks } from './links.ts';
import { forgetMemberships, membersOf, organizationsOf } from './members.ts';
import { endSessions, sessionEntriesOf } from './sessions.ts';
import { revokeAllTokens, tokensOf } from './tokens.ts';

const noProfile: Profile = { email: '', fullName: '', isAdmin: false };
/** The fields of a user. Absent ones are empty in a new user, and unchanged in an edit. */
export interface UserFields extends Partial<Profile> {
  readonly type?: OwnerRecord['type'];
}

export function profileOf(snapshot: Snapshot, ownerId: number): Profile {
  return snapshot.get(profileKind, String(ownerId)) ?? noProfile;
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
    endSessions(changes, session => session.owner === before.id);
  }
  changes.put(profileKind, String(before.id), profile);
  if (fields.isAdmin !== undefined) forgetAdministrationBy(changes, before.id);
  if (edit.name === undefined) return transaction.mustBeOwner(name);
  return transaction.renameOwner(name, newName, owner => isOnlyFound(changes, owner));
}

/** Deletes a user with everything about it. Throws `not_found`, or `conflict` if the owner has units. */
export function deleteUser(transaction: Transaction, name: string): void {
  const owner = transaction.deleteOwner(name);
  const { changes } = transaction;
  removeOf(changes, owner.id, [policy.assignmentKind, policy.allowanceKind]);
  policy.forgetRequests(changes, owner.id);
  forgetMemberships(changes, owner.id);
  revokeAllTokens(changes, owner.id);
  endSessions(changes, session => session.owner === owner.id);
  removeOf(changes, owner.id, [linkKind, mailPreferenceKind, profileKind]);
}

/** Removes the owner's documents of these kinds. Without `ownerOf`, the key of a document is the owner id. */
function removeOf(changes: ChangeSet, ownerId: number, kinds: readonly Kind<unknown>[]): void {
  for (const kind of kinds) {
    if (kind.ownerOf === undefined) changes.remove(kind, String(ownerId));
    else for (const [key] of [...changes.ofOwner(kind, ownerId)]) changes.remove(kind, key);
  }
}

/** Tells whether an owner is only known from the disk or a report, without any document. */
export function isOnlyFound(snapshot: Snapshot, { id, type }: OwnerRecord): boolean {
  return (
    type === 'user' &&
    !hasProfile(snapshot, id) &&
    policy.assignedGroups(snapshot, id).length === 0 &&
    (snapshot.get(policy.allowanceKind, String(id)) ?? []).length === 0 &&
    policy.requestsOf(snapshot, id).length === 0 &&
    tokensOf(snapshot, id).length === 0 &&
    sessionEntriesOf(snapshot, id).length === 0 &&
    !hasLinks(snapshot, id) &&
    organizationsOf(snapshot, id).length === 0
  );
}

function mustHaveNoFault(name: string, type: OwnerRecord['type'], profile: Profile): void {
  const { email, fullName, isAdmin } = profile;
  const faults: string[] = [];
  const named = nameFault(name);
  if (named !== null) faults.push(`username: ${named}`);
  if (email !== '' && !isEmail(email)) faults.push('email: expected an address such as alice@git.example');
  const fullNamed = fullName === '' ? null : nameFault(fullName);
  if (fullNamed !== null) faults.push(`full_name: ${fullNamed}`);
  if (isAdmin && type === 'organization') faults.push('is_admin: an organization cannot be an administrator');
  FaultList.of(faults).throwIfAny();
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
