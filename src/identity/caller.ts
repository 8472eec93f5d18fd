/** The sender of a request to the API, and the permissions that its scopes give. */

import type { OwnerRecord } from '../store/index.ts';

export interface Caller {
  /** Null: this host's administrator, over ADMIN_SOCKET. */
  readonly ownerId: number | null;
  readonly name: string | null;
  /** True for an administrator, whatever the scopes are; `mayRead` and `mayWrite` look at both. */
  readonly isAdmin: boolean;
  /** The token that was brought, or pasted to sign in. */
  readonly tokenId: string | null;
  readonly sessionKey: string | null;
  /** The most that a token of this caller can create: no scope beyond these, and no longer life. */
  readonly scopes: readonly string[];
  /** Milliseconds since 1970; null: never. */
  readonly expiresAt: number | null;
  /** `admin` is for administrators only. */
  mayRead(area: Area): boolean;
  mayWrite(area: Area): boolean;
}

export const localAdministrator: Caller = {
  ownerId: null,
  name: null,
  isAdmin: true,
  tokenId: null,
  sessionKey: null,
  scopes: ['all'],
  expiresAt: null,
  mayRead: () => true,
  mayWrite: () => true,
};

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

/** `token T`, `Bearer T`, or Basic with the token as password and any user; in any case. Null: none. */
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
