/** The questions of pages: each with its key, by which it is kept, and how often it is asked again. */

import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/preact-query';
import type { Event, EventKind } from '../../../src/overview/event-shapes.ts';
import type {
  AnySession,
  AnyToken,
  AnyUnit,
  CreatedToken,
  Explanation,
  Finding,
  FleetHost,
  Group,
  GroupUsage,
  LintFault,
  MailWish,
  Member,
  NewToken,
  NoticeList,
  NoticesSentAgain,
  NoticeTest,
  Overview,
  OwnerReport,
  OwnerRow,
  QuotaInfo,
  RepositoryRow,
  ScanReport,
  SessionRow,
  SharedStore,
  Token,
  User,
  WholePolicy,
} from '../../../src/wire/index.ts';
import { ask, askStretch, askUnless } from './ask.ts';
import { live, pageOf, queryOf, refresh } from './client.ts';
import { faultOf } from './fault.ts';

const quota = ['admin', 'quota'] as const;
const seldomMs = 15_000;

export const overviewQuery = queryOf<Overview>([...quota, 'overview']);

export const findingsQuery = queryOf<readonly Finding[]>([...quota, 'findings'], { everyMs: seldomMs });

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

export const ownersQuery = (asked: OwnersAsked) =>
  pageOf<OwnerRow>([...quota, 'usage'], { query: { ...asked } });

export const ownerQuery = (name: string) => queryOf<OwnerReport>([...quota, 'usage', name]);

export const ownerQuotaQuery = (name: string) => queryOf<QuotaInfo>(['admin', 'users', name, 'quota']);

/** Repositories that an owner has over or near a limit of their own, some of them. */
export const limitedRepositoriesQuery = (owner: string) =>
  pageOf<RepositoryRow>([...quota, 'usage'], {
    query: { per: 'repository', state: 'over,near', owner, limit: 1000 },
  });

/** Null: there is none of this name. */
export const groupQuery = (name: string) => {
  const path = [...quota, 'groups', name];
  return queryOptions({
    ...queryOf<Group | null>(path, { everyMs: seldomMs }),
    queryFn: ({ signal }) => ask<Group>(path, { signal }).catch(nullIfMissing),
  });
};

function nullIfMissing(error: unknown): null {
  const fault = faultOf(error);
  if (fault.is === 'refused' && fault.status === 404) return null;
  throw error;
}

interface GroupUsageAsked extends Omit<PageAsked, 'q'> {
  readonly group: string;
}

/** While another page is under way, the one before stays. */
export const groupUsageQuery = ({ group, ...query }: GroupUsageAsked) => ({
  ...queryOf<GroupUsage>([...quota, 'groups', group, 'usage'], { query }),
  placeholderData: keepPreviousData,
});

export const explanationQuery = (owner: string, subject: string) =>
  queryOf<Explanation>([...quota, 'explain'], { query: { user: owner, subject } });

export const membersQuery = (organization: string) =>
  queryOf<readonly Member[]>(['admin', 'orgs', organization, 'members'], { everyMs: null });

export interface EventsAsked {
  readonly kind: EventKind | undefined;
  readonly owner: string | undefined;
  /** ISO 8601. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly actor?: string | undefined;
  readonly q?: string | undefined;
  readonly limit: number;
}

/** Newest first, further and further back. */
export const eventsQuery = (asked: EventsAsked) =>
  infiniteQueryOptions({
    queryKey: ['events', asked],
    queryFn: ({ signal, pageParam }) =>
      askStretch<Event>([...quota, 'events'], { query: { ...asked, after: pageParam }, signal }),
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
      const events = await ask<readonly Event[]>([...quota, 'events'], { query, signal });
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
  pageOf<AnyToken>(['admin', 'tokens'], { query: { ...asked }, everyMs: seldomMs });

export const allSessionsQuery = (asked: PageAsked) =>
  pageOf<AnySession>(['admin', 'sessions'], { query: { ...asked }, everyMs: seldomMs });

export const largestQuery = (asked: PageAsked & { readonly subject: string | undefined }) =>
  pageOf<AnyUnit>([...quota, 'units'], { query: { ...asked }, everyMs: seldomMs });

/** With their rules, the groups of a large server are a megabyte. */
export const groupNamesQuery = queryOf<readonly string[]>([...quota, 'group-names'], { everyMs: seldomMs });

export const userQuery = (name: string) => queryOf<User>(['admin', 'users', name], { everyMs: null });

/** Users and organizations with this in their names, some of them. */
export const usersQuery = (q: string) =>
  pageOf<User>(['admin', 'users'], { query: { q, limit: 20 }, everyMs: null });

const policyEveryMs = 30_000;

/** Megabytes where many are assigned to groups: they come again only when there is another policy. */
export const policyQuery = queryOptions({
  queryKey: ['policy'],
  queryFn: ({ client, queryKey, signal }) =>
    askUnless(client.getQueryData<WholePolicy>(queryKey), [...quota, 'policy'], { signal }),
  refetchInterval: live(policyEveryMs),
});

export const policyFaultsQuery = queryOf<readonly LintFault[]>([...quota, 'lint']);

export const hostsQuery = queryOf<readonly FleetHost[]>([...quota, 'hosts']);

export const sharedStoreQuery = queryOf<SharedStore>([...quota, 'store']);

/** Newest first; people watch a scan go on. */
export const scansQuery = queryOf<readonly ScanReport[]>([...quota, 'scans'], { everyMs: 1000 });

interface ScanOrder {
  readonly kind: ScanReport['kind'];
  /** Only theirs; all without it. */
  readonly owners?: readonly string[];
}

export async function startScan(order: ScanOrder): Promise<ScanReport> {
  const scan = await ask<ScanReport>([...quota, 'scans'], { method: 'POST', body: order });
  await refresh();
  return scan;
}

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

const path = ['admin', 'quota', 'notices'] as const;

/** The page shows so many deliveries. */
export const mostDeliveries = 200;

export const noticesQuery = queryOf<NoticeList>(path, { query: { limit: mostDeliveries } });

/** Gives how many; null: all dead ones. */
export async function sendAgain(id: string | null): Promise<number> {
  const step = id === null ? [] : [id];
  const { count } = await ask<NoticesSentAgain>([...path, ...step, 'send-again'], { method: 'POST' });
  await refresh();
  return count;
}

/** `address`: for mail; empty: all administrators. */
export function sendTest(to: string, address: string): Promise<NoticeTest> {
  const body = { to, ...(address === '' ? {} : { address }) };
  return ask<NoticeTest>([...path, 'test'], { method: 'POST', body });
}

const own = ['user', 'quota', 'notices'] as const;

export const mailWishQuery = queryOf<MailWish>(own, { everyMs: null });

export async function wantMail(mail: boolean): Promise<void> {
  await ask(own, { method: 'PATCH', body: { mail } });
  await refresh();
}
