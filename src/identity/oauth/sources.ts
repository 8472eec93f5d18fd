/** OAuth2 sources: reads them from documents, and changes them in a transaction. */

import type { ChangeSet, Snapshot, Transaction } from '../../documents/index.ts';
import { FaultList, SoftquotaError } from '../../errors.ts';
import { groupNamed } from '../../policy/index.ts';
import { nameFaults } from '../../quota/index.ts';
import { printable } from '../../text.ts';
import { type Mapping, quotaGroupsIn } from '../../wire/index.ts';
import { byAge, newNumber, profileOf, type SourceDocument, sourceKind } from '../kinds.ts';
import { endSessions } from '../sessions.ts';
import { editUser, linksAt, removeLink, setAdministrationBy } from '../users.ts';
import { addressFault, issuerOf } from './issuer.ts';
import type { SecretKeys } from './keys.ts';

const longestSecret = 4096;

export type SourceFields = Omit<SourceDocument, 'id' | 'clientSecret' | 'clientSecretAt' | 'createdAt'> & {
  /** The secret in plain text; null: the provider needs none. */
  readonly clientSecret: string | null;
};

export type NewSource = Pick<SourceFields, 'name' | 'discoveryUrl' | 'clientId'> & Partial<SourceFields>;

interface Making {
  readonly keys: SecretKeys;
  /** Milliseconds since 1970. */
  readonly now: number;
}

const defaults = {
  scopes: ['openid', 'profile', 'email'],
  usernameClaim: 'preferred_username',
  trustUsernames: false,
  adminClaim: null,
  adminGroup: null,
  groupClaim: null,
  mapping: [],
  removal: false,
  missingClaim: 'remove',
  signOutAtProvider: false,
  isActive: true,
} as const satisfies Partial<SourceFields>;

export type KnownSecret =
  | { readonly is: 'none' }
  | { readonly is: 'lost' }
  | { readonly is: 'known'; readonly secret: string };

export function sourcesIn(snapshot: Snapshot): readonly SourceDocument[] {
  return [...snapshot.all(sourceKind)].map(([, source]) => source).sort(byAge);
}

export function sourceNamed(snapshot: Snapshot, name: string): SourceDocument | undefined {
  return sourcesIn(snapshot).find(source => source.name === name);
}

export function sourceById(snapshot: Snapshot, id: string): SourceDocument | undefined {
  return snapshot.get(sourceKind, id);
}

/** Throws `not_found`. */
export function mustBeSource(snapshot: Snapshot, id: string): SourceDocument {
  const found = sourceById(snapshot, id);
  if (found === undefined) throw new SoftquotaError('not_found', `there is no source ${printable(id)}`);
  return found;
}

/** Throws `conflict` if there is a source of that name, or `invalid` with all faults. */
export function createSource(changes: ChangeSet, wanted: NewSource, { keys, now }: Making): SourceDocument {
  mustBeOnly(changes, wanted.name, null);
  const id = newId(changes);
  const source = draftedSource(id, wanted, now);
  const clientSecret = wanted.clientSecret ?? null;
  return put(changes, {
    ...source,
    clientSecret: clientSecret === null ? null : keys.seal(clientSecret, purposeOf(id)),
    clientSecretAt: clientSecret === null ? null : now,
  });
}

/** Returns a new source without its secret, and does not store it; throws `invalid` with all faults. */
export function draftedSource(id: number, wanted: NewSource, now: number): SourceDocument {
  const { clientSecret = null, ...fields } = { ...defaults, ...wanted };
  mustHaveNoFault(fields, clientSecret);
  return { ...fields, id, clientSecret: null, clientSecretAt: null, createdAt: now };
}

/**
 * Edits a source; absent fields stay. If the source is no longer active, or has another provider, its users
 * are signed out. In these cases, and if it has another administrator group, its administrators lose their
 * rights. Throws `not_found`, `conflict` or `invalid`.
 */
export function editSource(
  transaction: Transaction,
  id: string,
  { clientSecret, ...edit }: Partial<SourceFields>,
  { keys, now }: Making,
): SourceDocument {
  const { changes } = transaction;
  const before = mustBeSource(changes, id);
  const after = { ...before, ...edit };
  mustBeOnly(changes, after.name, before.id);
  mustHaveNoFault(after, clientSecret ?? null);
  if (clientSecret === undefined) mustBeSameProvider(before, after);
  const isOver = !after.isActive || issuerOf(before.discoveryUrl) !== issuerOf(after.discoveryUrl);
  if (isOver) endSessionsBy(changes, before);
  const isOtherGroup = before.adminClaim !== after.adminClaim || before.adminGroup !== after.adminGroup;
  if (isOver || isOtherGroup) endAdministrationsBy(transaction, before);
  if (clientSecret === undefined) return put(changes, { ...after, clientSecret: resealed(before, keys) });
  return put(changes, {
    ...after,
    clientSecret: clientSecret === null ? null : keys.seal(clientSecret, purposeOf(before.id)),
    clientSecretAt: clientSecret === null ? null : now,
  });
}

/**
 * Deletes a source. Its administrators lose their rights, and its users are signed out. Links stay, since
 * they belong to the issuer, which another source may have, now or later. Throws `not_found`.
 */
export function deleteSource(transaction: Transaction, id: string): void {
  const { changes } = transaction;
  const source = mustBeSource(changes, id);
  endAdministrationsBy(transaction, source);
  endSessionsBy(changes, source);
  changes.remove(sourceKind, id);
}

