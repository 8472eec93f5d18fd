/**
 * Links that sign somebody in once, and soon: codes that are kept in memory only, so that nothing of them
 * survives the daemon. There are only so many at a time; the oldest makes room.
 */

import { hash, randomBytes } from 'node:crypto';

export interface SignInLink {
  /** The user to sign in. */
  readonly ownerId: number;
  /** The most rights that the creator may give, in scope and in time. */
  readonly scopes: readonly string[];
  readonly endsAt: number | null;
}

export const linkLifeMs = 600_000;
const mostLinks = 1000;
const codeBytes = 32;

export class SignInLinks {
  /** By the SHA-256 of the code, the oldest first. */
  readonly #links = new Map<string, SignInLink & { readonly until: number }>();
  /** Milliseconds since 1970. */
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** `until`: milliseconds since 1970. */
  make(link: SignInLink): { readonly code: string; readonly until: number } {
    const now = this.#now();
    for (const [key, { until }] of this.#links) {
      if (until <= now || this.#links.size >= mostLinks) this.#links.delete(key);
    }
    const code = randomBytes(codeBytes).toString('base64url');
    const until = now + linkLifeMs;
    this.#links.set(hash('sha256', code), { ...link, until });
    return { code, until };
  }

  /** Takes the code, which works once; null if it is not valid. */
  take(code: string): SignInLink | null {
    const key = hash('sha256', code);
    const link = this.#links.get(key);
    this.#links.delete(key);
    return link === undefined || link.until <= this.#now() ? null : link;
  }
}
