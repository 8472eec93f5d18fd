/**
 * Sessions of browsers, as documents, and the users who are signed in by them.
 *
 * A browser holds a handle and a secret, `HANDLE.SECRET`, both random. Only their SHA-256 is stored. The
 * secret is replaced once a day, and the previous one is valid until the new one was used. If a request has
 * an older secret, two parties have the session, and one of them stole it; so it ends for both.
 */

import { hash, randomBytes } from 'node:crypto';
import type { ChangeSet, Documents, Snapshot } from '../documents/index.ts';
import { SoftquotaError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { OwnerRecord } from '../store/index.ts';
import { printable } from '../text.ts';
import { type Caller, callerWith } from './caller.ts';
import {
  byAge,
  newNumber,
  profileOf,
  type SessionDocument,
  sessionKind,
  tokenKind,
  type Via,
} from './kinds.ts';
import { forgetUse, forgetUsesOfGone, keptUseOf, type Uses } from './uses.ts';

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

interface PresentedCookie {
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
function broughtIn(value: string): PresentedCookie | null {
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

function standingOf(
  { secret, previousSecret }: SessionDocument,
  brought: PresentedCookie,
): 'current' | 'previous' | 'replaced' {
  if (brought.secret === secret) return 'current';
  return brought.secret === previousSecret ? 'previous' : 'replaced';
}

/** Returns the change of a session's secrets that the use of one brings about; null: none. */
function dueChange(
  session: SessionDocument,
  brought: PresentedCookie,
  now: number,
): 'new_secret' | 'no_previous' | null {
  const { graceMs, rotateAfterMs } = sessionLimits;
  const standing = standingOf(session, brought);
  const age = now - session.rotatedAt;
  if (standing === 'replaced' || age < graceMs) return null;
  // If the previous one still comes, the answer with the current one got lost.
  if (standing === 'previous' || age >= rotateAfterMs) return 'new_secret';
  return session.previousSecret === null ? null : 'no_previous';
}

/** Makes the due change of a session's secrets; null: there is no new secret. */
function changeSecrets(changes: ChangeSet, brought: PresentedCookie, now: number): SessionCookie | null {
  const session = changes.get(sessionKind, brought.key);
  const change = session === undefined ? null : dueChange(session, brought, now);
  if (session === undefined || change === null) return null;
  if (change === 'no_previous') {
    changes.put(sessionKind, brought.key, { ...session, previousSecret: null });
    return null;
  }
  const secret = randomBytes(secretBytes).toString('base64url');
  const rotated = { secret: hash('sha256', secret), previousSecret: brought.secret, rotatedAt: now };
  changes.put(sessionKind, brought.key, { ...session, ...rotated });
  return { value: `${brought.handle}.${secret}`, seconds: secondsLeft(session, now) };
}

/** Ends a session as stolen if the presented secret was replaced earlier; null: it was not. */
function markStolen(changes: ChangeSet, brought: PresentedCookie, now: number): SessionDocument | null {
  const session = changes.get(sessionKind, brought.key);
  if (session === undefined || standingOf(session, brought) !== 'replaced') return null;
  const stolen = { ...session, stolenAt: now };
  changes.put(sessionKind, brought.key, stolen);
  return stolen;
}

/** Returns the time at which a session ends without further use, in milliseconds since 1970. */
function endOf({ createdAt, endsAt }: SessionDocument, lastUsedAt: number): number {
  const { lifeMs, idleMs } = sessionLimits;
  return Math.min(createdAt + lifeMs, lastUsedAt + idleMs, endsAt ?? Number.POSITIVE_INFINITY);
}

function isOver(snapshot: Snapshot, session: SessionDocument, lastUsedAt: number, now: number): boolean {
  if (session.stolenAt !== null || endOf(session, lastUsedAt) <= now) return true;
  return session.via.is === 'token' && snapshot.get(tokenKind, session.via.tokenKey) === undefined;
}

function sessionEntriesOf(
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
export function endBrought(changes: ChangeSet, value: string): void {
  const brought = broughtIn(value);
  const session = brought === null ? undefined : changes.get(sessionKind, brought.key);
  if (brought === null || session === undefined || standingOf(session, brought) === 'replaced') return;
  removeSession(changes, brought.key);
}

export function endSessions(changes: ChangeSet, areSuch: (session: SessionDocument) => boolean): void {
  for (const [key, session] of [...changes.all(sessionKind)]) {
    if (areSuch(session)) removeSession(changes, key);
  }
}

/** Returns the time of the last use, as far as it is stored. */
function lastUseOf(snapshot: Snapshot, key: string, { createdAt, rotatedAt }: SessionDocument): number {
  // Without a stored use, the last replacement of the secret tells the day of the last use.
  return Math.max(createdAt, rotatedAt, keptUseOf(snapshot, key) ?? 0);
}

/**
 * Removes ended sessions, and uses of removed tokens and sessions. `isThere` tells whether an owner exists.
 */
function sweepSessions(changes: ChangeSet, isThere: (ownerId: number) => boolean, now: number): void {
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

export interface SignedInOptions {
  readonly documents: Pick<Documents, 'catchUp' | 'owners' | 'snapshot' | 'takeLease' | 'transact'>;
  /** Milliseconds since 1970. */
  now(): number;
  readonly log: Pick<Log, 'warn'>;
  readonly uses: Uses;
}

export interface KnownSession {
  readonly key: string;
  readonly document: SessionDocument;
  readonly lastUsedAt: number;
  readonly endsAt: number;
}

const sweepEveryMs = 3_600_000;

/**
 * Finds the user of a session cookie. It reads the documents in force, so that a session that was ended on
 * any host is invalid.
 *
 * A new secret can get lost on its way, for example if the user leaves the page at that moment. So it is
 * remembered for concurrent requests, and sent again in answer to the previous one; later that one gets
 * another new secret.
 */
export class SignedIn {
  readonly #options: SignedInOptions;
  readonly #renewed = new Map<string, { readonly held: SessionCookie; readonly until: number }>();
  readonly #rotating = new Map<string, Promise<SessionCookie | null>>();
  #sweeping: NodeJS.Timeout | null = null;

  constructor(options: SignedInOptions) {
    this.#options = options;
  }

  /**
   * Removes ended sessions each hour from now on, but not at once, since the clock may be wrong at the start.
   */
  start(): void {
    this.#sweeping ??= setInterval(() => void this.sweep(), sweepEveryMs).unref();
  }

  close(): void {
    if (this.#sweeping !== null) clearInterval(this.#sweeping);
    this.#sweeping = null;
  }

  /**
   * Authenticates a cookie; null: it is invalid. `renewed`: the new cookie for the browser; null: it keeps
   * the current one. Rejects with `store_away` if the store is needed to tell whether the session was stolen.
   */
  async authenticate(value: string) {
    const brought = broughtIn(value);
    const session = brought === null ? undefined : this.#sessionOf(brought.key);
    if (brought === null || session === undefined) return null;
    const { key } = brought;
    if (standingOf(session, brought) === 'replaced' && (await this.#isStolen(brought))) return null;
    const renewed = await this.#renewedWhenDue(brought, session);
    const caller = this.callerOf(key);
    if (caller === null) return null;
    this.#recordUse(key, session);
    return { key, caller, renewed };
  }

  /** Returns the current caller of a session; null: the session has ended. */
  callerOf(key: string): Caller | null {
    const { documents } = this.#options;
    const session = this.#sessionOf(key);
    const owner = session === undefined ? undefined : documents.owners.byId(session.owner);
    if (session === undefined || owner === undefined || owner.type !== 'user') return null;
    const { scopes, endsAt, via } = session;
    const token = via.is === 'token' ? documents.snapshot.get(tokenKind, via.tokenKey) : undefined;
    const tokenId = token === undefined ? null : String(token.id);
    const credentials = { tokenId, sessionKey: key, scopes, expiresAt: endsAt };
    return callerWith(credentials, owner, profileOf(documents.snapshot, owner.id).isAdmin);
  }

  /** Returns a session; undefined: there is none, or it has ended. */
  session(key: string): KnownSession | undefined {
    const document = this.#sessionOf(key);
    if (document === undefined) return undefined;
    const lastUsedAt = this.#lastUseOf(key, document);
    return { key, document, lastUsedAt, endsAt: endOf(document, lastUsedAt) };
  }

  sessionsOf(ownerId: number): readonly KnownSession[] {
    const entries = sessionEntriesOf(this.#options.documents.snapshot, ownerId);
    return entries.flatMap(([key]) => this.session(key) ?? []);
  }

  *everySession(): Generator<KnownSession> {
    for (const [key] of this.#options.documents.snapshot.all(sessionKind)) {
      const known = this.session(key);
      if (known !== undefined) yield known;
    }
  }

  /** Removes ended sessions. Never rejects: a failed removal is repeated in the next sweep. */
  async sweep(): Promise<void> {
    const { documents, now, log } = this.#options;
    try {
      await documents.transact(transaction => {
        const isThere = (id: number) => documents.owners.byId(id) !== undefined;
        sweepSessions(transaction.changes, isThere, now());
      });
    } catch (error) {
      log.warn({ err: error }, 'sessions that are over could not be taken out; it is tried again');
    }
  }

  #sessionOf(key: string): SessionDocument | undefined {
    const { documents, now } = this.#options;
    const session = documents.snapshot.get(sessionKind, key);
    if (session === undefined) return undefined;
    return isOver(documents.snapshot, session, this.#lastUseOf(key, session), now()) ? undefined : session;
  }

  /** Returns the last use that this host knows; another host may know of a later one. */
  #lastUseOf(key: string, session: SessionDocument): number {
    const { documents, uses } = this.#options;
    return Math.max(lastUseOf(documents.snapshot, key, session), uses.lastOf(key) ?? 0);
  }

  /** Records a use of a session, and of the token that started it. */
  #recordUse(key: string, { via }: SessionDocument): void {
    const { now, uses } = this.#options;
    uses.enqueue(key, now());
    if (via.is === 'token') uses.enqueue(via.tokenKey, now());
  }

  /**
   * Ends a stolen session, and returns true; false: another host has just made this secret the current one.
   */
  async #isStolen(brought: PresentedCookie): Promise<boolean> {
    const { documents, now, log } = this.#options;
    await documents.catchUp();
    const stolen = await documents.transact(({ changes }) => markStolen(changes, brought, now()));
    if (stolen === null) return false;
    const user = documents.owners.byId(stolen.owner)?.name ?? null;
    const words = 'a session came back with a secret that had been replaced, so two have it: it is ended';
    log.warn({ user, session: stolen.id, via: stolen.via.is, startedAt: stolen.createdAt }, words);
    return true;
  }

  /** Makes the due change of the secrets. Returns the new cookie. Concurrent requests share one change. */
  async #renewedWhenDue(brought: PresentedCookie, session: SessionDocument): Promise<SessionCookie | null> {
    const { key } = brought;
    if (dueChange(session, brought, this.#options.now()) === null) {
      return standingOf(session, brought) === 'previous' ? this.#lastRenewed(key) : null;
    }
    const rotating =
      this.#rotating.get(key) ?? this.#rotate(brought).finally(() => this.#rotating.delete(key));
    this.#rotating.set(key, rotating);
    try {
      return await rotating;
    } catch (error) {
      // The store is away: the session continues with the old secret, which is replaced later.
      if (error instanceof SoftquotaError && error.code === 'store_away') return null;
      throw error;
    }
  }

  /** Changes the secrets. If several hosts have requests with the same secret, only one host does. */
  async #rotate(brought: PresentedCookie): Promise<SessionCookie | null> {
    const { documents, now } = this.#options;
    await documents.catchUp();
    if (!(await documents.takeLease(`rotate-${brought.key}`))) return null;
    const held = await documents.transact(({ changes }) => changeSecrets(changes, brought, now()));
    if (held === null) return this.#lastRenewed(brought.key);
    this.#remember(brought.key, held);
    return held;
  }

  #lastRenewed(key: string): SessionCookie | null {
    const last = this.#renewed.get(key);
    return last === undefined || last.until <= this.#options.now() ? null : last.held;
  }

  #remember(key: string, held: SessionCookie): void {
    const now = this.#options.now();
    for (const [known, { until }] of this.#renewed) if (until <= now) this.#renewed.delete(known);
    this.#renewed.set(key, { held, until: now + sessionLimits.graceMs });
  }
}
