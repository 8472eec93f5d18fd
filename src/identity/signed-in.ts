/** The users who are signed in by sessions of browsers. */

import type { Documents } from '../documents/index.ts';
import { SoftquotaError } from '../errors.ts';
import type { Log } from '../log.ts';
import { type Caller, callerWith } from './caller.ts';
import { profileOf, type SessionDocument, sessionKind, tokenKind } from './kinds.ts';
import {
  broughtIn,
  changeSecrets,
  dueChange,
  endOf,
  isOver,
  lastUseOf,
  markStolen,
  type PresentedCookie,
  type SessionCookie,
  sessionEntriesOf,
  standingOf,
  sweepSessions,
} from './sessions.ts';
import type { Uses } from './uses.ts';

export interface SignedInOptions {
  readonly documents: Pick<
    Documents,
    'catchUp' | 'owners' | 'snapshot' | 'takeLease' | 'transact' | 'transactInSlices'
  >;
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
 * A new secret can get lost on its way, for example if the user leaves the page at that moment. So the
 * previous one is valid until the new one is used, and gets another new secret after a minute.
 */
export class SignedIn {
  readonly #options: SignedInOptions;
  /** The changes under way, by session and presented secret. */
  readonly #changing = new Map<string, Promise<SessionCookie | null>>();
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
    const isReplaced = standingOf(session, brought, this.#options.now()) === 'replaced';
    if (isReplaced && (await this.#isStolen(brought))) return null;
    const renewed = await this.#renewedWhenDue(brought);
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
      // Without the uses that other hosts recorded, a session could look unused for too long.
      await documents.catchUp();
      const isThere = (id: number) => documents.owners.byId(id) !== undefined;
      await documents.transactInSlices(({ changes }) => sweepSessions(changes, isThere, now()));
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

  /**
   * Makes the due change of the secrets. Returns the new cookie. Concurrent requests with the same secret
   * share one change.
   */
  async #renewedWhenDue(brought: PresentedCookie): Promise<SessionCookie | null> {
    const { documents, now } = this.#options;
    const session = documents.snapshot.get(sessionKind, brought.key);
    const due = session === undefined ? null : dueChange(session, brought, now());
    if (due === null) return null;
    const one = `${brought.key}.${brought.secret}`;
    const changing =
      this.#changing.get(one) ??
      this.#change(brought, due === 'new_secret').finally(() => this.#changing.delete(one));
    this.#changing.set(one, changing);
    try {
      return await changing;
    } catch (error) {
      // The store is away: the session continues with the old secret, which is replaced later.
      if (error instanceof SoftquotaError && error.code === 'store_away') return null;
      throw error;
    }
  }

  /** Changes the secrets. If several hosts have requests with the same secret, only one host renews it. */
  async #change(brought: PresentedCookie, isNewSecret: boolean): Promise<SessionCookie | null> {
    const { documents, now } = this.#options;
    await documents.catchUp();
    if (isNewSecret && !(await documents.takeLease(`rotate-${brought.key}`))) return null;
    return documents.transact(({ changes }) => changeSecrets(changes, brought, now()));
  }
}
