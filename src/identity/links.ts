/**
 * Links between accounts at a provider and users: an issuer and a subject belong to one user, even after
 * renames on either side. A user has at most one subject at each issuer.
 */

import { hash } from 'node:crypto';
import type { ChangeSet, Snapshot } from '../documents/index.ts';
import { SoftquotaError } from '../errors.ts';
import { nameFault } from '../quota/index.ts';
import type { OwnerRecord } from '../store/index.ts';
import { printable } from '../text.ts';
import { type LinkDocument, linkKind } from './kinds.ts';

interface ProviderSubject {
  /** The address of the issuer, without a slash at the end. */
  readonly issuer: string;
  readonly subject: string;
}

export function linkOf(snapshot: Snapshot, { issuer, subject }: ProviderSubject): LinkDocument | null {
  return snapshot.get(linkKind, keyOf({ issuer, subject })) ?? null;
}

export function linkAt(snapshot: Snapshot, ownerId: number, issuer: string): LinkDocument | null {
  return linksOf(snapshot, ownerId).find(link => link.issuer === issuer) ?? null;
}

export function linksAt(snapshot: Snapshot, issuer: string): readonly LinkDocument[] {
  return [...snapshot.all(linkKind)]
    .map(([, link]) => link)
    .filter(link => link.issuer === issuer)
    .sort((a, b) => a.createdAt - b.createdAt || a.owner - b.owner);
}

export function hasLinks(snapshot: Snapshot, ownerId: number): boolean {
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
export function forgetAdministrationBy(changes: ChangeSet, ownerId: number): void {
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
