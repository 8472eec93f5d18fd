/** Queries of owners about themselves, and of the usage history of anybody. */

import { infiniteQueryOptions, keepPreviousData } from '@tanstack/preact-query';
import type { OwnEvent } from '../../../src/overview/event-shapes.ts';
import type { Subject } from '../../../src/quota/index.ts';
import type { Explanation, History, HistoryRange, OwnReport } from '../../../src/wire/index.ts';
import { askStretch } from './ask.ts';
import { live, queryOf } from './client.ts';

/** Oneself, or an organization that one owns. */
export type Own = { readonly is: 'me' } | { readonly is: 'organization'; readonly name: string };

/** Owner of a history: oneself, or as an administrator one owner or all together. */
export type HistoryOf = Own | { readonly is: 'owner'; readonly name: string } | { readonly is: 'all' };

/** The path of the quota of an owner. */
export function quotaOf(own: Own): readonly string[] {
  return own.is === 'me' ? ['user', 'quota'] : ['orgs', own.name, 'quota'];
}

export const ownReportQuery = (own: Own) => queryOf<OwnReport>([...quotaOf(own), 'report']);

export const ownExplanationQuery = (own: Own, subject: Subject) =>
  queryOf<Explanation>([...quotaOf(own), 'explain'], { query: { subject } });

/** While another range is under way, the one before stays. */
export const historyQuery = (of: HistoryOf, range: HistoryRange) => {
  const isOwn = of.is === 'me' || of.is === 'organization';
  const path = isOwn ? quotaOf(of) : ['admin', 'quota'];
  const query = { range, owner: of.is === 'owner' ? of.name : undefined };
  const asked = queryOf<History>([...path, 'history'], { query, everyMs: 60_000 });
  return { ...asked, placeholderData: keepPreviousData };
};

/** The latest first, further ones as they are asked for. */
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
    refetchInterval: live(),
  });