function endAdministrationsBy(transaction: Transaction, { id, discoveryUrl }: SourceDocument): void {
  const { changes } = transaction;
  for (const link of [...linksAt(changes, issuerOf(discoveryUrl))]) {
    if (link?.administrationBy !== id) continue;
    setAdministrator(transaction, link.owner, false);
    setAdministrationBy(changes, link, null);
  }
}

export function setAdministrator(transaction: Transaction, ownerId: number, isAdmin: boolean): void {
  const owner = transaction.ownerById(ownerId);
  if (owner === undefined || profileOf(transaction.changes, ownerId).isAdmin === isAdmin) return;
  editUser(transaction, owner.name, { isAdmin });
}

function endSessionsBy(changes: ChangeSet, { id }: SourceDocument): void {
  endSessions(changes, null, ({ via }) => via.is === 'source' && via.source === id);
}

/** Unlinks and signs out a user, and ends administrator rights from a source. Throws `not_found`. */
export function unlink(transaction: Transaction, id: string, user: string): void {
  const { changes } = transaction;
  const { discoveryUrl } = mustBeSource(changes, id);
  const owner = transaction.mustBeOwner(user);
  const link = removeLink(changes, owner, issuerOf(discoveryUrl));
  if (link.administrationBy !== null) setAdministrator(transaction, owner.id, false);
  endSessions(
    changes,
    owner.id,
    ({ via }) => via.is === 'source' && via.issuer === link.issuer && via.subject === link.subject,
  );
}

/** Returns the decrypted client secret; `lost`: no key opens it. */
export function clientSecretOf({ id, clientSecret }: SourceDocument, keys: SecretKeys): KnownSecret {
  if (clientSecret === null) return { is: 'none' };
  const secret = keys.open(clientSecret, purposeOf(id));
  return secret === null ? { is: 'lost' } : { is: 'known', secret };
}

export function sourcesWithLostSecrets(snapshot: Snapshot, keys: SecretKeys): readonly string[] {
  return sourcesIn(snapshot).flatMap(source =>
    clientSecretOf(source, keys).is === 'lost' ? [source.name] : [],
  );
}

export function unknownQuotaGroups(snapshot: Snapshot, mapping: Mapping): readonly string[] {
  return [...quotaGroupsIn(mapping)].filter(group => groupNamed(snapshot, group) === undefined).sort();
}

/**
 * Encrypts the secret with the newest key. A lost one stays unchanged, so that its key can still be added.
 */
function resealed(source: SourceDocument, keys: SecretKeys): string | null {
  const known = clientSecretOf(source, keys);
  if (known.is !== 'known' || source.clientSecret === null || keys.isNewest(source.clientSecret)) {
    return source.clientSecret;
  }
  return keys.seal(known.secret, purposeOf(source.id));
}

/** Throws `invalid` for another provider, so that nobody can have the secret sent elsewhere to learn it. */
function mustBeSameProvider(before: SourceDocument, after: Pick<SourceFields, 'discoveryUrl'>): void {
  if (before.clientSecret === null || issuerOf(before.discoveryUrl) === issuerOf(after.discoveryUrl)) return;
  throw new SoftquotaError(
    'invalid',
    'client_secret: it has to be given again, because openid_connect_auto_discovery_url names another provider',
  );
}

/** Returns the purpose of the secret, with the id, so that it cannot be opened as that of another source. */
function purposeOf(id: number): string {
  return `client secret of the source ${id}`;
}

function put(changes: ChangeSet, source: SourceDocument): SourceDocument {
  changes.put(sourceKind, String(source.id), source);
  return source;
}

function newId(snapshot: Snapshot): number {
  const id = newNumber();
  return snapshot.get(sourceKind, String(id)) === undefined ? id : newId(snapshot);
}

function mustBeOnly(snapshot: Snapshot, name: string, id: number | null): void {
  const other = sourceNamed(snapshot, name);
  if (other === undefined || other.id === id) return;
  throw new SoftquotaError('conflict', `there is a source ${printable(name)} already`);
}

function mustHaveNoFault(fields: Omit<SourceFields, 'clientSecret'>, clientSecret: string | null): void {
  const { name, discoveryUrl, clientId, scopes, usernameClaim, adminClaim, adminGroup, groupClaim } = fields;
  const address = addressFault(discoveryUrl);
  const faults = [
    ...nameFaults('name', name),
    ...(address === null ? [] : [`openid_connect_auto_discovery_url: ${address}`]),
    ...nameFaults('client_id', clientId),
    ...(clientSecret === null || isSecret(clientSecret)
      ? []
      : [`client_secret: expected at most ${longestSecret} characters without control characters`]),
    ...scopes.flatMap((scope, index) =>
      /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope) ? [] : [`scopes.${index}: expected a name without spaces`],
    ),
    ...nameFaults('username_claim', usernameClaim),
    ...(adminClaim === null ? [] : nameFaults('admin_group_claim_name', adminClaim)),
    ...(groupClaim === null ? [] : nameFaults('quota_group_claim_name', groupClaim)),
    ...(adminGroup !== null && adminClaim === null
      ? ['admin_group: admin_group_claim_name has to name the claim with the groups']
      : []),
  ];
  FaultList.of(faults).throwIfAny();
}

function isSecret(text: string): boolean {
  return text.length <= longestSecret && text.isWellFormed() && /^\P{Cc}+$/u.test(text);
}
