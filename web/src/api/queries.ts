/** Queries of the pages, each with its cache key and its interval. */

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
import { live, liveNewest, pageOf, queryOf, refresh } from './client.ts';
import { faultOf } from './fault.ts';

const quota = ['admin', 'quota'] as const;
const seldomMs = 15_000;

export const overviewQuery = queryOf<Overview>([...quota, 'overview']);

export const findingsQuery = queryOf<readonly Finding[]>([...quota, 'findings'], { everyMs: seldomMs });

export interface OwnersAsked {
  readonly q: string;
  /** A state such as `over`, or several with commas. */
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

/** Queries the first repositories of an owner that are over or near a limit of their own. */
export const limitedRepositoriesQuery = (owner: string) =>
  pageOf<RepositoryRow>([...quota, 'usage'], {
    query: { per: 'repository', state: 'over,near', owner, limit: 1000 },
  });

/** Queries a group; the answer is null if it does not exist. */
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

/** Queries the usage of a group. The previous page stays visible meanwhile. */
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

/** Lists events, the newest first; older pages are loaded on demand. */
export const eventsQuery = (asked: EventsAsked) =>
  infiniteQueryOptions({
    queryKey: ['events', asked],
    queryFn: ({ signal, pageParam }) =>
      askStretch<Event>([...quota, 'events'], { query: { ...asked, after: pageParam }, signal }),
    initialPageParam: undefined as string | undefined, // the newest
    getNextPageParam: ({ next }) => next ?? undefined,
    refetchInterval: liveNewest(),
  });

/** Limit of the requests for one change, with up to 1000 events each. */
const mostStretches = 100;

/** Lists all events of one change. Rejects if there are too many, so that no part is taken for the whole. */
export const changeQuery = (change: string, at: string) =>
  queryOptions({
    queryKey: ['change', change],
    queryFn: async ({ signal }) => {
      const events: Event[] = [];
      let after: string | undefined;
      for (let asked = 0; asked < mostStretches; asked++) {
        const query = { kind: 'policy', since: at, until: at, limit: 1000, after };
        const { entries, next } = await askStretch<Event>([...quota, 'events'], { query, signal });
        events.push(...entries);
        if (next === null) {
          return events.filter(event => event.kind === 'policy').filter(event => event.change === change);
        }
        after = next;
      }
      throw new Error('The change is too large to be undone here. Apply an earlier policy instead.');
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

/** Queries only the names of groups: with their rules, the groups of a large server have a megabyte. */
export const groupNamesQuery = queryOf<readonly string[]>([...quota, 'group-names'], { everyMs: seldomMs });

export const userQuery = (name: string) => queryOf<User>(['admin', 'users', name], { everyMs: null });

/** Searches users and organizations whose names contain a text, and returns the first ones. */
export const usersQuery = (q: string) =>
  pageOf<User>(['admin', 'users'], { query: { q, limit: 20 }, everyMs: null });

const policyEveryMs = 30_000;

/**
 * Queries the whole policy, which has megabytes if many owners are in groups: it is sent again only after a
 * change.
 */
export const policyQuery = queryOptions({
  queryKey: ['policy'],
  queryFn: ({ client, queryKey, signal }) =>
    askUnless(client.getQueryData<WholePolicy>(queryKey), [...quota, 'policy'], { signal }),
  refetchInterval: live(policyEveryMs),
});

export const policyFaultsQuery = queryOf<readonly LintFault[]>([...quota, 'lint']);

export const hostsQuery = queryOf<readonly FleetHost[]>([...quota, 'hosts']);

export const sharedStoreQuery = queryOf<SharedStore>([...quota, 'store']);

/** Lists scans, the newest first, often enough to follow a running scan. */
export const scansQuery = queryOf<readonly ScanReport[]>([...quota, 'scans'], { everyMs: 1000 });

interface ScanOrder {
  readonly kind: ScanReport['kind'];
  /** Only the units of these owners; absent for all. */
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

export const sessionsQuery = (user: string) => queryOf<readonly SessionRow[]>(['users', user, 'sessions']);

/** Succeeds also if the session has ended already. */
export async function endSession(user: string, id: string): Promise<void> {
  await ask(['users', user, 'sessions', id], { method: 'DELETE' }).catch(nullIfMissing);
}

/** Ends all that it can, and then rejects with the first fault. */
export async function endSessions(user: string, sessions: readonly SessionRow[]): Promise<void> {
  const faults: unknown[] = [];
  for (const { id } of sessions) await endSession(user, id).catch(fault => faults.push(fault));
  if (faults.length > 0) throw faults[0];
}

const path = ['admin', 'quota', 'notices'] as const;

/** Limit of the deliveries that the page shows. */
export const mostDeliveries = 200;

export const noticesQuery = queryOf<NoticeList>(path, { query: { limit: mostDeliveries } });

/** Sends dead notices again, all if `id` is null. Returns their number. */
export async function sendAgain(id: string | null): Promise<number> {
  const step = id === null ? [] : [id];
  const { count } = await ask<NoticesSentAgain>([...path, ...step, 'send-again'], { method: 'POST' });
  await refresh();
  return count;
}

/** Sends a trial. `address` is for mail only; if it is empty, the mail goes to all administrators. */
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
