/** Tells who brings which credentials. */

import type { Ledger } from '../ledger/index.ts';
import { type AttemptLimits, Attempts } from './attempts.ts';
import { type Caller, callerWith } from './caller.ts';
import { tokenIn } from './credentials.ts';
import { type TokenDocument, tokenKind } from './kinds.ts';
import { isOrganizationOwner } from './members.ts';
import { entriesOf, keyOfToken } from './tokens.ts';
import { profileOf } from './users.ts';
import { Uses, type UsesOptions } from './uses.ts';

export type Authentication =
  | { readonly is: 'caller'; readonly caller: Caller }
  /** Nothing was brought. */
  | { readonly is: 'none' }
  /** Whatever is wrong with it: nothing tells what is unknown from what is revoked, expired or misspelt. */
  | { readonly is: 'refused' }
  | { readonly is: 'slowed'; readonly retryAfterSeconds: number };

export interface IdentityOptions {
  readonly ledger: Pick<Ledger, 'view' | 'book' | 'govern'>;
  /** Milliseconds since 1970. */
  now(): number;
  readonly log: UsesOptions['log'];
  /** 20 a minute unless given. */
  readonly limits?: AttemptLimits;
  /** How often it is written when tokens were last used; once a minute unless given. */
  readonly usesEveryMs?: number;
}

const twentyAMinute: AttemptLimits = { wrongTries: 20, perSeconds: 60 };
const minuteMs = 60_000;

export class Identity {
  readonly #options: IdentityOptions;
  readonly #attempts: Attempts;
  readonly #uses: Uses;

  constructor(options: IdentityOptions) {
    const { ledger, log, limits = twentyAMinute, usesEveryMs = minuteMs } = options;
    this.#options = options;
    this.#attempts = new Attempts(limits);
    this.#uses = new Uses({ ledger, log, everyMs: usesEveryMs });
  }

  /**
   * Looks at an `Authorization` header: `token T`, `Bearer T`, or Basic with the token as password. Each wrong one
   * counts against the address that it came from, and too many are slowed.
   */
  async authenticate(authorization: string | undefined, address: string): Promise<Authentication> {
    if (authorization === undefined) return { is: 'none' };
    const token = tokenIn(authorization);
    const key = token === null ? null : keyOfToken(token);
    const slowed = await this.#attempts.slowedSeconds(address, key);
    if (slowed !== null) return { is: 'slowed', retryAfterSeconds: slowed };
    const caller = key === null ? null : this.#callerOf(key);
    if (key === null || caller === null) {
      const seconds = await this.#attempts.wrong(address);
      return seconds === null ? { is: 'refused' } : { is: 'slowed', retryAfterSeconds: seconds };
    }
    this.#attempts.right(address, key);
    this.#uses.note(key, this.#options.now());
    return { is: 'caller', caller };
  }

  isOrganizationOwner(organizationId: number, userId: number): boolean {
    return isOrganizationOwner(this.#options.ledger.view, organizationId, userId);
  }

  /** A user's tokens as they were made, with their last use up to now. */
  tokensOf(ownerId: number): readonly TokenDocument[] {
    return entriesOf(this.#options.ledger.view, ownerId).map(([key, token]) => {
      const lastUsedAt = this.#uses.lastOf(key) ?? token.lastUsedAt;
      return { ...token, lastUsedAt };
    });
  }

  /** Writes when tokens were last used. */
  close(): Promise<void> {
    return this.#uses.close();
  }

  #callerOf(key: string): Caller | null {
    const { ledger, now } = this.#options;
    const token = ledger.view.get(tokenKind, key);
    if (token === undefined || (token.expiresAt !== null && token.expiresAt <= now())) return null;
    const owner = ledger.book.owner(token.owner);
    if (owner === undefined) return null;
    return callerWith(token, owner, profileOf(ledger.view, owner.id).isAdmin);
  }
}
