/** `softquota host`: the hosts that share a quota. */

import type { Command } from 'commander';
import { exitCodes } from '../errors.ts';
import { counted, formatBytes, formatCount, printable } from '../text/index.ts';
import type { FleetHost } from '../wire/index.ts';
import { apiCommand, resource } from './api-command.ts';
import { pathStep } from './client.ts';
import { confirmed } from './confirm.ts';
import { formatDuration, printJson } from './output.ts';
import { type CommonOptions, clientFrom, type Exit, withCommonOptions, wrapped } from './settings.ts';
import { print } from './streams.ts';
import { table } from './table.ts';

interface ForgetOptions extends CommonOptions {
  readonly yes?: boolean;
}

const hosts = '/admin/quota/hosts';

export const addHost = resource('host', {
  summary: 'hosts that share the quota',
  description: 'Shows and removes the hosts that share a quota. These hosts have the same [store] HOST.',
  commands: [
    apiCommand<readonly FleetHost[]>({
      words: 'list',
      summary: 'list the hosts',
      description:
        'Lists the hosts with their usage, and the shared storage that each of them walks. If a host sends ' +
        'nothing, its last usage counts until it is removed with `softquota host forget`.',
      route: `GET ${hosts}`,
      text: hostsTable,
    }),
    addForget,
  ],
});

function addForget(host: Command, exit: Exit): void {
  withCommonOptions(host.command('forget'))
    .summary('remove a host that no longer exists')
    .description(
      'Removes a host that no longer exists, with its usage. A host whose daemon is running cannot be removed. ' +
        'If a removed host comes back, it reports its usage again. If it walked storage that several hosts mount, ' +
        'name that storage in [scan] ROOTS of another one.',
    )
    .argument('<id>', 'the [server] HOST_ID of the host')
    .option('--yes', 'do not ask')
    .addHelpText(
      'after',
      wrapped(
        '\nExit status: 0 removed, 1 you did not agree, or the host is running or unknown, 69 the store does not answer.',
      ),
    )
    .action(async (id: string, options: ForgetOptions) => {
      const client = clientFrom(options);
      const known = await client.get<readonly FleetHost[]>({ path: hosts });
      const gone = known.find(each => each.id === id);
      const stored = gone === undefined ? '' : ` Its usage, ${storedOn(gone)}, will no longer count.`;
      if (options.yes !== true && !(await confirmed(`Forget ${printable(id)}?${stored}`)))
        return exit(exitCodes.refused);
      await client.get({ method: 'DELETE', path: `${hosts}/${pathStep(id)}` });
      if (options.json === true) printJson(gone ?? null);
      else print(`Forgot ${printable(id)}.\n`);
    });
}

function hostsTable(found: readonly FleetHost[]): string {
  return table(found, [
    ['host', host => host.id],
    ['state', host => (host.alive ? 'running' : `silent for ${formatDuration(host.silent_seconds)}`)],
    ['owners', host => formatCount(host.owners), 'right'],
    ['stored', host => formatBytes(host.bytes), 'right'],
    ['version', host => host.version],
    ['walks', host => host.walks.join(', ')],
  ]);
}

function storedOn({ owners, bytes }: FleetHost): string {
  return `${formatBytes(bytes)} of ${counted(owners, 'owner', 'owners')}`;
}
