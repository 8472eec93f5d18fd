/**
 * The sender of a request. The first use authenticates it by a token or a browser session; later uses repeat
 * only the check that the token or session is still valid. `mustBeAllowed` compares the rights with the
 * route.
 */

import type { IncomingHttpHeaders } from 'node:http';
import type { Request, Response } from 'express';
import { SoftquotaError } from '../errors.ts';
import type { Area, Authentication, Caller, Identity, SessionCookie } from '../identity/index.ts';

/**
 * Requirement of a route for its caller: none; a request from a page of softquota, by anybody; valid
 * credentials of any kind; or scopes and a rank that permit the area.
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

/** Throws `unauthenticated` or `slowed`. `gone` replaces the message for refused credentials. */
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

/**
 * Throws `unauthenticated`. The scheme is Bearer because browsers open a password window for other schemes.
 */
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

const withoutCredentials = { ownerId: null, name: null, tokenId: null, sessionKey: null, expiresAt: null };

const localAdministrator: Caller = {
  ...withoutCredentials,
  isAdmin: true,
  scopes: ['all'],
  mayRead: () => true,
  mayWrite: () => true,
};

export const nobody: Caller = {
  ...withoutCredentials,
  isAdmin: false,
  scopes: [],
  mayRead: () => false,
  mayWrite: () => false,
};

/** Credentials of all who can connect to the Unix socket. */
const local: Authentication = {
  is: 'caller',
  caller: localAdministrator,
  again: () => localAdministrator,
  renewed: null,
};

export interface Browser {
  /** Client address, as the trusted proxies report it. */
  readonly address: string;
  /** Session value of the request's cookie; it may be invalid. */
  readonly held: string | null;
  /** Sets the session cookie of the browser; null clears it. */
  hold(held: SessionCookie | null): void;
}

export interface Asker {
  /** Null if this server has no sessions of browsers. */
  readonly browser: Browser | null;
  /** Throws `not_permitted` if the request does not come from a page of softquota. */
  mustBeOurPage(): void;
  /**
   * Authenticates the caller; later calls check that the credentials are still valid. Rejects with
   * `unauthenticated`, `slowed`, or `not_permitted`.
   */
  caller(): Promise<Caller>;
}

/**
 * Describes the sender of a request. A token takes precedence over a session cookie. Without `identity`,
 * everybody is the administrator of this host.
 */
export function askerOf(
  request: Request,
  response: Response,
  identity: Pick<Identity, 'authenticate' | 'authenticateSession'> | null,
  baseUrl: string,
): Asker {
  const address = withoutPort(request.ip ?? '');
  const cookie = sessionCookie(baseUrl);
  const held = identity === null ? null : cookie.read(request.headers.cookie);
  let again: (() => Caller | null) | null = null;

  const hold = (next: SessionCookie | null) => {
    response.append('Set-Cookie', next === null ? cookie.clear() : cookie.set(next));
  };
  const mustBeOurPage = () => {
    if (isSameOrigin(request.headers, baseUrl)) return;
    throw new SoftquotaError(
      'not_permitted',
      'a sign-in, and a change with a browser session, has to come from a page of softquota at [server] ' +
        'ROOT_URL; programs send a token: Authorization: token T',
    );
  };
  const { authorization } = request.headers;
  const bySession = authorization === undefined && held !== null;

  return {
    browser: identity === null ? null : { address, held, hold },
    mustBeOurPage,
    caller: async () => {
      const gone = bySession ? 'the session has ended: sign in again' : undefined;
      if (again !== null) return again() ?? unauthenticated(gone);
      // Safe methods change nothing, even if another site's page caused the request.
      if (bySession && !['GET', 'HEAD', 'OPTIONS'].includes(request.method)) mustBeOurPage();
      const authentication =
        identity === null
          ? local
          : bySession
            ? await identity.authenticateSession(held)
            : await identity.authenticate(authorization, address);
      if (authentication.is !== 'caller') return refuse(authentication, gone);
      const { caller, renewed } = authentication;
      again = authentication.again;
      if (renewed !== null) hold(renewed);
      return caller;
    },
  };
}

/**
 * Protects against cross-site request forgery: browsers send cookies also with requests that another site
 * causes. The headers that are checked here cannot be changed by scripts.
 *
 * Sec-Fetch-Site compares scheme, host and port as the browser sees them, so proxies do not matter. Browsers
 * send it only over https or to localhost. Over plain http, Origin has to be the base URL's origin or the
 * requested host: if the daemon has several names, the cookie belongs to one of them only. A request without
 * both headers is not from a current browser and is refused.
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
 * Removes the port that some proxies append: `203.0.113.7:4711`, `[2001:db8::1]:443`. Several colons without
 * brackets are an IPv6 address without a port.
 */
export function withoutPort(address: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d+)?$/.exec(address) ?? [];
  return bracketed ?? plain ?? address;
}

/**
 * Reads and writes the session cookie. With https and no path in the base URL, the name begins with `__Host-`
 * (RFC 6265bis), so that no other host of the domain can set such a cookie. Scripts cannot read the cookie.
 * Requests from other sites do not carry it, except when the user follows a link.
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
