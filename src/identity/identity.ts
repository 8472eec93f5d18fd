/** Authenticates requests by token or session, and signs users in. */

import { hash, randomBytes } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { SoftquotaError } from '../errors.ts';
import type { Log } from '../log.ts';
import { type Caller, callerWith, tokenIn } from './caller.ts';
import { profileOf, type TokenDocument, tokenKind } from './kinds.ts';
import { endBrought, type NewSession, type SessionCookie, type Started, startSession } from './sessions.ts';
import { SignedIn, type SignedInOptions } from './signed-in.ts';
import { entriesOf, keyOfToken } from './tokens.ts';
import { keptUseOf, Uses } from './uses.ts';

export type Authentication =
  | {
      readonly is: 'caller';
      readonly caller: Caller;
      /** Returns the current caller; null: the credentials are no longer valid. */
      again(): Caller | null;
      /** The new cookie for the browser, if it changes. */
      readonly renewed: SessionCookie | null;
    }
  | { readonly is: 'none' }
  | NotAuthenticated;

type NotAuthenticated =
  /** A refusal without a reason, so that it does not reveal whether credentials are unknown or expired. */
  { readonly is: 'refused' } | { readonly is: 'slowed'; readonly retryAfterSeconds: number };

type UsedToken = TokenDocument & { readonly lastUsedAt: number | null };

export type SignIn = { readonly token: string } | { readonly code: string };

type SignInResult = { readonly is: 'signed in'; readonly started: Started } | NotAuthenticated;

interface IdentityOptions {
  readonly documents: SignedInOptions['documents'];
  /** Milliseconds since 1970. */
  now(): number;
  readonly log: Pick<Log, 'warn'>;
  /** Default: 20 a minute. */
  readonly limits?: AttemptLimits;
  /** Milliseconds between two writes of last uses; default: a minute. */
  readonly usesEveryMs?: number;
}

interface AttemptLimits {
  readonly wrongTries: number;
  readonly perSeconds: number;
}

interface SignInLink {
  readonly ownerId: number;
  /** The scopes and the end of the session, at most those of the creator. */
  readonly scopes: readonly string[];
  readonly endsAt: number | null;
}

const linkLifeMs = 600_000;
const mostLinks = 1000;
const codeBytes = 32;
const twentyAMinute: AttemptLimits = { wrongTries: 20, perSeconds: 60 };
const minuteMs = 60_000;

export class Identity {
  readonly signedIn: SignedIn;
  readonly #options: IdentityOptions;
  readonly #wrong: ReturnType<typeof wrongAttempts>;
  readonly #uses: Uses;
  /** Sign-in links by the SHA-256 of their codes, the oldest first, except those that were given back. */
  readonly #links = new Map<string, SignInLink & { readonly until: number }>();

