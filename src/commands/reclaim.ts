/** `softquota reclaim`: collect garbage now, by the worker. */

import { setTimeout as delay } from 'node:timers/promises';
import { exitCodes, SoftquotaError } from '../errors.ts';
import { formatBytes } from '../text/index.ts';
import type { ReclaimRun } from '../wire/index.ts';
import { apiCommand } from './api-command.ts';
import type { DaemonClient } from './client.ts';

const askAgainMs = 500;
const path = '/admin/quota/reclaims';

export const addReclaim = apiCommand<readonly ReclaimRun[]>({
  words: 'reclaim [repository]',
  summary: 'collect garbage now',
  description:
    'Makes the worker (softquota worker) delete unreachable data (no branch or tag needs it any more) in a ' +
    'repository, or in all repositories that have such data, and waits for the end. Data that became unreachable ' +
    'within [reclaim] EXPIRE stays, because a running push may need it.',
  arguments: ['OWNER/REPOSITORY, or a path'],
  after: '\nExit status: 0 collected, 1 a collection failed.',
  ask: (client, _, repository?: string) => collect(client, repository),
  text: runs => (runs.length === 0 ? 'There is nothing to collect.\n' : runs.map(runText)),
  status: runs => (runs.some(({ state }) => state === 'failed') ? exitCodes.refused : exitCodes.done),
});

async function collect(client: DaemonClient, repository: string | undefined): Promise<readonly ReclaimRun[]> {
  const body = repository === undefined ? {} : { repository };
  const begun = await client.get<readonly ReclaimRun[]>({ method: 'POST', path, body });
  const ids = new Set(begun.map(({ id }) => id));
  for (let runs = begun; ; runs = await client.get<readonly ReclaimRun[]>({ path })) {
    const own = runs.filter(({ id }) => ids.has(id));
    if (own.length < ids.size)
      throw new SoftquotaError(
        'unreachable',
        'the daemon was restarted, and does not know of the collections',
      );
    if (own.every(({ state }) => state !== 'running')) return own;
    await delay(askAgainMs);
  }
}

function runText({
  repository,
  state,
  freed_bytes: freed,
  unreachable_bytes: left,
  message,
}: ReclaimRun): string {
  const words =
    state === 'failed'
      ? `failed: ${message ?? 'no reason is known'}`
      : `${formatBytes(Math.max(0, freed ?? 0))} freed${left === null || left === 0 ? '' : `; ${formatBytes(left)} became unreachable recently, and can be freed later`}`;
  return `${repository}: ${words}`;
}
