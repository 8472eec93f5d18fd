/**
 * The sender of a request: let in once, by a token or by the session of a browser, looked at again when
 * asked, and held against what a route asks of its callers.
 */

import type { IncomingHttpHeaders } from 'node:http';
import type { Request, Response } from 'express';
import { SoftquotaError } from '../errors.ts';
import type { Area, Authentication, Caller, Identity, SessionCookie } from '../identity/index.ts';

/**
 * Says what a route asks of its caller: nothing at all; that a page of ours asks, whoever it is; good
 * credentials, whatever they give; or that their scopes and their user's rank give this.
 */
export type Requirement =
  | 'anybody'
  | 'our page'
  | 'whoever is known'
  | { readonly area: Area; readonly to: 'read' | 'write' };

export const administrators = {
  read: { area: 'admin', to: 'read' },
  write: { area: 'admin', to: 'write' },
} as const satisfies Record<string, Requirement>;

export function isOpen(access: Requirement): access is 'anybody' | 'our page' {
  return access === 'anybody' || access === 'our page';
}

type Authenticate = (
  authorization: string | undefined,
  address: string,
) => Authentication | Promise<Authentication>;

export class AuthError extends SoftquotaError {
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: 'unauthenticated' | 'slowed',
    message: string,
    headers: Readonly<Record<string, string>>,
  ) {
    super(code, message);
    this.headers = headers;
  }
}

/** Throws `unauthenticated` or `slowed`. `gone`: what is the matter with what came. */
export function refuse(
  authentication: Exclude<Authentication, { readonly is: 'caller' }>,
  gone?: string,
): never {
  switch (authentication.is) {
    case 'none':
      return unauthenticated('a token is required: send Authorization: token T, or Bearer T');
    case 'refused':
      return unauthenticated(gone);
    case 'slowed': {
      const seconds = Math.max(1, Math.ceil(authentication.retryAfterSeconds));
      const message = `too many wrong tokens came from your address; try again in ${seconds} s`;
      throw new AuthError('slowed', message, { 'Retry-After': String(seconds) });
    }
  }
}

/** Throws it, naming the one scheme that opens no browser's own window. */
export function unauthenticated(message = 'invalid or expired token'): never {
  throw new AuthError('unauthenticated', message, { 'WWW-Authenticate': 'Bearer realm="softquota"' });
}

/** Throws `not_permitted`. */
export function mustBeAllowed(caller: Caller, { area, to }: Exclude<Requirement, string>): void {
  if (to === 'read' ? caller.mayRead(area) : caller.mayWrite(area)) return;
  if (area === 'admin' && !caller.isAdmin) {
    throw new SoftquotaError('not_permitted', 'only administrators may do this');
  }
  throw new SoftquotaError('not_permitted', `the token lacks the scope ${to}:${area}`);
}

export interface AskerOptions {
  readonly authenticate: Authenticate;
  /** Null: no browser comes here. */
  readonly browsers: Pick<Identity, 'authenticateSession'> | null;
  /** Ends with a slash. */
  baseUrl(): string;
}

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
      // Safe methods change nothing, whoever had a browser send the request.
      if (bySession && !['GET', 'HEAD', 'OPTIONS'].includes(request.method)) mustBeOurPage();
      const authentication = bySession
        ? await browsers.authenticateSession(held)
        : await authenticate(authorization, address);
      if (authentication.is !== 'caller') return refuse(authentication, gone);
      const { caller, renewed } = authentication;
      again = authentication.again;
      if (renewed !== null) hold(renewed);
      return caller;
    },
  };
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

/**
 * At https without a path it has a name that browsers take only from this very host, over https and for all
 * paths (`__Host-`, RFC 6265bis), so that no other host of the domain can plant one. No script sees it, and
 * other sites' requests come without it, but for following a link to here.
 */
export function sessionCookie(baseUrl: string) {
  const { protocol, pathname } = new URL(baseUrl);
  const isSecure = protocol === 'https:';
  const name = isSecure && pathname === '/' ? '__Host-softquota' : 'softquota-session';
  const attributes = `Path=${pathname}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  return {
    /** Reads a value from a `Cookie` header; null: there is none. */
    read: (header: string | undefined): string | null => {
      // Browsers send the cookie with the longest path first.
      const pairs = (header ?? '').split(';').map(pair => pair.trim());
      return pairs.find(pair => pair.startsWith(`${name}=`))?.slice(name.length + 1) ?? null;
    },
    // Values of `Set-Cookie` headers.
    set: ({ value, seconds }: SessionCookie) => `${name}=${value}; Max-Age=${seconds}; ${attributes}`,
    clear: () => `${name}=; Max-Age=0; ${attributes}`,
  };
}
