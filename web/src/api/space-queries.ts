/** Queries for the space in repositories, and for garbage collections. */

import { keepPreviousData, queryOptions } from '@tanstack/preact-query';
import type { ReclaimRun, SpaceAnswer } from '../../../src/wire/index.ts';
import { ask } from './ask.ts';
import { live, queryOf, refresh } from './client.ts';
import { type Own, quotaOf } from './own-queries.ts';

/** Owner of the repositories: the user, an organization, or for administrators any owner. */
export type SpaceOf = Own | { readonly is: 'owner'; readonly name: string };

interface SpaceAsked {
  readonly of: SpaceOf;
  /** Null for the figures of all repositories only. */
  readonly repo: string | null;
  /** Time in ISO 8601 after which the report has to be made; null accepts any report. */
  readonly newerThan: string | null;
}

const followEveryMs = 1000;

/** Queries the space. The previous report stays visible meanwhile. */
export const spaceQuery = ({ of, repo, newerThan }: SpaceAsked) => {
  const path = of.is === 'owner' ? ['admin', 'quota'] : quotaOf(of);
  const user = of.is === 'owner' ? of.name : undefined;
  const query = { user, repo: repo ?? undefined, newer_than: newerThan ?? undefined };
  return queryOptions({
    ...queryOf<SpaceAnswer>([...path, 'space'], { query }),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => live(state.data?.state === 'running' ? followEveryMs : undefined)(),
  });
};

const reclaims = ['admin', 'quota', 'reclaims'] as const;

export const reclaimsQuery = queryOptions({
  ...queryOf<readonly ReclaimRun[]>(reclaims),
  refetchInterval: ({ state }) =>
    live(state.data?.some(run => run.state === 'running') === true ? followEveryMs : undefined)(),
});

/** Collects garbage. `repository` is `OWNER/NAME`. Rejects if no worker runs. */
export async function reclaimNow(repository: string): Promise<ReclaimRun> {
  const [begun] = await ask<readonly ReclaimRun[]>(reclaims, { method: 'POST', body: { repository } });
  await refresh();
  if (begun === undefined) throw new Error('nothing was started');
  return begun;
}
