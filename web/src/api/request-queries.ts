/** Requests for more space and allowances: asked, answered, given and ended. */

import { keepPreviousData, queryOptions } from '@tanstack/preact-query';
import type { Allowance, SpaceRequest } from '../../../src/wire/index.ts';
import { ask, askPage } from './ask.ts';
import { live, refresh } from './client.ts';
import { type Own, quotaOf } from './own-queries.ts';

export const ownRequestsQuery = (own: Own) =>
  queryOptions({
    queryKey: ['own requests', own],
    queryFn: ({ signal }) => ask<readonly SpaceRequest[]>([...quotaOf(own), 'requests'], { signal }),
    refetchInterval: live(),
  });

/** Bytes to add to a limit, until a time in ISO 8601. */
export interface More {
  readonly bytes: number;
  readonly until: string;
}

export async function requestMore(own: Own, body: More & { readonly why: string }): Promise<SpaceRequest> {
  const made = await ask<SpaceRequest>([...quotaOf(own), 'requests'], { method: 'POST', body });
  await refresh();
  return made;
}

export async function withdrawRequest(own: Own, id: string): Promise<void> {
  await ask([...quotaOf(own), 'requests', id], { method: 'DELETE' });
  await refresh();
}

export interface RequestsAsked {
  /** Undefined: all. */
  readonly state: SpaceRequest['state'] | undefined;
  /** From 1. */
  readonly page: number;
  readonly limit: number;
}

/** While another page is under way, the one before stays. */
export const requestsQuery = (asked: RequestsAsked) =>
  queryOptions({
    queryKey: ['requests', asked],
    queryFn: ({ signal }) =>
      askPage<SpaceRequest>(['admin', 'quota', 'requests'], { query: { ...asked }, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: live(),
  });

export async function grantRequest(id: string, body: More & { readonly words: string }): Promise<void> {
  await ask(['admin', 'quota', 'requests', id, 'grant'], { method: 'POST', body });
  await refresh();
}

export async function declineRequest(id: string, words: string): Promise<void> {
  await ask(['admin', 'quota', 'requests', id, 'decline'], { method: 'POST', body: { words } });
  await refresh();
}

export async function giveAllowance(owner: string, body: More & { readonly why: string }): Promise<void> {
  await ask(['admin', 'users', owner, 'quota', 'allowances'], { method: 'POST', body });
  await refresh();
}

export async function endAllowance(owner: string, { id }: Allowance): Promise<void> {
  await ask(['admin', 'users', owner, 'quota', 'allowances', id], { method: 'DELETE' });
  await refresh();
}
