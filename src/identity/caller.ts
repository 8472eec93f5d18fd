/** The sender of a request to the API, and its permissions. */

import type { OwnerRecord } from '../store/index.ts';
import { type Area, gives } from './scopes.ts';

export interface Caller {
  /** Null: this host's administrator, over ADMIN_SOCKET. */
  readonly ownerId: number | null;
  readonly name: string | null;
  /** True for an administrator, whatever the scopes are; `mayRead` and `mayWrite` look at both. */
  readonly isAdmin: boolean;
  /** The token that was brought, or pasted to sign in. */
  readonly tokenId: string | null;
  /** The key of the session; null if the request has no session. */
  readonly sessionKey: string | null;
  /** The most that a token of this caller can create: no scope beyond these, and no longer life. */
  readonly scopes: readonly string[];
  /** Milliseconds since 1970; null: never. */
  readonly expiresAt: number | null;
  /** `admin` is for administrators only. */
  mayRead(area: Area): boolean;
  mayWrite(area: Area): boolean;
}

/** The user of ADMIN_SOCKET. */
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

/** The credentials of the caller. */
export type Credentials = Pick<Caller, 'tokenId' | 'sessionKey' | 'scopes' | 'expiresAt'>;

export function callerWith(credentials: Credentials, owner: OwnerRecord, isAdmin: boolean): Caller {
  const { tokenId, sessionKey, scopes, expiresAt } = credentials;
  const may = (access: 'read' | 'write', area: Area) =>
    (area !== 'admin' || isAdmin) && gives(scopes, access, area);
  return {
    ownerId: owner.id,
    name: owner.name,
    isAdmin,
    tokenId,
    sessionKey,
    scopes,
    expiresAt,
    mayRead: area => may('read', area),
    mayWrite: area => may('write', area),
  };
}
