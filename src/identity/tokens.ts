/** Tokens of users. A token is shown only once, when it is created, and only its hash is stored. */

import { hash, randomBytes } from 'node:crypto';
import type { ChangeSet, Snapshot } from '../documents/index.ts';
import { FaultList, SoftquotaError } from '../errors.ts';
import { nameFaults } from '../quota/index.ts';
import type { OwnerRecord } from '../store/index.ts';
import { printable } from '../text.ts';
import { type Caller, givesBeyond } from './caller.ts';
import { byAge, newNumber, type TokenDocument, tokenKind } from './kinds.ts';
import { endSessions } from './sessions.ts';
import { forgetUse } from './uses.ts';

/** Most tokens of one user, since a new one reads all others, and every host has them in memory. */
const mostTokens = 100;

const tokenBytes = 20;

export interface NewToken {
  readonly name: string;
  readonly scopes: readonly string[];
  /** Milliseconds since 1970; null: never. */
  readonly expiresAt: number | null;
}

/** Returns the key of a token's document. It is a digest, so the timing of the search reveals nothing. */
export function keyOfToken(token: string): string {
  return hash('sha256', token);
}

export function entriesOf(
  snapshot: Snapshot,
  ownerId: number,
): readonly (readonly [key: string, token: TokenDocument])[] {
  return [...snapshot.ofOwner(tokenKind, ownerId)].sort(([, a], [, b]) => byAge(a, b));
}

export function tokensOf(snapshot: Snapshot, ownerId: number): readonly TokenDocument[] {
  return entriesOf(snapshot, ownerId).map(([, token]) => token);
}

type Maker = Pick<Caller, 'scopes' | 'expiresAt'>;

/**
 * Creates a token for a user: 40 hexadecimal digits. Throws `not_permitted` if it has more scopes or time
 * than its creator, `conflict` if the user has one of that name or too many, or `invalid` with all faults.
 */
export function createToken(
  changes: ChangeSet,
  owner: OwnerRecord,
  wanted: NewToken,
  { maker, now }: { readonly maker: Maker; readonly now: number },
): { readonly token: string; readonly document: TokenDocument } {
  mustNotGiveMore(wanted, maker);
  const others = tokensOf(changes, owner.id);
  if (others.some(({ name }) => name === wanted.name)) {
    const message = `${printable(owner.name)} has a token ${printable(wanted.name)} already`;
    throw new SoftquotaError('conflict', message);
  }
  if (others.length >= mostTokens) {
    const message = `${printable(owner.name)} has ${others.length} tokens, which is the limit: revoke one first`;
    throw new SoftquotaError('conflict', message);
  }
  FaultList.of(faultsOf(wanted, owner, now)).throwIfAny();
  const token = randomBytes(tokenBytes).toString('hex');
  const document: TokenDocument = {
    id: newNumber(),
    owner: owner.id,
    name: wanted.name,
    lastEight: token.slice(-8),
    scopes: [...new Set(wanted.scopes)],
    createdAt: now,
    expiresAt: wanted.expiresAt,
  };
  changes.put(tokenKind, keyOfToken(token), document);
  return { token, document };
}

/** Revokes a token by its id, or else by its name, and ends its sessions; throws `not_found`. */
export function revokeToken(changes: ChangeSet, owner: OwnerRecord, idOrName: string): void {
  const entries = entriesOf(changes, owner.id);
  const found =
    entries.find(([, { id }]) => String(id) === idOrName) ??
    entries.find(([, { name }]) => name === idOrName);
  if (found === undefined) {
    throw new SoftquotaError('not_found', `${printable(owner.name)} has no token ${printable(idOrName)}`);
  }
  const [key] = found;
  changes.remove(tokenKind, key);
  forgetUse(changes, key);
  endSessions(changes, owner.id, ({ via }) => via.is === 'token' && via.tokenKey === key);
}

function mustNotGiveMore({ scopes, expiresAt }: NewToken, maker: Maker): void {
  const beyond = givesBeyond(scopes, maker.scopes);
  if (beyond !== null) {
    const message = `scopes: the token that you use does not have ${beyond}, so it cannot create a token with this scope`;
    throw new SoftquotaError('not_permitted', message);
  }
  if (maker.expiresAt !== null && (expiresAt === null || expiresAt > maker.expiresAt)) {
    throw new SoftquotaError(
      'not_permitted',
      `expires_at: the token that you use ends at ${new Date(maker.expiresAt).toISOString()}, and a token that it creates cannot last longer`,
    );
  }
}

function faultsOf({ name, scopes, expiresAt }: NewToken, owner: OwnerRecord, now: number): readonly string[] {
  return [
    ...(owner.type === 'user' ? [] : [`${printable(owner.name)} is an organization: only users have tokens`]),
    ...nameFaults('name', name),
    ...(scopes.length > 0 ? [] : ['scopes: at least one is expected, such as all or read:user']),
    ...(expiresAt === null || expiresAt > now ? [] : ['expires_at: the time is in the past']),
  ];
}
