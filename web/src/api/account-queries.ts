/** Queries of accounts' pages: tokens and sessions, one's own or, for administrators, anybody's. */

import type { CreatedToken, NewToken, SessionRow, Token } from '../../../src/wire/index.ts';
import { ask } from './ask.ts';
import { queryOf } from './client.ts';

export const tokensQuery = (user: string) => queryOf<readonly Token[]>(['users', user, 'tokens']);

export function createToken(user: string, token: NewToken): Promise<CreatedToken> {
  return ask<CreatedToken>(['users', user, 'tokens'], { method: 'POST', body: token });
}

export function revokeToken(user: string, id: number): Promise<void> {
  return ask(['users', user, 'tokens', String(id)], { method: 'DELETE' });
}

export const sessionsQuery = (user: string) => queryOf<readonly SessionRow[]>(['users', user, 'sessions']);

export function endSession(user: string, id: string): Promise<void> {
  return ask(['users', user, 'sessions', id], { method: 'DELETE' });
}
