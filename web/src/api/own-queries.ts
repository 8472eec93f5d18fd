/** Queries of owners about themselves, and queries for usage histories, requests and allowances. */

import { infiniteQueryOptions, keepPreviousData } from '@tanstack/preact-query';
import type { EventOf, ownEventKinds } from '../../../src/overview/event-shapes.ts';
import type { Subject } from '../../../src/quota/index.ts';
import type {
  Explanation,
  History,
  HistoryRange,
  OwnReport,
  QuotaInfo,
  SpaceRequest,
} from '../../../src/wire/index.ts';
import { ask, askStretch } from './ask.ts';
import { liveNewest, pageOf, queryOf, refresh } from './client.ts';
import type { PageAsked } from './queries.ts';

/** The user, or an organization that the user owns. */
export type Own = { readonly is: 'me' } | { readonly is: 'organization'; readonly name: string };

/** Subject of a history: the user, or for administrators also one owner, a group's members, or all owners. */
export type HistoryOf =
  | Own
  | { readonly is: 'owner' | 'group'; readonly name: string }
  | { readonly is: 'all' };

export function quotaOf(own: Own): readonly string[] {
  return own.is === 'me' ? ['user', 'quota'] : ['orgs', own.name, 'quota'];
}

export const ownReportQuery = (own: Own) => queryOf<OwnReport>([...quotaOf(own), 'report']);

export const ownPoolsQuery = (own: Own) => queryOf<Pick<QuotaInfo, 'pools'>>(quotaOf(own));

export const ownExplanationQuery = (own: Own, subject: Subject) =>
  queryOf<Explanation>([...quotaOf(own), 'explain'], { query: { subject } });

/** Queries a history. The previous range stays visible meanwhile. */
export const historyQuery = (of: HistoryOf, range: HistoryRange) => {
  const isOwn = of.is === 'me' || of.is === 'organization';
  const path = isOwn ? quotaOf(of) : ['admin', 'quota'];
  const named = of.is === 'owner' || of.is === 'group' ? { [of.is]: of.name } : {};
  const query = { range, ...named };
  const asked = queryOf<History>([...path, 'history'], { query, everyMs: 60_000 });
  return { ...asked, placeholderData: keepPreviousData };
};

type OwnEvent = EventOf<(typeof ownEventKinds)[number]>;

/** Lists events, the latest first; further pages are loaded on demand. */
export const ownEventsQuery = (own: Own, kind: OwnEvent['kind']) =>
  infiniteQueryOptions({
    queryKey: ['own events', own, kind],
    queryFn: ({ signal, pageParam }) =>
      askStretch<OwnEvent>([...quotaOf(own), 'events'], {
        query: { kind, limit: 20, after: pageParam === '' ? undefined : pageParam },
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
    refetchInterval: liveNewest(),
  });

export const ownRequestsQuery = (own: Own) => queryOf<readonly SpaceRequest[]>([...quotaOf(own), 'requests']);

/** Asks for bytes to add to a limit, until a time in ISO 8601. */
export async function requestMore(
  own: Own,
  body: { readonly bytes: number; readonly until: string; readonly why: string },
): Promise<SpaceRequest> {
  const made = await ask<SpaceRequest>([...quotaOf(own), 'requests'], { method: 'POST', body });
  await refresh();
  return made;
}

interface RequestsAsked extends Omit<PageAsked, 'q'> {
  /** Undefined for all states. */
  readonly state: SpaceRequest['state'] | undefined;
}

export const requests = ['admin', 'quota', 'requests'] as const;

export const requestsQuery = (asked: RequestsAsked) =>
  pageOf<SpaceRequest>(requests, { query: { ...asked } });

/** Queries one open request, which also gives their total number. */
export const openRequestsQuery = pageOf<SpaceRequest>(requests, {
  query: { state: 'open', page: 1, limit: 1 },
  everyMs: 15_000,
});
