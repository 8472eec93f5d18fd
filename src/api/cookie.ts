/** The cookie that a browser holds its session in. */

import type { SessionCookie } from '../identity/index.ts';

interface SessionCookieHeader {
  /** Reads a value from a `Cookie` header; null: there is none. */
  read(header: string | undefined): string | null;
  /** A `Set-Cookie` header's value. */
  set(held: SessionCookie): string;
  /** Value of a `Set-Cookie` header that makes a browser forget the cookie. */
  clear(): string;
}

/**
 * At https without a path it has a name that browsers take only from this very host, over https and for all
 * paths (`__Host-`, RFC 6265bis), so that no other host of the domain can plant one. No script sees it, and
 * other sites' requests come without it, but for following a link to here.
 */
export function sessionCookie(baseUrl: string): SessionCookieHeader {
  const { protocol, pathname } = new URL(baseUrl);
  const isSecure = protocol === 'https:';
  const name = isSecure && pathname === '/' ? '__Host-softquota' : 'softquota-session';
  const attributes = `Path=${pathname}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  return {
    read: header => {
      // Browsers send the cookie with the longest path first.
      const pairs = (header ?? '').split(';').map(pair => pair.trim());
      return pairs.find(pair => pair.startsWith(`${name}=`))?.slice(name.length + 1) ?? null;
    },
    set: ({ value, seconds }) => `${name}=${value}; Max-Age=${seconds}; ${attributes}`,
    clear: () => `${name}=; Max-Age=0; ${attributes}`,
  };
}
