/** `softquota why`: what takes the space, and what would free how much. */

import { setTimeout as delay } from 'node:timers/promises';
import { exitCodes, SoftquotaError } from '../errors.ts';
import type { SpaceAnswer } from '../wire/index.ts';
import { apiCommand } from './api-command.ts';
import { type DaemonClient, withQuery } from './client.ts';
import { tellNote } from './streams.ts';
import { reportText, repositoriesText } from './why-text.ts';

const askAgainMs = 300;

export const addWhy = apiCommand<SpaceAnswer>({
  words: 'why <owner[/repository]>',
  summary: 'show what takes the space, and how to free it',
  description:
    "Shows an owner's repositories, and how much data in them is unreachable (no branch or tag needs it any more). " +
    'With a repository: the files, branches and tags that take the most space in the whole history, what deleting ' +
    'each would free, and the commands for it. The worker (softquota worker) examines the repository for this.',
  arguments: ['such as alice, or alice/project'],
  after: '\nExit status: 0 shown, 1 the repository cannot be examined.',
  ask: (client, _, asked: string) => {
    const { owner, repository } = partsOf(asked);
    if (owner === '') throw new SoftquotaError('usage', 'expected OWNER or OWNER/REPOSITORY');
    return spaceOf(client, owner, repository);
  },
  text: (found, _, asked: string) =>
    partsOf(asked).repository === '' ? repositoriesText(found) : reportText(found),
  status: ({ state, message }) => {
    if (state !== 'failed') return exitCodes.done;
    tellNote(message ?? 'the repository cannot be examined');
    return exitCodes.refused;
  },
});

function partsOf(asked: string): { readonly owner: string; readonly repository: string } {
  const [owner = '', ...rest] = asked.split('/');
  return { owner, repository: rest.join('/') };
}

async function spaceOf(client: DaemonClient, owner: string, repository: string): Promise<SpaceAnswer> {
  const query = { user: owner, repo: repository === '' ? undefined : repository };
  for (;;) {
    const found = await client.get<SpaceAnswer>({ path: withQuery('/admin/quota/space', query) });
    if (found.state !== 'running') return found;
    await delay(askAgainMs);
  }
}
