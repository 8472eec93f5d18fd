/**
 * Brings the forge's users, organizations and their members into softquota. Documents link each owner to its
 * row in the forge.
 */

import { z } from 'zod';
import type { Documents, Kind, Snapshot, Transaction } from '../../documents/index.ts';
import { SoftquotaError } from '../../errors.ts';
import type { ForgeMembers, ForgeOwner } from '../../forge/index.ts';
import {
  createUser,
  deleteUser,
  editUser,
  hasProfile,
  isOnlyFound,
  membersOf,
  type NewMember,
  profileOf,
  type Role,
  setMembers,
} from '../../identity/index.ts';
import type { OwnerRename } from '../../ledger/index.ts';
import { nameFault } from '../../quota/index.ts';
import type { OwnerRecord } from '../../store/index.ts';
import { isEmail } from '../../text.ts';
import type { Work } from '../../turns.ts';

const link = z.strictObject({
  owner: z.number().int(),
  name: z.string(),
  type: z.enum(['user', 'organization']),
  email: z.string(),
  isAdmin: z.boolean(),
  isHidden: z.boolean().default(true),
});

/** `owner` is softquota's id; the rest is the forge's last state: only changes there are taken over. */
type ForgeLink = Readonly<z.infer<typeof link>>;

/**
 * Links by the forge's id. The next reading restores lost links by the names, so they are volatile: they are
 * in no backup, and the audit log shows their effects instead.
 */
export const forgeLinkKind: Kind<ForgeLink> = {
  name: 'forge_link',
  durability: 'volatile',
  schema: link,
  ownerOf: ({ owner }) => owner,
};

export const forgeLinkKinds: readonly Kind<unknown>[] = [forgeLinkKind];

/** Returns the forge's id of an owner; undefined for an owner who is not of the forge. */
export function forgeIdOf(snapshot: Snapshot, ownerId: number): number | undefined {
  const [link] = snapshot.ofOwner(forgeLinkKind, ownerId);
  return link === undefined ? undefined : Number(link[0]);
}

/** Returns the forge's last state of an owner by name; undefined for an owner who is not of the forge. */
export function forgeLinkOf(
  { snapshot, owners }: Pick<Documents, 'snapshot' | 'owners'>,
  name: string,
): ForgeLink | undefined {
  const owner = owners.named(name);
  const [link] = owner === undefined ? [] : snapshot.ofOwner(forgeLinkKind, owner.id);
  return link?.[1];
}

/** The name of the owner who is linked to an id of the forge; null if none is. */
export function ownerNameOf(
  { snapshot, owners }: Pick<Documents, 'snapshot' | 'owners'>,
  forgeId: number,
): string | null {
  const link = snapshot.get(forgeLinkKind, String(forgeId));
  return link === undefined ? null : (owners.byId(link.owner)?.name ?? null);
}

/** An owner of the forge who could not be brought in. */
export interface RefusedOwner {
  /** The forge's id. */
  readonly id: number;
  readonly name: string;
  readonly why: string;
}

interface SyncedOwners {
  readonly refused: readonly RefusedOwner[];
  readonly renames: readonly OwnerRename[];
}

/** Creates and changes owners in the transaction; one that cannot be taken over is among `refused`. */
export function* syncOwners(transaction: Transaction, owners: readonly ForgeOwner[]): Work<SyncedOwners> {
  const refused: RefusedOwner[] = [];
  const renames: OwnerRename[] = [];
  for (const owner of owners) {
    try {
      const before = transaction.changes.get(forgeLinkKind, String(owner.id))?.name ?? owner.name;
      syncOwner(transaction, owner);
      if (before !== owner.name) renames.push({ from: before, to: owner.name });
    } catch (error) {
      if (!(error instanceof SoftquotaError)) throw error;
      refused.push({ id: owner.id, name: owner.name, why: error.message });
    }
    yield;
  }
  return { refused, renames };
}

function syncOwner(transaction: Transaction, told: ForgeOwner): void {
  const fault = nameFault(told.name);
  if (fault !== null) throw new SoftquotaError('invalid', fault);
  const owner = { ...told, email: isEmail(told.email) ? told.email : '' };
  const { changes } = transaction;
  const before = changes.get(forgeLinkKind, String(owner.id));
  const known = before === undefined ? undefined : transaction.ownerById(before.owner);
  const record =
    before === undefined || known === undefined
      ? linked(transaction, owner)
      : changed(transaction, known, before, owner);
  const { name, type, email, isAdmin, isHidden = false } = owner;
  const link: ForgeLink = { owner: record.id, name, type, email, isAdmin, isHidden };
  changes.put(forgeLinkKind, String(owner.id), link);
}

