/** `softquota reclaim`: collect garbage now, by the worker. */

import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import { exitCodes, SoftquotaError } from '../errors.ts';
import { formatBytes, printable } from '../text/index.ts';
import type { ReclaimRun } from '../wire/index.ts';
import { adminClient, type DaemonClient } from './client.ts';
import type { Exit } from './exit.ts';
import { printJson } from './output.ts';
import { type ConfigOption, configFrom, withConfigOption, withJsonOption, wrapped } from './settings.ts';
import { print } from './streams.ts';

interface ReclaimCommandOptions extends ConfigOption {
  readonly json?: boolean;
}

const askAgainMs = 500;

export function addReclaim(program: Command, exit: Exit): void {
  withJsonOption(withConfigOption(program.command('reclaim')))
    .summary('collect garbage now')
    .description(
      'Makes the worker (softquota worker) delete unreachable data (no branch or tag needs it any more) in a ' +
        'repository, or in all repositories that have such data, and waits for the end. Data that became unreachable ' +
        'within [reclaim] EXPIRE stays, because a running push may need it.',
    )
    .argument('[repository]', 'OWNER/REPOSITORY, or a path')
    .addHelpText('after', wrapped('\nExit status: 0 collected, 1 a collection failed.'))
    .action(async (repository: string | undefined, options: ReclaimCommandOptions) => {
      const client = adminClient(() => configFrom(options));
      const runs = await collect(client, repository);
      if (options.json === true) printJson(runs);
      else print(runs.length === 0 ? 'There is nothing to collect.\n' : runs.map(runText).join(''));
      if (runs.some(({ state }) => state === 'failed')) exit(exitCodes.refused);
    });
}

const path = '/admin/quota/reclaims';

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
  return printable(`${repository}: ${words}`).concat('\n');
}
