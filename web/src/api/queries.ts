/**
 * The questions of administrators' pages: each question with its key, by which it is kept, and how often it
 * is asked again.
 */

import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/preact-query';
import type { Event, EventKind } from '../../../src/overview/event-shapes.ts';
import type {
  AnySession,
  AnyToken,
  AnyUnit,
  Explanation,
  Finding,
  FleetHost,
  LintFault,
  Member,
  Overview,
  OwnerReport,
  OwnerRow,
  SharedStore,
  User,
  WholePolicy,
} from '../../../src/wire/index.ts';
import { ask, askPage, askStretch, askUnless } from './ask.ts';
import { live } from './client.ts';

export const overviewQuery = queryOptions({
  queryKey: ['overview'],
  queryFn: ({ signal }) => ask<Overview>(['admin', 'quota', 'overview'], { signal }),
  refetchInterval: live(),
});

export const findingsQuery = queryOptions({
  queryKey: ['findings'],
  queryFn: ({ signal }) => ask<readonly Finding[]>(['admin', 'quota', 'findings'], { signal }),
  refetchInterval: live(15_000),
});

export interface OwnersAsked {
  readonly q: string;
  /** `over`, or several with commas. */
  readonly state?: string | undefined;
  readonly group?: string | undefined;
  readonly type?: 'user' | 'organization' | undefined;
  readonly sort: string;
  readonly order: 'asc' | 'desc';
  /** From 1. */
  readonly page: number;
  readonly limit: number;
}

/** While another page or search is under way, the one before stays. */
export const ownersQuery = (asked: OwnersAsked) =>
  queryOptions({
    queryKey: ['owners', asked],
    queryFn: ({ signal }) => askPage<OwnerRow>(['admin', 'quota', 'usage'], { query: { ...asked }, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: live(),
  });

export const ownerQuery = (name: string) =>
  queryOptions({
    queryKey: ['owner', name],
    queryFn: ({ signal }) => ask<OwnerReport>(['admin', 'quota', 'usage', name], { signal }),
    refetchInterval: live(),
  });

export const explanationQuery = (owner: string, subject: string) =>
  queryOptions({
    queryKey: ['explanation', owner, subject],
    queryFn: ({ signal }) =>
      ask<Explanation>(['admin', 'quota', 'explain'], { query: { user: owner, subject }, signal }),
    refetchInterval: live(),
  });

export const membersQuery = (organization: string) =>
  queryOptions({
    queryKey: ['members', organization],
    queryFn: ({ signal }) => ask<readonly Member[]>(['admin', 'orgs', organization, 'members'], { signal }),
  });

export interface EventsAsked {
  readonly kind: EventKind | undefined;
  readonly owner: string | undefined;
  /** ISO 8601. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly actor?: string | undefined;
  readonly q?: string | undefined;
  /** Number of rows on a page. */
  readonly limit: number;
}

/** Newest first, further and further back. */
export const eventsQuery = (asked: EventsAsked) =>
  infiniteQueryOptions({
    queryKey: ['events', asked],
    queryFn: ({ signal, pageParam }) =>
      askStretch<Event>(['admin', 'quota', 'events'], { query: { ...asked, after: pageParam }, signal }),
    initialPageParam: undefined as string | undefined, // the newest
    getNextPageParam: ({ next }) => next ?? undefined,
    refetchInterval: live(),
  });

/** All of one change, as far as a page has room. */
export const changeQuery = (change: string, at: string) =>
  queryOptions({
    queryKey: ['change', change],
    queryFn: async ({ signal }) => {
      const query = { kind: 'policy', since: at, until: at, limit: 1000 };
      const events = await ask<readonly Event[]>(['admin', 'quota', 'events'], { query, signal });
      return events.filter(event => event.kind === 'policy').filter(event => event.change === change);
    },
  });

export interface PageAsked {
  readonly q: string;
  /** From 1. */
  readonly page: number;
  readonly limit: number;
}

export const allTokensQuery = (asked: PageAsked) =>
  queryOptions({
    queryKey: ['tokens', 'all', asked],
    queryFn: ({ signal }) => askPage<AnyToken>(['admin', 'tokens'], { query: { ...asked }, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: live(15_000),
  });

export const allSessionsQuery = (asked: PageAsked) =>
  queryOptions({
    queryKey: ['sessions', 'all', asked],
    queryFn: ({ signal }) => askPage<AnySession>(['admin', 'sessions'], { query: { ...asked }, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: live(15_000),
  });

export const largestQuery = (asked: PageAsked & { readonly subject: string | undefined }) =>
  queryOptions({
    queryKey: ['units', asked],
    queryFn: ({ signal }) => askPage<AnyUnit>(['admin', 'quota', 'units'], { query: { ...asked }, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: live(15_000),
  });

/** With their rules, the groups of a large server are a megabyte. */
export const groupNamesQuery = queryOptions({
  queryKey: ['group-names'],
  queryFn: ({ signal }) => ask<readonly string[]>(['admin', 'quota', 'group-names'], { signal }),
  refetchInterval: live(15_000),
});

export const userQuery = (name: string) =>
  queryOptions({
    queryKey: ['user', name],
    queryFn: ({ signal }) => ask<User>(['admin', 'users', name], { signal }),
  });

const usersOffered = 20;

/** Users and organizations with this in their names. */
export const usersQuery = (q: string) =>
  queryOptions({
    queryKey: ['users', q],
    queryFn: ({ signal }) => askPage<User>(['admin', 'users'], { query: { q, limit: usersOffered }, signal }),
    placeholderData: keepPreviousData,
  });

const policyEveryMs = 30_000;

/** Megabytes where many are assigned to groups: they come again only when there is another policy. */
export const policyQuery = queryOptions({
  queryKey: ['policy'],
  queryFn: ({ client, queryKey, signal }) =>
    askUnless(client.getQueryData<WholePolicy>(queryKey), ['admin', 'quota', 'policy'], { signal }),
  refetchInterval: live(policyEveryMs),
});

export const policyFaultsQuery = queryOptions({
  queryKey: ['lint'],
  queryFn: ({ signal }) => ask<readonly LintFault[]>(['admin', 'quota', 'lint'], { signal }),
  refetchInterval: live(),
});

export const hostsQuery = queryOptions({
  queryKey: ['hosts'],
  queryFn: ({ signal }) => ask<readonly FleetHost[]>(['admin', 'quota', 'hosts'], { signal }),
  refetchInterval: live(),
});

export const sharedStoreQuery = queryOptions({
  queryKey: ['store'],
  queryFn: ({ signal }) => ask<SharedStore>(['admin', 'quota', 'store'], { signal }),
  refetchInterval: live(),
});
