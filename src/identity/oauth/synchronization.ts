/**
 * Applies claims to the user who signs in and to quota groups, as one change with one event that names the
 * source. Also returns the effect of claims without any change, for trials.
 */

import type { Author, Documents, Snapshot, Transaction } from '../../documents/index.ts';
import { SoftquotaError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { assignedGroups, groupNamed, setGroups } from '../../policy/index.ts';
import { nameFault } from '../../quota/index.ts';
import type { OwnerRecord } from '../../store/index.ts';
import { isEmail, printable } from '../../text.ts';
import {
  type SignInFaultCode,
  type Synchronization,
  type TriedSynchronization,
  unmappedIn,
} from '../../wire/index.ts';
import { type LinkDocument, profileOf, type SourceDocument } from '../kinds.ts';
import { tokensOf } from '../tokens.ts';
import { createUser, linkAt, linkOf, putLink, setAdministrationBy } from '../users.ts';
import { type Administration, administrationBy, type Claims, synchronize, textClaim } from './claims.ts';
import { issuerOf } from './issuer.ts';
import {
  draftedSource,
  type NewSource,
  setAdministrator,
  sourceNamed,
  unknownQuotaGroups,
} from './sources.ts';

export interface Claimed {
  readonly user: string;
  /** The name of a source. */
  readonly source: string;
  readonly claims: Claims;
  /** True: only returns the effect, and changes nothing. */
  readonly isTrial: boolean;
}

interface ClaimedOptions {
  readonly documents: Pick<Documents, 'dryRun' | 'snapshot' | 'transact'>;
  /** `[users] AUTO_CREATE` */
  readonly autoCreate: boolean;
  readonly log: Pick<Log, 'warn'>;
}

interface SignInFacts extends Omit<Synchronization, 'claimed'> {
  readonly owner: string;
  readonly source: { readonly id: number; readonly name: string };
  /** `program`: a program sent the claims, and nobody signed in. */
  readonly via: 'sign-in' | 'program';
  /** The first of the provider's groups that the mapping does not name; `unmapped_count` counts all. */
  readonly unmapped: readonly string[];
  readonly unmapped_count: number;
  readonly administration: Administration;
}

const signInKind = 'sign-in';

/** Returns the effect of claims on quota groups; null stands for a user who does not exist yet. */
function plan(
  snapshot: Snapshot,
  source: SourceDocument,
  ownerId: number | null,
  claims: Claims,
): Synchronization {
  const current = ownerId === null ? [] : assignedGroups(snapshot, ownerId);
  return synchronize(source, claims, current, group => groupNamed(snapshot, group) !== undefined);
}

/** Applies claims to the quota groups of a user. The other groups keep their order. */
function applyClaims(
  { changes }: Transaction,
  source: SourceDocument,
  owner: OwnerRecord,
  claims: Claims,
): Synchronization {
  const done = plan(changes, source, owner.id, claims);
  if (done.added.length + done.removed.length > 0) {
    const gone = new Set(done.removed);
    const kept = assignedGroups(changes, owner.id).filter(group => !gone.has(group));
    setGroups(changes, owner.id, [...kept, ...done.added]);
  }
  return done;
}

function factsOf(
  { id, name, mapping }: Pick<SourceDocument, 'id' | 'name' | 'mapping'>,
  owner: OwnerRecord,
  { claimed, ...done }: Synchronization,
  { via, administration }: Pick<SignInFacts, 'via' | 'administration'>,
): SignInFacts {
  const { names: unmapped, count } = unmappedIn(claimed, mapping);
  const what = { ...done, unmapped, unmapped_count: count, administration };
  return { owner: owner.name, source: { id, name }, via, ...what };
}

/**
 * Synchronizes quota groups as in a sign-in, with claims that a program sent. Never changes who is an
 * administrator, since that needs a sign-in at the provider. Rejects with `not_found`, or with `conflict` if
 * the source is not active or the user is an organization.
 */
export async function synchronizeClaimed(
  { documents, autoCreate, log }: ClaimedOptions,
  { user, source: sourceName, claims, isTrial }: Claimed,
  by: Author | null,
): Promise<Synchronization> {
  const change = (transaction: Transaction) => {
    const { changes } = transaction;
    const source = sourceNamed(changes, sourceName);
    if (source === undefined) {
      throw new SoftquotaError('not_found', `there is no source ${printable(sourceName)}`);
    }
    if (!source.isActive) {
      throw new SoftquotaError('conflict', `the source ${printable(sourceName)} is not active`);
    }
    const owner = userFor(transaction, user, autoCreate);
    const done = applyClaims(transaction, source, owner, claims);
    const told = factsOf(source, owner, done, { via: 'program', administration: 'unchanged' });
    if (!transaction.isEmpty || done.outcome === 'overage') {
      transaction.auditAs({ kind: signInKind, owner, facts: told });
    }
    return { done, told };
  };
  if (isTrial) return documents.dryRun(change).done;
  const { done, told } = await documents.transact(change, by);
  warn(log, told);
  return done;
}

/** Logs the parts of the claims that had no effect. */
export function warn(log: Pick<Log, 'warn'>, facts: SignInFacts): void {
  const { owner, source, outcome, skipped, ignored } = facts;
  const what = { owner, source: source.name };
  if (outcome === 'overage') {
    log.warn(what, 'the provider has too many groups of this user to name them: quota groups do not change');
  }
  if (skipped.length > 0) {
    log.warn({ ...what, skipped }, 'a claimed group is mapped to quota groups that do not exist');
  }
  if (ignored.length > 0)
    log.warn({ ...what, ignored }, 'a part of the claim was not understood, and ignored');
}

function userFor(transaction: Transaction, name: string, create: boolean): OwnerRecord {
  const owner = transaction.owner(name);
  if (owner === undefined && !create) {
    throw new SoftquotaError(
      'not_found',
      `there is no user ${printable(name)}; with [users] AUTO_CREATE = true the user is created`,
    );
  }
  if (owner === undefined) {
    const fault = nameFault(name);
    if (fault !== null) throw new SoftquotaError('invalid', `user: ${fault}`);
    return transaction.createOwner(name);
  }
  if (owner.type === 'user') return owner;
  throw new SoftquotaError('conflict', `${printable(owner.name)} is an organization: only users have claims`);
}

type Trying = Pick<Documents, 'owners' | 'snapshot'>;

/** An id that no source has. */
const noId = 0;

/** Returns the effect of claims without any change. `user` null: finds the user as a sign-in would. */
export function tryClaims(
  documents: Trying,
  source: SourceDocument,
  user: string | null,
  claims: Claims,
): TriedSynchronization {
  const { snapshot } = documents;
  const issuer = issuerOf(source.discoveryUrl);
  const owner = user === null ? whose(documents, source, claims) : documents.owners.named(user);
  const link = owner === undefined ? null : linkAt(snapshot, owner.id, issuer);
  const standing = {
    isAdmin: owner !== undefined && profileOf(snapshot, owner.id).isAdmin,
    by: link?.administrationBy ?? null,
  };
  return {
    ...plan(snapshot, source, owner?.id ?? null, claims),
    is_known: owner !== undefined,
    administration: administrationBy(source, claims, standing),
    unknown_quota_groups: unknownQuotaGroups(snapshot, source.mapping),
  };
}

/**
 * Returns the source that would be saved, with the id of the existing source of that name. Throws `invalid`
 * if it could not be saved.
 */
export function draftSource(snapshot: Snapshot, wanted: NewSource, now: number): SourceDocument {
  return draftedSource(sourceNamed(snapshot, wanted.name)?.id ?? noId, wanted, now);
}

/** Finds the user as a sign-in would: by subject, or else by name. */
function whose(documents: Trying, source: SourceDocument, claims: Claims): OwnerRecord | undefined {
  const subject = textClaim(claims, 'sub');
  const link =
    subject === null ? null : linkOf(documents.snapshot, { issuer: issuerOf(source.discoveryUrl), subject });
  if (link !== null) return documents.owners.byId(link.owner);
  const name = textClaim(claims, source.usernameClaim);
  return name === null ? undefined : documents.owners.named(name);
}

/** Longest reason in the log, since texts from providers and browsers can be part of it. */
const longestReason = 2000;

/** A failed sign-in: a code for the page, and a reason only for the log. */
export class SignInFault extends Error {
  override readonly name = 'SignInFault';
  readonly code: SignInFaultCode;

  constructor(code: SignInFaultCode, reason: string, cause?: unknown) {
    super(reason.slice(0, longestReason), { cause });
    this.code = code;
  }
}

export interface LoginResult {
  /** The id of the account at the provider, which never reuses it. */
  readonly subject: string;
  /** The claims of ID token and userinfo. */
  readonly claims: Claims;
}

interface LoggedIn {
  readonly owner: OwnerRecord;
  readonly told: SignInFacts;
}

/**
 * Finds or creates the user who signs in, and applies the claims, with one event even if nothing changes.
 * `now`: milliseconds since 1970. Throws a `SignInFault`: `nameless` if no claim has a name, `name_unusable`
 * if the name is invalid here, `name_taken` if another owner has it. Its reason also says what an
 * administrator can do.
 */
export function logIn(
  transaction: Transaction,
  source: SourceDocument,
  { subject, claims }: LoginResult,
  now: number,
): LoggedIn {
  const who = { issuer: issuerOf(source.discoveryUrl), subject };
  const known = linkOf(transaction.changes, who);
  const knownOwner = known === null ? undefined : transaction.ownerById(known.owner);
  if (known !== null && knownOwner !== undefined)
    return settled(transaction, source, knownOwner, known, claims);
  const name = textClaim(claims, source.usernameClaim);
  const link = `PUT /api/v1/admin/auths/${source.id}/links/USER with {"subject": ${JSON.stringify(subject)}} links this account to a user`;
  if (name === null) {
    throw new SignInFault('nameless', `the claim ${source.usernameClaim} has no name; ${link}`);
  }
  const shown = JSON.stringify(name);
  if (nameFault(name) !== null || nameFault(subject) !== null) {
    throw new SignInFault('name_unusable', `${shown} or the subject cannot be a name here; ${link}`);
  }
  const there = transaction.owner(name);
  if (there !== undefined && !mayBeTaken(transaction, source, there)) {
    throw new SignInFault('name_taken', `there is an owner ${shown} already; ${link}`);
  }
  const owner = there ?? createUser(transaction, { name, ...profileIn(claims) });
  return settled(transaction, source, owner, putLink(transaction.changes, owner, who, now), claims);
}

function mayBeTaken({ changes }: Transaction, source: SourceDocument, owner: OwnerRecord): boolean {
  return (
    source.trustUsernames &&
    owner.type === 'user' &&
    !profileOf(changes, owner.id).isAdmin &&
    tokensOf(changes, owner.id).length === 0 &&
    // A link would belong to another account of the same provider, which had this name before.
    linkAt(changes, owner.id, issuerOf(source.discoveryUrl)) === null
  );
}

function settled(
  transaction: Transaction,
  source: SourceDocument,
  owner: OwnerRecord,
  link: LinkDocument,
  claims: Claims,
): LoggedIn {
  const done = applyClaims(transaction, source, owner, claims);
  const administration = applyAdministration(transaction, source, link, claims);
  const told = factsOf(source, owner, done, { via: 'sign-in', administration });
  transaction.auditAs({ kind: signInKind, owner, facts: told });
  return { owner, told };
}

function applyAdministration(
  transaction: Transaction,
  source: SourceDocument,
  link: LinkDocument,
  claims: Claims,
): Administration {
  const { changes } = transaction;
  const { isAdmin } = profileOf(changes, link.owner);
  const found = administrationBy(source, claims, { isAdmin, by: link.administrationBy });
  if (found === 'unchanged') return found;
  setAdministrator(transaction, link.owner, found === 'given');
  setAdministrationBy(changes, link, found === 'given' ? source.id : null);
  return found;
}

/** Returns the profile in the claims. Ignores invalid claims, which must not prevent a sign-in. */
function profileIn(claims: Claims): { readonly email: string; readonly fullName: string } {
  const email = textClaim(claims, 'email') ?? '';
  const fullName = textClaim(claims, 'name') ?? '';
  return {
    email: isEmail(email) ? email : '',
    fullName: fullName !== '' && nameFault(fullName) === null ? fullName : '',
  };
}
