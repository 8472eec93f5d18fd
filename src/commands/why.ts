/** `softquota why`: what takes the space, and what would free how much. */

import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import { exitCodes, SoftquotaError } from '../errors.ts';
import type { SpaceAnswer } from '../wire/index.ts';
import { adminClient, type DaemonClient } from './client.ts';
import type { Exit } from './exit.ts';
import { printJson } from './output.ts';
import { type ConfigOption, configFrom, withConfigOption, withJsonOption, wrapped } from './settings.ts';
import { print, tell } from './streams.ts';
import { reportText, repositoriesText } from './why-text.ts';

interface WhyOptions extends ConfigOption {
  readonly json?: boolean;
}

const askAgainMs = 300;

export function addWhy(program: Command, exit: Exit): void {
  withJsonOption(withConfigOption(program.command('why')))
    .summary('show what takes the space, and how to free it')
    .description(
      "Shows an owner's repositories, and how much data in them is unreachable (no branch or tag needs it any more). " +
        'With a repository: the files, branches and tags that take the most space in the whole history, what deleting ' +
        'each would free, and the commands for it. The worker (softquota worker) examines the repository for this.',
    )
    .argument('<owner[/repository]>', 'such as alice, or alice/project')
    .addHelpText('after', wrapped('\nExit status: 0 shown, 1 the repository cannot be examined.'))
    .action(async (asked: string, options: WhyOptions) => {
      const client = adminClient(() => configFrom(options));
      const slash = asked.indexOf('/');
      const owner = slash === -1 ? asked : asked.slice(0, slash);
      const repository = slash === -1 ? '' : asked.slice(slash + 1);
      if (owner === '') throw new SoftquotaError('usage', 'expected OWNER or OWNER/REPOSITORY');
      const found = await spaceOf(client, owner, repository);
      if (options.json === true) printJson(found);
      else print(repository === '' ? repositoriesText(found) : reportText(found));
      if (found.state !== 'failed') return;
      tell(`softquota: ${found.message ?? 'the repository cannot be examined'}\n`);
      exit(exitCodes.refused);
    });
}

async function spaceOf(client: DaemonClient, owner: string, repository: string): Promise<SpaceAnswer> {
  const query = new URLSearchParams({ user: owner, ...(repository === '' ? {} : { repo: repository }) });
  for (;;) {
    const found = await client.get<SpaceAnswer>({ path: `/admin/quota/space?${query}` });
    if (found.state !== 'running') return found;
    await delay(askAgainMs);
  }
}
