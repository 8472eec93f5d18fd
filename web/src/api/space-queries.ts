/** Queries for what takes the space in repositories, and the collection of garbage there. */

import { keepPreviousData, queryOptions } from '@tanstack/preact-query';
import type { ReclaimRun, SpaceAnswer } from '../../../src/wire/index.ts';
import { ask } from './ask.ts';
import { live, queryOf, refresh } from './client.ts';
import { type Own, quotaOf } from './own-queries.ts';

/** Owner of the repositories: oneself, or as an administrator one owner. */
export type SpaceOf = Own | { readonly is: 'owner'; readonly name: string };

interface SpaceAsked {
  readonly of: SpaceOf;
  /** Null: only the figures of all repositories. */
  readonly repo: string | null;
  /** A report of before is too old, in ISO 8601; null: any will do. */
  readonly newerThan: string | null;
}

const followEveryMs = 1000;

/** While it is asked for a newer report, the one before stays. */
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

/** `repository`: `OWNER/NAME`. Rejects where no worker runs. */
export async function reclaimNow(repository: string): Promise<ReclaimRun> {
  const [begun] = await ask<readonly ReclaimRun[]>(reclaims, { method: 'POST', body: { repository } });
  await refresh();
  if (begun === undefined) throw new Error('nothing was started');
  return begun;
}
