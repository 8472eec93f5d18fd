/**
 * Answers as the pages share them: each is asked once however many parts show it, kept while it is asked
 * again, and asked again when the daemon is back or lets in again. Nothing is tried again by itself;
 * `connection.ts` sees to that.
 */

import { keepPreviousData, QueryClient, queryOptions } from '@tanstack/preact-query';
import { ask, askPage, type Question } from './ask.ts';
import { reachability, signedOut, whenBack } from './connection.ts';

const freshMs = 1000;
const liveEveryMs = 5000;

export const client = new QueryClient({
  defaultOptions: {
    queries: { retry: false, networkMode: 'always', staleTime: freshMs },
    mutations: { networkMode: 'always' },
  },
});

whenBack(() => void client.invalidateQueries());

/** A `refetchInterval`: so often while somebody looks, not while nobody answers or lets in. */
export function live(everyMs: number = liveEveryMs): () => number | false {
  return () => (reachability.value.is === 'away' || signedOut.value ? false : everyMs);
}

/** After something was changed: all that is shown is asked again. */
export function refresh(): Promise<void> {
  return client.invalidateQueries();
}

export interface Asking extends Pick<Question, 'query'> {
  /** Null: it is asked again only when something was changed. */
  readonly everyMs?: number | null;
}

export function queryOf<Answer>(
  segments: readonly string[],
  { query = {}, everyMs = liveEveryMs }: Asking = {},
) {
  return queryOptions({
    queryKey: [...segments, query],
    queryFn: ({ signal }) => ask<Answer>(segments, { query, signal }),
    refetchInterval: everyMs === null ? false : live(everyMs),
  });
}

/** One page of a list. While another page or search is under way, the one before stays. */
export function pageOf<Entry>(segments: readonly string[], { query = {}, everyMs = liveEveryMs }: Asking) {
  return queryOptions({
    queryKey: ['page', ...segments, query],
    queryFn: ({ signal }) => askPage<Entry>(segments, { query, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: everyMs === null ? false : live(everyMs),
  });
}
