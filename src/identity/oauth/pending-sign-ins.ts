/**
 * Sign-ins that have begun. Each is in an encrypted cookie of its browser, which only this installation can
 * read or create. So the server needs no memory for them, each tab has its own, and any of several hosts can
 * finish them.
 */

import { hash } from 'node:crypto';
import { z } from 'zod';
import type { SecretKeys } from './keys.ts';

export const begunSeconds = 600;
const mostAtOnce = 8;
const purpose = 'a sign-in that was begun';

const begun = z.strictObject({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  sourceId: z.string(),
  issuer: z.string(),
  returnTo: z.string(),
  /** Milliseconds since 1970. */
  at: z.number(),
});

export type PendingLogin = Readonly<z.infer<typeof begun>>;

/**
 * The cookies of sign-ins for pages below a base URL. With https and without a path, the prefix `__Host-`
 * (RFC 6265bis) makes browsers accept them only from this host, so that no other host of the domain can plant
 * a sign-in that somebody else began.
 */
export class PendingSignIns {
  readonly #keys: SecretKeys;
  readonly #prefix: string;
  readonly #attributes: string;

  constructor(keys: SecretKeys, baseUrl: string) {
    const { protocol, pathname } = new URL(baseUrl);
    const isSecure = protocol === 'https:';
    const isWholeHost = isSecure && pathname === '/';
    this.#keys = keys;
    this.#prefix = `${isWholeHost ? '__Host-' : ''}softquota-sign-in-`;
    const path = isWholeHost ? '/' : `${pathname}sign-in/oauth2/`;
    // Lax, since the browser comes back from the provider, which is another site.
    this.#attributes = `Path=${path}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  }

  /** Returns the `Set-Cookie` headers for a new sign-in, also those that delete the oldest of too many. */
  begin(header: string | undefined, one: PendingLogin): readonly string[] {
    const names = this.#pairsIn(header).map(([name]) => name);
    const sealed = this.#keys.seal(JSON.stringify(one), purpose);
    return [
      `${this.#nameOf(one.state)}=${sealed}; Max-Age=${begunSeconds}; ${this.#attributes}`,
      // Browsers send the oldest first.
      ...names.slice(0, Math.max(names.length - mostAtOnce + 1, 0)).map(name => this.#ended(name)),
    ];
  }

  /**
   * Finds the sign-in with this state; null: not of this browser, or too old. `now`: milliseconds since 1970.
   */
  find(header: string | undefined, state: string, now: number): PendingLogin | null {
    const name = this.#nameOf(state);
    for (const [other, sealed] of this.#pairsIn(header)) {
      const text = other === name ? this.#keys.open(sealed, purpose) : null;
      if (text === null) continue;
      const found = begun.parse(JSON.parse(text));
      if (found.state === state && now - found.at < begunSeconds * 1000) return found;
    }
    return null;
  }

  end(state: string): string {
    return this.#ended(this.#nameOf(state));
  }

  #ended(name: string): string {
    return `${name}=; Max-Age=0; ${this.#attributes}`;
  }

  #nameOf(state: string): string {
    return this.#prefix + hash('sha256', state).slice(0, 16);
  }

  /** Returns the sign-in cookies in the header. */
  #pairsIn(header: string | undefined): readonly (readonly [name: string, value: string])[] {
    return (header ?? '').split(';').flatMap(pair => {
      const [name = '', value = ''] = pair.trim().split('=', 2);
      const isOurs = name.startsWith(this.#prefix) && /^[0-9a-f]{16}$/.test(name.slice(this.#prefix.length));
      return isOurs ? [[name, value] as const] : [];
    });
  }
}

/** Most names that are remembered; of more, the oldest are forgotten. */
const mostRemembered = 100_000;

/**
 * Returns a function that uses a name, at a time in milliseconds since 1970. It returns false if the name was
 * used in the last `forMs` milliseconds.
 */
export function usedOnce(forMs: number): (name: string, now: number) => boolean {
  /** The time at which each name is forgotten, the first to be forgotten first. */
  const untilByName = new Map<string, number>();
  return (name, now) => {
    for (const [oldest, until] of untilByName) {
      if (until > now && untilByName.size < mostRemembered) break;
      untilByName.delete(oldest);
    }
    if (untilByName.has(name)) return false;
    untilByName.set(name, now + forMs);
    return true;
  };
}
