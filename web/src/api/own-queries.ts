/** Queries of owners about themselves, and of the usage history of anybody. */

import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/preact-query';
import type { OwnEvent } from '../../../src/overview/event-shapes.ts';
import type { Subject } from '../../../src/quota/index.ts';
import type { Explanation, History, HistoryRange, OwnReport } from '../../../src/wire/index.ts';
import { ask, askStretch } from './ask.ts';
import { live } from './client.ts';

/** Oneself, or an organization that one owns. */
export type Own = { readonly is: 'me' } | { readonly is: 'organization'; readonly name: string };

/** Owner of a history: oneself, or as an administrator one owner or all together. */
export type HistoryOf = Own | { readonly is: 'owner'; readonly name: string } | { readonly is: 'all' };

/** The path of the quota of an owner. */
export function quotaOf(own: Own): readonly string[] {
  return own.is === 'me' ? ['user', 'quota'] : ['orgs', own.name, 'quota'];
}

export const ownReportQuery = (own: Own) =>
  queryOptions({
    queryKey: ['own report', own],
    queryFn: ({ signal }) => ask<OwnReport>([...quotaOf(own), 'report'], { signal }),
    refetchInterval: live(),
  });

export const ownExplanationQuery = (own: Own, subject: Subject) =>
  queryOptions({
    queryKey: ['own explanation', own, subject],
    queryFn: ({ signal }) => ask<Explanation>([...quotaOf(own), 'explain'], { query: { subject }, signal }),
    refetchInterval: live(),
  });

const historyEveryMs = 60_000;

/** While another range is under way, the one before stays. */
export const historyQuery = (of: HistoryOf, range: HistoryRange) =>
  queryOptions({
    queryKey: ['history', of, range],
    queryFn: ({ signal }) => {
      if (of.is === 'me' || of.is === 'organization') {
        return ask<History>([...quotaOf(of), 'history'], { query: { range }, signal });
      }
      const owner = of.is === 'owner' ? of.name : undefined;
      return ask<History>(['admin', 'quota', 'history'], { query: { owner, range }, signal });
    },
    placeholderData: keepPreviousData,
    refetchInterval: live(historyEveryMs),
  });

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
