/** Who is let in to what. */

import { SoftquotaError } from '../errors.ts';
import type { Area, Authentication, Caller } from '../identity/index.ts';

/** What a route asks of its caller: nothing at all, or that the token's scopes and its user's rank give this. */
export type Access = 'anybody' | { readonly area: Area; readonly to: 'read' | 'write' };

export const administrators = {
  read: { area: 'admin', to: 'read' },
  write: { area: 'admin', to: 'write' },
} as const satisfies Record<string, Access>;

/** Looks at an `Authorization` header that came from an address. */
export type Authenticate = (
  authorization: string | undefined,
  address: string,
) => Authentication | Promise<Authentication>;

/** A fault that takes headers of its own. */
export class NotLetIn extends SoftquotaError {
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

/** The caller that the credentials are; throws `unauthenticated` or `slowed`. */
export function admitted(authentication: Authentication): Caller {
  switch (authentication.is) {
    case 'caller':
      return authentication.caller;
    case 'none':
      throw unauthenticated('a token is required: send Authorization: token T, or Bearer T');
    case 'refused':
      throw unauthenticated('the token is not known, or no longer good');
    case 'slowed': {
      const seconds = Math.max(1, Math.ceil(authentication.retryAfterSeconds));
      const message = `too many wrong tokens came from your address; try again in ${seconds} s`;
      throw new NotLetIn('slowed', message, { 'Retry-After': String(seconds) });
    }
  }
}

/** Throws `not_permitted`. */
export function mustBeAllowed(caller: Caller, { area, to }: Exclude<Access, 'anybody'>): void {
  if (to === 'read' ? caller.mayRead(area) : caller.mayWrite(area)) return;
  if (area === 'admin' && !caller.isAdmin) {
    throw new SoftquotaError('not_permitted', 'this is for administrators only');
  }
  throw new SoftquotaError('not_permitted', `the token lacks the scope ${to}:${area}`);
}

function unauthenticated(message: string): NotLetIn {
  return new NotLetIn('unauthenticated', message, { 'WWW-Authenticate': 'Bearer realm="softquota"' });
}