/**
 * Links a forge owner to the local one of that name; another forge owner who still has it is renamed. An
 * account here keeps its rights: its name may have come by a sign-in from elsewhere, or an administrator may
 * have taken the rights away before a backup was restored.
 */
function linked(transaction: Transaction, { id, name, type, email, isAdmin }: ForgeOwner): OwnerRecord {
  const { changes } = transaction;
  makeRoom(transaction, name, id);
  const found = transaction.owner(name);
  if (found === undefined)
    return createUser(transaction, { name, type, email, isAdmin: isAdmin && type === 'user' });
  const profile = profileOf(changes, found.id);
  return editUser(transaction, found.name, {
    name,
    type,
    ...(profile.email === '' && email !== '' ? { email } : {}),
    ...(isAdmin && type === 'user' && !hasProfile(changes, found.id) ? { isAdmin } : {}),
  });
}

/** Applies only the fields that have changed in the forge. */
function changed(
  transaction: Transaction,
  known: OwnerRecord,
  before: ForgeLink,
  { id, name, type, email, isAdmin }: ForgeOwner,
): OwnerRecord {
  const isRenamed = before.name !== name || known.name !== name;
  if (isRenamed) makeRoom(transaction, name, id);
  const edit = {
    ...(isRenamed ? { name } : {}),
    ...(before.type === type ? {} : { type }),
    ...(before.email === email ? {} : { email }),
    ...(before.isAdmin === isAdmin || type === 'organization' ? {} : { isAdmin }),
  };
  return Object.keys(edit).length === 0 ? known : editUser(transaction, known.name, edit);
}

/** Renames another forge owner who still has this name here, but has another one in the forge, or is gone. */
function makeRoom(transaction: Transaction, name: string, forgeId: number): void {
  const holder = transaction.owner(name);
  if (holder === undefined) return;
  const other = forgeIdOf(transaction.changes, holder.id);
  if (other === undefined || other === forgeId) return;
  transaction.renameOwner(holder.name, `${holder.name} (${other})`, owner =>
    isOnlyFound(transaction.changes, owner),
  );
}

/** Deletes owners who left the forge and store nothing. Returns the number of ids that are done. */
export function* removeGone(
  transaction: Transaction,
  ids: readonly number[],
  hasUsage: (owner: OwnerRecord) => boolean,
): Work<number> {
  let removed = 0;
  const { changes } = transaction;
  for (const id of ids) {
    const link = changes.get(forgeLinkKind, String(id));
    const owner = link === undefined ? undefined : transaction.ownerById(link.owner);
    if (owner === undefined || !hasUsage(owner)) {
      if (owner !== undefined) deleteUser(transaction, owner.name);
      changes.remove(forgeLinkKind, String(id));
      removed++;
    }
    yield;
  }
  return removed;
}

/**
 * Deletes owners with a former name who exist again only because data was still found under that name.
 * Returns the names to check again.
 */
export function removeLeftBehind(
  transaction: Transaction,
  names: readonly string[],
  hasUsage: (owner: OwnerRecord) => boolean,
): readonly string[] {
  const { changes } = transaction;
  return names.filter(name => {
    const owner = transaction.owner(name);
    const isLeft =
      owner !== undefined && isOnlyFound(changes, owner) && forgeIdOf(changes, owner.id) === undefined;
    if (!isLeft || hasUsage(owner)) return isLeft;
    deleteUser(transaction, owner.name);
    return false;
  });
}

/** Gives organizations the members that they have in the forge; all others are removed. */
export function* syncMembers(transaction: Transaction, all: readonly ForgeMembers[]): Work<void> {
  const told = new Set<number>();
  for (const members of all) {
    const organization = linkedOwner(transaction, members.organization);
    if (organization?.type === 'organization') {
      told.add(organization.id);
      setMembers(transaction.changes, organization, wantedOf(transaction, members));
    }
    yield;
  }
  for (const [, { owner: id, type }] of transaction.changes.all(forgeLinkKind)) {
    const isLeft = type === 'organization' && !told.has(id) && membersOf(transaction.changes, id).length > 0;
    const organization = isLeft ? transaction.ownerById(id) : undefined;
    if (organization !== undefined) setMembers(transaction.changes, organization, []);
    yield;
  }
}

function wantedOf(transaction: Transaction, { owners, members }: ForgeMembers): readonly NewMember[] {
  const withRole = (ids: readonly number[], role: Role) =>
    ids.flatMap(id => {
      const user = linkedOwner(transaction, id);
      return user?.type === 'user' ? [{ user, role }] : [];
    });
  return [...withRole(members, 'member'), ...withRole(owners, 'owner')];
}

function linkedOwner(transaction: Transaction, forgeId: number): OwnerRecord | undefined {
  const link = transaction.changes.get(forgeLinkKind, String(forgeId));
  return link === undefined ? undefined : transaction.ownerById(link.owner);
}
