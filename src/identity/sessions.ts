/**
 * Sessions of browsers, as documents.
 *
 * A browser holds a handle and a secret, `HANDLE.SECRET`, both random. Only their SHA-256 is stored. The
 * secret is replaced once a day, and the previous one is valid for a minute, and until the new one was used.
 * If a request has an older secret, two parties have the session, and one of them stole it; so it ends for
 * both.
 */

import { hash, randomBytes } from 'node:crypto';
import type { ChangeSet, Snapshot } from '../documents/index.ts';
import { SoftquotaError } from '../errors.ts';
import type { OwnerRecord } from '../store/index.ts';
import { printable } from '../text.ts';
import type { Work } from '../turns.ts';
import {
  byAge,
  linkKind,
  newNumber,
  type SessionDocument,
  sessionKind,
  sourceKind,
  tokenKind,
  type Via,
} from './kinds.ts';
import { issuerOf } from './oauth/issuer.ts';
import { forgetUse, forgetUsesOfGone, keptUseOf } from './uses.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

export const sessionLimits = {
  /** Longest time after the sign-in, also for a session in use. */
  lifeMs: 30 * dayMs,
  /** Longest time without use. */
  idleMs: 7 * dayMs,
  /** Age of a secret at which the next use replaces it. */
  rotateAfterMs: dayMs,
  /** Least time for which a replaced secret is still accepted, for concurrent requests. */
  graceMs: minuteMs,
  /** The most sessions of one user; a new one replaces the one that was unused for longest. */
  mostOfOne: 100,
} as const;

const handleBytes = 16;
const secretBytes = 32;
const held = /^([\w-]{22})\.([\w-]{43})$/;

export interface NewSession {
  readonly via: Via;
  readonly scopes: readonly string[];
  /** Milliseconds since 1970; null: it ends only by `sessionLimits`. */
  readonly endsAt: number | null;
}

export interface PresentedCookie {
  readonly key: string;
  readonly handle: string;
  readonly secret: string;
}

export interface SessionCookie {
  readonly value: string;
  readonly seconds: number;
}

export interface Started extends SessionCookie {
  readonly key: string;
  readonly document: SessionDocument;
}

/** Parses a session cookie; null: it is malformed. */
export function broughtIn(value: string): PresentedCookie | null {
  const [, handle, secret] = held.exec(value) ?? [];
  if (handle === undefined || secret === undefined) return null;
  return { key: hash('sha256', handle), handle, secret: hash('sha256', secret) };
}

/**
 * Creates a session, always with a new handle, so that a cookie from before the sign-in is worthless. Throws
 * `invalid` for an organization.
 */
export function startSession(
  changes: ChangeSet,
  owner: OwnerRecord,
  wanted: NewSession,
  now: number,
): Started {
  if (owner.type !== 'user') {
    throw new SoftquotaError('invalid', `${printable(owner.name)} is an organization: only users sign in`);
  }
  const handle = randomBytes(handleBytes).toString('base64url');
  const secret = randomBytes(secretBytes).toString('base64url');
  const key = hash('sha256', handle);
  const document: SessionDocument = {
    ...wanted,
    id: newNumber(),
    owner: owner.id,
    createdAt: now,
    secret: hash('sha256', secret),
    previousSecret: null,
    rotatedAt: now,
    isUsed: true,
    stolenAt: null,
  };
  makeRoom(changes, owner.id);
  changes.put(sessionKind, key, document);
  return { key, document, value: `${handle}.${secret}`, seconds: secondsLeft(document, now) };
}

type DueChange = 'new_secret' | 'used';

export function standingOf(
  { secret, previousSecret, rotatedAt, isUsed }: SessionDocument,
  brought: PresentedCookie,
  now: number,
): 'current' | 'previous' | 'replaced' {
  if (brought.secret === secret) return 'current';
  const isValid = !isUsed || now - rotatedAt < sessionLimits.graceMs;
  return isValid && brought.secret === previousSecret ? 'previous' : 'replaced';
}

/** Returns the change of a session's secrets that the use of one brings about; null: none. */
export function dueChange(session: SessionDocument, brought: PresentedCookie, now: number): DueChange | null {
  const { graceMs, rotateAfterMs } = sessionLimits;
  const age = now - session.rotatedAt;
  switch (standingOf(session, brought, now)) {
    case 'current':
      if (age >= rotateAfterMs) return 'new_secret';
      return session.isUsed ? null : 'used';
    case 'previous':
      // If it still comes after that time, the answer with the current one got lost.
      return age >= graceMs ? 'new_secret' : null;
    case 'replaced':
      return null;
  }
}

/** Makes the due change of a session's secrets; null: there is no new secret. */
export function changeSecrets(
  changes: ChangeSet,
  brought: PresentedCookie,
  now: number,
): SessionCookie | null {
  const session = changes.get(sessionKind, brought.key);
  const change = session === undefined ? null : dueChange(session, brought, now);
  if (session === undefined || change === null) return null;
  if (change === 'used') {
    changes.put(sessionKind, brought.key, { ...session, isUsed: true });
    return null;
  }
  const secret = randomBytes(secretBytes).toString('base64url');
  changes.put(sessionKind, brought.key, {
    ...session,
    secret: hash('sha256', secret),
    previousSecret: brought.secret,
    rotatedAt: now,
    isUsed: false,
  });
  return { value: `${brought.handle}.${secret}`, seconds: secondsLeft(session, now) };
}

