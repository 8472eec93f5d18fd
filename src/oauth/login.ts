/**
 * Somebody signs in at a provider: who that is here, and what becomes of it.
 *
 * Somebody who came before is known by issuer and subject. Somebody who comes for the first time is created
 * by the name that the provider tells, and bound. A name that somebody has here already is another one's,
 * unless the source says that names at this provider are the same people; and never that of an administrator,
 * or of one with tokens.
 */

import type { Transaction } from '../documents/index.ts';
import {
  createUser,
  type LinkDocument,
  linkAt,
  linkOf,
  profileOf,
  putLink,
  tokensOf,
} from '../identity/index.ts';
import { nameFault } from '../quota/index.ts';
import type { OwnerRecord } from '../store/index.ts';
import { isEmail } from '../text/index.ts';
import { applyAdministration, type Claims, textClaim } from './claims.ts';
import { SignInFault } from './fault.ts';
import { issuerOf } from './issuer.ts';
import type { SourceDocument } from './kinds.ts';
import { applyClaims, factsOf, type SignInFacts, signInKind } from './synchronization.ts';

export interface LoginResult {
  /** The identifier of the account at the provider, which is never reused there. */
  readonly subject: string;
  /** From the ID token and userinfo. */
  readonly claims: Claims;
}

interface LoggedIn {
  readonly owner: OwnerRecord;
  readonly told: SignInFacts;
}

/**
 * With one event, also where nothing becomes another. `now`: milliseconds since 1970. Throws a `SignInFault`:
 * `nameless` where no claim tells a name, `name_unusable` where nobody could have it here, `name_taken` where
 * it is another's. For the log, it says also what an administrator does about it.
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
    // Somebody else at the same provider had this name before.
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

/** A claim that cannot be used is left out: it must not prevent a sign-in. */
function profileIn(claims: Claims): { readonly email: string; readonly fullName: string } {
  const email = textClaim(claims, 'email') ?? '';
  const fullName = textClaim(claims, 'name') ?? '';
  return {
    email: isEmail(email) ? email : '',
    fullName: fullName !== '' && nameFault(fullName) === null ? fullName : '',
  };
}
