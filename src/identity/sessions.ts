/**
 * Sessions of browsers, as documents; and the last uses of tokens and sessions.
 *
 * A browser holds a handle and a secret, `HANDLE.SECRET`, both random. Only their SHA-256 is stored. The
 * secret is replaced once a day. If a request has a replaced secret, two parties have the session, and one of
 * them stole it; so it ends for both.
 */

import { hash, randomBytes } from 'node:crypto';
import type { ChangeSet, Documents, Snapshot } from '../documents/index.ts';
import { SoftquotaError } from '../errors.ts';
import type { Log } from '../log.ts';
import { SerialQueue } from '../serial-queue.ts';
import type { OwnerRecord } from '../store/index.ts';
import { printable } from '../text.ts';
import {
  byAge,
  newNumber,
  type SessionDocument,
  sessionKind,
  tokenKind,
  useKind,
  type Via,
} from './kinds.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

export const sessionLimits = {
  /** Longest time after the sign-in, also for a session in use. */
  lifeMs: 30 * dayMs,
  /** Longest time without use. */
  idleMs: 7 * dayMs,
  /** Age of a secret at which the next use replaces it. */
  rotateAfterMs: dayMs,
  /** Time for which a replaced secret is still accepted, for concurrent requests. */
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
    stolenAt: null,
  };
  makeRoom(changes, owner.id);
  changes.put(sessionKind, key, document);
  return { key, document, value: `${handle}.${secret}`, seconds: secondsLeft(document, now) };
}

export function standingOf(
  { secret, previousSecret, rotatedAt }: SessionDocument,
  brought: PresentedCookie,
  now: number,
): 'current' | 'previous' | 'replaced' {
  if (brought.secret === secret) return 'current';
  const isInTime = now - rotatedAt < sessionLimits.graceMs;
  return isInTime && brought.secret === previousSecret ? 'previous' : 'replaced';
}

/** Replaces the secret of a session; null: the presented secret is not the current one. */
export function rotateSession(
  changes: ChangeSet,
  brought: PresentedCookie,
  now: number,
): SessionCookie | null {
  const session = changes.get(sessionKind, brought.key);
  if (session === undefined || standingOf(session, brought, now) !== 'current') return null;
  const secret = randomBytes(secretBytes).toString('base64url');
  const rotated = { secret: hash('sha256', secret), previousSecret: session.secret, rotatedAt: now };
  changes.put(sessionKind, brought.key, { ...session, ...rotated });
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
  return session.via.is === 'token' && snapshot.get(tokenKind, session.via.tokenKey) === undefined;
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

export function endSessions(changes: ChangeSet, areSuch: (session: SessionDocument) => boolean): void {
  for (const [key, session] of [...changes.all(sessionKind)]) {
    if (areSuch(session)) removeSession(changes, key);
  }
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
export function sweepSessions(changes: ChangeSet, isThere: (ownerId: number) => boolean, now: number): void {
  for (const [key, session] of [...changes.all(sessionKind)]) {
    const isUsed = isThere(session.owner) && !isOver(changes, session, lastUseOf(changes, key, session), now);
    if (!isUsed) removeSession(changes, key);
  }
  forgetUsesOfGone(changes);
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

export interface UsesOptions {
  readonly documents: Pick<Documents, 'transact'>;
  readonly log: Pick<Log, 'warn'>;
  /** Least time between two writes, in milliseconds. */
  readonly everyMs: number;
}

/**
 * The times at which tokens and sessions were last used. They are known at once, and written together from time
 * to time, so that no request waits for a write.
 */
export class Uses {
  readonly #options: UsesOptions;
  /** Uses that are not written yet: milliseconds since 1970 by the key of the token or session. */
  readonly #pending = new Map<string, number>();
  #timer: NodeJS.Timeout | null = null;
  readonly #writes = new SerialQueue();

  constructor(options: UsesOptions) {
    this.#options = options;
  }

  enqueue(key: string, at: number): void {
    this.#pending.set(key, at);
    this.#writeLater();
  }

  /** Returns the last use that is not written yet; null if none waits. */
  lastOf(key: string): number | null {
    return this.#pending.get(key) ?? null;
  }

  async close(): Promise<void> {
    await this.#write();
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #writeLater(): void {
    this.#timer ??= setTimeout(() => void this.#write(), this.#options.everyMs).unref();
  }

  /** Writes after the write that is under way. Never rejects. */
  #write(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    return this.#writes.run(() => this.#writePending());
  }

  async #writePending(): Promise<void> {
    const uses = new Map(this.#pending);
    if (uses.size === 0) return;
    try {
      await this.#options.documents.transact(({ changes }) => {
        // A deleted entry stays deleted, and a later use that is already known stays.
        for (const [key, at] of uses) {
          const isNews = isKnown(changes, key) && (keptUseOf(changes, key) ?? 0) < at;
          if (isNews) changes.put(useKind, key, { at });
        }
      });
      for (const [key, at] of uses) if (this.#pending.get(key) === at) this.#pending.delete(key);
    } catch (error) {
      const words = 'when tokens and sessions were last used could not be kept; it is tried again';
      this.#options.log.warn({ err: error }, words);
      this.#writeLater();
    }
  }
}

export function keptUseOf(snapshot: Snapshot, key: string): number | null {
  return snapshot.get(useKind, key)?.at ?? null;
}

export function forgetUse(changes: ChangeSet, key: string): void {
  if (keptUseOf(changes, key) !== null) changes.remove(useKind, key);
}

/** Removes uses of removed tokens and sessions, since a use can be written during the removal. */
export function forgetUsesOfGone(changes: ChangeSet): void {
  for (const [key] of [...changes.all(useKind)]) if (!isKnown(changes, key)) changes.remove(useKind, key);
}

function isKnown(changes: ChangeSet, key: string): boolean {
  return changes.get(tokenKind, key) !== undefined || changes.get(sessionKind, key) !== undefined;
}
