/**
 * Query cache that all pages share: each answer is requested once for all parts that show it, and stays while
 * it is requested again. All queries are repeated when the daemon is reachable again, or after a sign-in.
 * Failed queries are not repeated otherwise; `connection.ts` does that.
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

/** Makes a `refetchInterval` that pauses while the daemon is unreachable or the user is signed out. */
export function live(everyMs: number = liveEveryMs): () => number | false {
  return () => (reachability.value.is === 'away' || signedOut.value ? false : everyMs);
}

interface Pages {
  readonly state: { readonly data: { readonly pages: readonly unknown[] } | undefined };
}

/** Makes a `refetchInterval` as `live` does, but none while older pages are shown: each is a request. */
export function liveNewest() {
  const everyMs = live();
  return ({ state }: Pages) => ((state.data?.pages.length ?? 0) > 1 ? false : everyMs());
}

/**
 * Repeats all shown queries after a change, but for trials of a version of the policy that may have been
 * replaced: the policy in force, once it is there, leads to another trial.
 */
export function refresh(): Promise<void> {
  return client.invalidateQueries({
    predicate: ({ queryKey: [kind, , version] }) => kind !== 'trial' || version === '',
  });
}

export interface Asking extends Pick<Question, 'query'> {
  /** Null to repeat the query only after a change. */
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

/** Queries one page of a list. The previous page stays visible meanwhile. */
export function pageOf<Entry>(segments: readonly string[], { query = {}, everyMs = liveEveryMs }: Asking) {
  return queryOptions({
    queryKey: ['page', ...segments, query],
    queryFn: ({ signal }) => askPage<Entry>(segments, { query, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: everyMs === null ? false : live(everyMs),
  });
}