/** Ends a session as stolen if the presented secret was replaced earlier; null: it was not. */
export function markStolen(
  changes: ChangeSet,
  brought: PresentedCookie,
  now: number,
): SessionDocument | null {
  const session = changes.get(sessionKind, brought.key);
  if (session === undefined || standingOf(session, brought, now) !== 'replaced') return null;
  const stolen = { ...session, stolenAt: now };
  changes.put(sessionKind, brought.key, stolen);
  return stolen;
}

/** Returns the time at which a session ends without further use, in milliseconds since 1970. */
export function endOf({ createdAt, endsAt }: SessionDocument, lastUsedAt: number): number {
  const { lifeMs, idleMs } = sessionLimits;
  return Math.min(createdAt + lifeMs, lastUsedAt + idleMs, endsAt ?? Number.POSITIVE_INFINITY);
}

export function isOver(
  snapshot: Snapshot,
  session: SessionDocument,
  lastUsedAt: number,
  now: number,
): boolean {
  if (session.stolenAt !== null || endOf(session, lastUsedAt) <= now) return true;
  const { owner, via } = session;
  if (via.is === 'token') return snapshot.get(tokenKind, via.tokenKey) === undefined;
  return via.is === 'source' && !isGiven(snapshot, owner, via);
}

/** Tells whether a source still gives its sign-ins to an owner: it is in use, and so is the link. */
function isGiven(
  snapshot: Snapshot,
  ownerId: number,
  { source: id, issuer, subject }: Extract<Via, { readonly is: 'source' }>,
): boolean {
  const source = snapshot.get(sourceKind, String(id));
  if (source?.isActive !== true || issuerOf(source.discoveryUrl) !== issuer) return false;
  for (const [, link] of snapshot.ofOwner(linkKind, ownerId))
    if (link.issuer === issuer && link.subject === subject) return true;
  return false;
}

export function sessionEntriesOf(
  snapshot: Snapshot,
  ownerId: number,
): readonly (readonly [key: string, session: SessionDocument])[] {
  return [...snapshot.ofOwner(sessionKind, ownerId)].sort(([, a], [, b]) => byAge(a, b));
}

/** Ends a session by its id; throws `not_found`. */
export function endSession(changes: ChangeSet, owner: OwnerRecord, id: string): void {
  const found = sessionEntriesOf(changes, owner.id).find(([, session]) => String(session.id) === id);
  if (found === undefined) {
    throw new SoftquotaError('not_found', `${printable(owner.name)} has no session ${printable(id)}`);
  }
  removeSession(changes, found[0]);
}

/** Ends the session of a cookie, if the cookie is valid, because the browser gets another session. */
export function endBrought(changes: ChangeSet, value: string, now: number): void {
  const brought = broughtIn(value);
  const session = brought === null ? undefined : changes.get(sessionKind, brought.key);
  if (brought === null || session === undefined || standingOf(session, brought, now) === 'replaced') return;
  removeSession(changes, brought.key);
}

/** Ends such sessions of an owner; null: of all owners. */
export function endSessions(
  changes: ChangeSet,
  ownerId: number | null,
  areSuch: (session: SessionDocument) => boolean,
): void {
  const entries = ownerId === null ? changes.all(sessionKind) : changes.ofOwner(sessionKind, ownerId);
  for (const [key, session] of [...entries]) if (areSuch(session)) removeSession(changes, key);
}

/** Returns the time of the last use, as far as it is stored. */
export function lastUseOf(
  snapshot: Snapshot,
  key: string,
  { createdAt, rotatedAt }: SessionDocument,
): number {
  // Without a stored use, the last replacement of the secret tells the day of the last use.
  return Math.max(createdAt, rotatedAt, keptUseOf(snapshot, key) ?? 0);
}

/**
 * Removes ended sessions, and uses of removed tokens and sessions. `isThere` tells whether an owner exists.
 */
export function* sweepSessions(
  changes: ChangeSet,
  isThere: (ownerId: number) => boolean,
  now: number,
): Work<void> {
  for (const [key, session] of changes.all(sessionKind)) {
    const isUsed = isThere(session.owner) && !isOver(changes, session, lastUseOf(changes, key, session), now);
    if (!isUsed) removeSession(changes, key);
    yield;
  }
  yield* forgetUsesOfGone(changes);
}

function makeRoom(changes: ChangeSet, ownerId: number): void {
  const entries = sessionEntriesOf(changes, ownerId);
  const tooMany = entries.length + 1 - sessionLimits.mostOfOne;
  if (tooMany <= 0) return;
  const longestUnused = entries
    .map(([key, session]) => ({ key, at: lastUseOf(changes, key, session) }))
    .sort((a, b) => a.at - b.at);
  for (const { key } of longestUnused.slice(0, tooMany)) removeSession(changes, key);
}

function removeSession(changes: ChangeSet, key: string): void {
  changes.remove(sessionKind, key);
  forgetUse(changes, key);
}

function secondsLeft(session: SessionDocument, now: number): number {
  return Math.max(0, Math.floor((endOf(session, Number.POSITIVE_INFINITY) - now) / 1000));
}
