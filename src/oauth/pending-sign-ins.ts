/**
 * A sign-in that was begun, kept by the browser that began it, in a cookie that nobody but this installation
 * can read or make. So nothing fills up here, whoever begins however many, each tab has its own, and any
 * host of several can finish it.
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
 * The cookies of sign-ins for pages below this base URL. At https without a path browsers take them only from
 * this very host (`__Host-`, RFC 6265bis), so that no other host of the domain can plant a sign-in that
 * somebody else began.
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
    // Lax: the browser comes back from the provider by a link of another site.
    this.#attributes = `Path=${path}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  }

  /** `Set-Cookie` headers: the new one, and the end of the oldest where a browser has too many. */
  begin(header: string | undefined, one: PendingLogin): readonly string[] {
    const names = this.#pairsIn(header).map(([name]) => name);
    const sealed = this.#keys.seal(JSON.stringify(one), purpose);
    return [
      `${this.#nameOf(one.state)}=${sealed}; Max-Age=${begunSeconds}; ${this.#attributes}`,
      // Browsers send the oldest first.
      ...names.slice(0, Math.max(names.length - mostAtOnce + 1, 0)).map(name => this.#ended(name)),
    ];
  }

  /** The one with this state; null: not this browser's, or too old. `now`: milliseconds since 1970. */
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

  /** Only our own cookies. */
  #pairsIn(header: string | undefined): readonly (readonly [name: string, value: string])[] {
    return (header ?? '').split(';').flatMap(pair => {
      const [name = '', value = ''] = pair.trim().split('=', 2);
      const isOurs = name.startsWith(this.#prefix) && /^[0-9a-f]{16}$/.test(name.slice(this.#prefix.length));
      return isOurs ? [[name, value] as const] : [];
    });
  }
}

/** Beyond so many the oldest are forgotten: who has that many could do without. */
const mostRemembered = 100_000;

/**
 * Gives a function that uses a name, at a time in milliseconds since 1970. False: it was used before. Names
 * are forgotten after so many milliseconds.
 */
export function usedOnce(forMs: number): (name: string, now: number) => boolean {
  /** In the order in which they are forgotten, and when. */
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
