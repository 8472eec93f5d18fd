/** What administrators' pages ask: each question with its key, by which it is kept, and how often it is asked anew. */

import { keepPreviousData, queryOptions } from '@tanstack/preact-query';
import type {
  Finding,
  Group,
  Machine,
  Overview,
  OwnerReport,
  OwnerRow,
  ScanReport,
  User,
  WholePolicy,
} from '../../../src/wire/index.ts';
import { ask, askPage } from './ask.ts';
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

export const userQuery = (name: string) =>
  queryOptions({
    queryKey: ['user', name],
    queryFn: ({ signal }) => ask<User>(['admin', 'users', name], { signal }),
  });

const policyEveryMs = 30_000;

/** Long where many are assigned to groups. */
export const policyQuery = queryOptions({
  queryKey: ['policy'],
  queryFn: ({ signal }) => ask<WholePolicy>(['admin', 'quota', 'policy'], { signal }),
  refetchInterval: live(policyEveryMs),
});

export const groupsQuery = queryOptions({
  queryKey: ['groups'],
  queryFn: ({ signal }) => ask<readonly Group[]>(['admin', 'quota', 'groups'], { signal }),
});

export const scansQuery = queryOptions({
  queryKey: ['scans'],
  queryFn: ({ signal }) => ask<readonly ScanReport[]>(['admin', 'quota', 'scans'], { signal }),
});

export const hostsQuery = queryOptions({
  queryKey: ['hosts'],
  queryFn: ({ signal }) => ask<readonly Machine[]>(['admin', 'quota', 'hosts'], { signal }),
  refetchInterval: live(),
});