  constructor(options: IdentityOptions) {
    const { documents, log, now, limits = twentyAMinute, usesEveryMs = minuteMs } = options;
    this.#options = options;
    this.#wrong = wrongAttempts(limits);
    this.#uses = new Uses({ documents, log, everyMs: usesEveryMs });
    this.signedIn = new SignedIn({ documents, now, log, uses: this.#uses });
  }

  /** Removes ended sessions from now on. */
  start(): void {
    this.signedIn.start();
  }

  /**
   * Authenticates an `Authorization` header: `token T`, `Bearer T`, or Basic with the token as password. Each
   * invalid one counts against the client's address, and too many slow it down; a valid one is never slowed.
   */
  async authenticate(authorization: string | undefined, address: string): Promise<Authentication> {
    if (authorization === undefined) return { is: 'none' };
    const token = tokenIn(authorization);
    const key = token === null ? null : keyOfToken(token);
    const again = () => (key === null ? null : this.#callerOf(key));
    const caller = await this.#attempt(address, again());
    if ('is' in caller) return caller;
    if (key !== null) this.#uses.enqueue(key, this.#options.now());
    return { is: 'caller', caller, again, renewed: null };
  }

  /**
   * Authenticates a session cookie. An invalid one does not count against the address: nobody can guess a
   * cookie, and pages that stay open after the end of their session send it again and again. Rejects with
   * `store_away` if the store is needed to tell whether the session was stolen.
   */
  async authenticateSession(value: string): Promise<Authentication> {
    const found = await this.signedIn.authenticate(value);
    if (found === null) return { is: 'refused' };
    const { key, caller, renewed } = found;
    return { is: 'caller', caller, again: () => this.signedIn.callerOf(key), renewed };
  }

  /**
   * Starts a session, and ends the one that the browser holds. Invalid credentials count against the address
   * as in `authenticate`. Rejects with `store_away`; a sign-in link can be used again then.
   */
  async signIn(by: SignIn, address: string, held: string | null): Promise<SignInResult> {
    const wanted = await this.#attempt(
      address,
      'token' in by ? this.#sessionByToken(keyOfToken(by.token)) : this.#sessionByLink(by.code),
    );
    if ('is' in wanted) return wanted;
    const { author, ownerId, session, giveBack } = wanted;
    const { documents, now } = this.#options;
    try {
      const started = await documents.transact(({ changes }) => {
        const owner = documents.owners.byId(ownerId);
        const isRevoked =
          session.via.is === 'token' && changes.get(tokenKind, session.via.tokenKey) === undefined;
        if (owner === undefined || isRevoked)
          throw new SoftquotaError('unauthenticated', 'invalid or expired token');
        if (held !== null) endBrought(changes, held, now());
        return startSession(changes, owner, session, now());
      }, author);
      return { is: 'signed in', started };
    } catch (error) {
      if (error instanceof SoftquotaError && error.code === 'store_away') giveBack?.();
      throw error;
    }
  }

  /** Makes a code that signs a user in once, within ten minutes. `until`: milliseconds since 1970. */
  makeSignInLink(link: SignInLink): { readonly code: string; readonly until: number } {
    const now = this.#options.now();
    for (const [key, { until }] of this.#links) {
      if (until <= now || this.#links.size >= mostLinks) this.#links.delete(key);
    }
    const code = randomBytes(codeBytes).toString('base64url');
    const until = now + linkLifeMs;
    this.#links.set(hash('sha256', code), { ...link, until });
    return { code, until };
  }

  tokensOf(ownerId: number): readonly UsedToken[] {
    const { snapshot } = this.#options.documents;
    return entriesOf(snapshot, ownerId).map(entry => this.#withUse(entry));
  }

  *everyToken(): Generator<UsedToken> {
    const { snapshot } = this.#options.documents;
    for (const entry of snapshot.all(tokenKind)) yield this.#withUse(entry);
  }

  #withUse([key, token]: readonly [string, TokenDocument]): UsedToken {
    return {
      ...token,
      lastUsedAt: this.#uses.lastOf(key) ?? keptUseOf(this.#options.documents.snapshot, key),
    };
  }

  /** Stops, and writes the last uses of tokens and sessions. */
  close(): Promise<void> {
    this.signedIn.close();
    return this.#uses.close();
  }

  async #attempt<T extends object>(address: string, found: T | null): Promise<T | NotAuthenticated> {
    if (found !== null) return found;
    const seconds = await this.#wrong(address);
    return seconds === null ? { is: 'refused' } : { is: 'slowed', retryAfterSeconds: seconds };
  }

  #callerOf(key: string): Caller | null {
    const { documents, now } = this.#options;
    const token = documents.snapshot.get(tokenKind, key);
    if (token === undefined || (token.expiresAt !== null && token.expiresAt <= now())) return null;
    const owner = documents.owners.byId(token.owner);
    if (owner === undefined) return null;
    const { scopes, expiresAt } = token;
    const credentials = { tokenId: String(token.id), sessionKey: null, scopes, expiresAt };
    return callerWith(credentials, owner, profileOf(documents.snapshot, owner.id).isAdmin);
  }

  #sessionByToken(tokenKey: string): Wanted | null {
    const caller = this.#callerOf(tokenKey);
    if (caller === null || caller.ownerId === null) return null;
    const { scopes, expiresAt: endsAt } = caller;
    return {
      author: caller,
      ownerId: caller.ownerId,
      session: { via: { is: 'token', tokenKey }, scopes, endsAt },
    };
  }

  #sessionByLink(code: string): Wanted | null {
    const { documents, now } = this.#options;
    const key = hash('sha256', code);
    const link = this.#links.get(key);
    this.#links.delete(key);
    const owner = link === undefined ? undefined : documents.owners.byId(link.ownerId);
    if (link === undefined || link.until <= now() || owner === undefined) return null;
    const { scopes, endsAt } = link;
    const author = { ownerId: owner.id, name: owner.name, tokenId: null };
    const session = { via: { is: 'link' }, scopes, endsAt } as const;
    return { author, ownerId: owner.id, session, giveBack: () => void this.#links.set(key, link) };
  }
}

interface Wanted {
  readonly author: Pick<Caller, 'ownerId' | 'name' | 'tokenId'>;
  readonly ownerId: number;
  readonly session: NewSession;
  /** Makes a sign-in link usable again. */
  giveBack?(): void;
}

/**
 * Networks share slots by these digits of a salted hash, and are slowed together with the others in a slot.
 */
const slotDigits = 4;

/**
 * Returns a function that counts an invalid attempt of an address, and returns the seconds to wait; null:
 * none.
 *
 * After a number of invalid ones from one network, each further one has to wait. Valid credentials are never
 * slowed, even from the same address: a check costs only a hash, and nobody can guess 160 bits by many
 * attempts. Memory is bounded, however many addresses an attacker has.
 */
function wrongAttempts(limits: AttemptLimits): (address: string) => Promise<number | null> {
  const limiter = new RateLimiterMemory({ points: limits.wrongTries, duration: limits.perSeconds });
  const salt = randomBytes(16).toString('hex');
  return async address => {
    try {
      await limiter.consume(hash('sha256', salt + networkOf(address)).slice(0, slotDigits));
      return null;
    } catch (result) {
      if (!(result instanceof RateLimiterRes)) throw result;
      // Rounded up to at least one second, so that no client tries again at once.
      return result.msBeforeNext > 0 ? Math.ceil(result.msBeforeNext / 1000) : null;
    }
  };
}

/** Returns the first 64 bits of an IPv6 address, the network of one subscriber; other addresses unchanged. */
function networkOf(address: string): string {
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const [head = '', tail] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? 0 : tail.split(':').length;
  const whole =
    tail === undefined
      ? groups
      : [...groups, ...Array<string>(Math.max(8 - groups.length - after, 0)).fill('0')];
  return whole
    .slice(0, 4)
    .map(group => Number.parseInt(group, 16))
    .join(':');
}
