/**
 * The sender of a request: let in once, by a token or by the session of a browser, and looked at again when
 * asked.
 */

import type { IncomingHttpHeaders } from 'node:http';
import type { Request, Response } from 'express';
import { SoftquotaError } from '../errors.ts';
import type { Caller, Identity, SessionCookie } from '../identity/index.ts';
import { type Authenticate, admitted, unauthenticated } from './access.ts';

export interface AskerOptions {
  readonly authenticate: Authenticate;
  /** Null: no browser comes here. */
  readonly browsers: Pick<Identity, 'authenticateSession'> | null;
  /** Ends with a slash. */
  baseUrl(): string;
}

/** The browser that a request may come from. */
export interface Browser {
  /** Address that it seems to have. */
  readonly address: string;
  /** The session that it holds, good or not. */
  readonly held: string | null;
  /** It is to hold this from now on; null: nothing. */
  hold(held: SessionCookie | null): void;
}

export interface Asker {
  /** Null: no browser comes here. */
  readonly browser: Browser | null;
  /** Throws `not_permitted` where it is no request of a page of ours. */
  mustBeOurPage(): void;
  /** Caller as of now. Rejects with `unauthenticated`, `slowed`, or `not_permitted`. */
  caller(): Promise<Caller>;
}

/** A token is looked at before any cookie: who brings one means that. */
export function askerOf(request: Request, response: Response, options: AskerOptions): Asker {
  const { authenticate, browsers } = options;
  const address = withoutPort(request.ip ?? '');
  const cookie = sessionCookie(options.baseUrl());
  const held = browsers === null ? null : cookie.read(request.headers.cookie);
  let again: (() => Caller | null) | null = null;

  const hold = (next: SessionCookie | null) => {
    response.append('Set-Cookie', next === null ? cookie.clear() : cookie.set(next));
  };
  const mustBeOurPage = () => {
    if (isSameOrigin(request.headers, options.baseUrl())) return;
    throw new SoftquotaError(
      'not_permitted',
      'a sign-in, and a change with a browser session, has to come from a page of softquota at [server] ' +
        'ROOT_URL; programs send a token: Authorization: token T',
    );
  };
  const { authorization } = request.headers;
  const bySession = authorization === undefined && held !== null && browsers !== null;

  return {
    browser: browsers === null ? null : { address, held, hold },
    mustBeOurPage,
    caller: async () => {
      const gone = bySession ? 'the session has ended: sign in again' : undefined;
      if (again !== null) return again() ?? unauthenticated(gone);
      if (bySession && !isSafeMethod(request.method)) mustBeOurPage();
      const authentication = bySession
        ? await browsers.authenticateSession(held)
        : await authenticate(authorization, address);
      const { caller, again: lookAgain, renewed } = admitted(authentication, gone);
      again = lookAgain;
      if (renewed !== null) hold(renewed);
      return caller;
    },
  };
}

/** Safe methods change nothing, whoever had a browser send the request. */
function isSafeMethod(method: string): boolean {
  return ['GET', 'HEAD', 'OPTIONS'].includes(method);
}

/**
 * A browser sends its cookies along with whatever a page of another site has it send, so what changes
 * something has to say where it comes from; no script can change these headers.
 *
 * Sec-Fetch-Site compares scheme, host and port as the browser sees them, and needs to know nothing of
 * proxies. Browsers send it only over https and to this host, so over plain http Origin decides: it is to
 * be that of the base URL, or, where that is no https, the host that was asked (who reaches the daemon by
 * another name, such as its address, brings the cookie of that name alone). A request with neither is no
 * browser's of these years, and is refused.
 */
function isSameOrigin(headers: IncomingHttpHeaders, baseUrl: string): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const { origin, host } = headers;
  if (origin === undefined) return false;
  const base = new URL(baseUrl);
  return origin === base.origin || (base.protocol === 'http:' && origin === `http://${host}`);
}

/**
 * The address alone, where a proxy wrote the port that it was called from, too: `203.0.113.7:4711`,
 * `[2001:db8::1]:443`. What has several colons and no brackets is an IPv6 address by itself.
 */
export function withoutPort(address: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d+)?$/.exec(address) ?? [];
  return bracketed ?? plain ?? address;
}

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
