/** The rights of callers. */

import { SoftquotaError } from '../errors.ts';
import type { Area, Authentication, Caller } from '../identity/index.ts';

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

/** It takes no credentials. */
export function isOpen(access: Requirement): access is 'anybody' | 'our page' {
  return access === 'anybody' || access === 'our page';
}

/** Looks at an `Authorization` header that came from an address. */
export type Authenticate = (
  authorization: string | undefined,
  address: string,
) => Authentication | Promise<Authentication>;

/** A fault that takes headers of its own. */
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

type Admission = Extract<Authentication, { is: 'caller' }>;

/**
 * Gives the caller; throws `unauthenticated` or `slowed`. `gone` says what is the matter with what was
 * brought.
 */
export function admitted(authentication: Authentication, gone?: string): Admission {
  if (authentication.is === 'caller') return authentication;
  return refuse(authentication, gone);
}

/** Throws `unauthenticated` or `slowed`. */
export function refuse(authentication: Exclude<Authentication, Admission>, gone?: string): never {
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
