/** The sender of a request to the API, and the permissions that its scopes give. */

import type { OwnerRecord } from '../store/index.ts';

export interface Caller {
  /** Null: this host's administrator, over ADMIN_SOCKET. */
  readonly ownerId: number | null;
  readonly name: string | null;
  /** True for an administrator, whatever the scopes are. `mayRead` and `mayWrite` also check the scopes. */
  readonly isAdmin: boolean;
  /** The id of the token of the request or of the sign-in; null: none. */
  readonly tokenId: string | null;
  readonly sessionKey: string | null;
  /** The scopes. With `expiresAt` they limit the tokens that this caller can create. */
  readonly scopes: readonly string[];
  /** Milliseconds since 1970; null: never. */
  readonly expiresAt: number | null;
  /** Tells whether the caller may read an area; `admin` is for administrators only. */
  mayRead(area: Area): boolean;
  mayWrite(area: Area): boolean;
}

export function callerWith(
  credentials: Pick<Caller, 'tokenId' | 'sessionKey' | 'scopes' | 'expiresAt'>,
  owner: OwnerRecord,
  isAdmin: boolean,
): Caller {
  const may = (access: 'read' | 'write', area: Area) =>
    (area !== 'admin' || isAdmin) && gives(credentials.scopes, access, area);
  return {
    ...credentials,
    ownerId: owner.id,
    name: owner.name,
    isAdmin,
    mayRead: area => may('read', area),
    mayWrite: area => may('write', area),
  };
}

const areas = ['admin', 'user', 'organization'] as const;

export type Area = (typeof areas)[number];

function gives(scopes: readonly string[], access: 'read' | 'write', area: Area): boolean {
  if (area === 'admin' && scopes.includes('public-only')) return false;
  return (
    scopes.includes('all') ||
    scopes.includes(`write:${area}`) ||
    (access === 'read' && scopes.includes(`read:${area}`))
  );
}

/** Returns a scope that `wanted` has and `held` does not, such as `write:admin`; null if there is none. */
export function givesBeyond(wanted: readonly string[], held: readonly string[]): string | null {
  for (const area of areas) {
    for (const access of ['read', 'write'] as const) {
      if (gives(wanted, access, area) && !gives(held, access, area)) return `${access}:${area}`;
    }
  }
  return null;
}

/**
 * Finds the token in `token T`, `Bearer T`, or Basic with it as password, schemes in any case; null: none.
 */
export function tokenIn(authorization: string): string | null {
  const [, scheme = '', credentials = ''] = /^([^ ]+) +([^ ]+) *$/.exec(authorization) ?? [];
  switch (scheme.toLowerCase()) {
    case 'token':
    case 'bearer':
      return credentials;
    case 'basic': {
      const pair = Buffer.from(credentials, 'base64').toString();
      const colon = pair.indexOf(':');
      return colon === -1 ? null : pair.slice(colon + 1);
    }
    default:
      return null;
  }
}
