/** Requests for more space and allowances: asked, answered, given and ended. */

import type { Allowance, SpaceRequest } from '../../../src/wire/index.ts';
import { ask } from './ask.ts';
import { pageOf, queryOf, refresh } from './client.ts';
import { type Own, quotaOf } from './own-queries.ts';
import type { PageAsked } from './queries.ts';

export const ownRequestsQuery = (own: Own) => queryOf<readonly SpaceRequest[]>([...quotaOf(own), 'requests']);

/** Bytes to add to a limit, until a time in ISO 8601. */
interface More {
  readonly bytes: number;
  readonly until: string;
}

export async function requestMore(own: Own, body: More & { readonly why: string }): Promise<SpaceRequest> {
  const made = await ask<SpaceRequest>([...quotaOf(own), 'requests'], { method: 'POST', body });
  await refresh();
  return made;
}

export function withdrawRequest(own: Own, id: string): Promise<void> {
  return ask([...quotaOf(own), 'requests', id], { method: 'DELETE' });
}

interface RequestsAsked extends Omit<PageAsked, 'q'> {
  /** Undefined: all. */
  readonly state: SpaceRequest['state'] | undefined;
}

const requests = ['admin', 'quota', 'requests'] as const;

export const requestsQuery = (asked: RequestsAsked) =>
  pageOf<SpaceRequest>(requests, { query: { ...asked } });

export function grantRequest(id: string, body: More & { readonly words: string }): Promise<void> {
  return ask([...requests, id, 'grant'], { method: 'POST', body });
}

export function declineRequest(id: string, words: string): Promise<void> {
  return ask([...requests, id, 'decline'], { method: 'POST', body: { words } });
}

export function giveAllowance(owner: string, body: More & { readonly why: string }): Promise<void> {
  return ask(['admin', 'users', owner, 'quota', 'allowances'], { method: 'POST', body });
}

export function endAllowance(owner: string, { id }: Allowance): Promise<void> {
  return ask(['admin', 'users', owner, 'quota', 'allowances', id], { method: 'DELETE' });
}
