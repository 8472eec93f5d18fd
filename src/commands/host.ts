/** `softquota host`: the hosts that share a quota. */

import type { Command } from 'commander';
import { z } from 'zod';
import { formatBytes, formatCount, printable } from '../text/index.ts';
import { type FleetHost, fleetHost } from '../wire/index.ts';
import { adminClient, type DaemonClient, pathStep } from './client.ts';
import { confirmed } from './confirm.ts';
import type { Exit } from './exit.ts';
import { formatDuration, printJson, table } from './output.ts';
import { type ConfigOption, configFrom, withConfigOption, withJsonOption } from './settings.ts';
import { getShared } from './shared.ts';
import { print } from './streams.ts';

interface ListOptions extends ConfigOption {
  readonly json?: boolean;
}

interface ForgetOptions extends ConfigOption {
  readonly yes?: boolean;
  readonly json?: boolean;
}

const hosts = '/admin/quota/hosts';

export function addHost(program: Command, exit: Exit): void {
  const host = program
    .command('host')
    .summary('hosts that share the quota')
    .description('Shows and forgets the hosts that share a quota, which are those with one [store] HOST.');

  withJsonOption(withConfigOption(host.command('list')))
    .summary('list the hosts')
    .description(
      'Lists the hosts, with what is stored on each, and what each walks of what several mount. One that\n' +
        'is silent counts with what it last said, until it is forgotten.',
    )
    .action(async (options: ListOptions) => {
      const found = z.array(fleetHost).parse(await getShared(clientOf(options), { path: hosts }));
      if (options.json === true) printJson(found);
      else print(hostsTable(found));
    });

  withJsonOption(withConfigOption(host.command('forget')))
    .summary('have a host that is gone count no more')
    .description(
      'Takes a host that is gone out, with all that it said of usage. One whose daemon runs cannot be\n' +
        'forgotten; one that comes back says again what is stored on it. What it walked for all that mount it\n' +
        '([storage.*] SHARED) another one walks.',
    )
    .argument('<id>', 'its [server] HOST_ID')
    .option('--yes', 'do not ask')
    .addHelpText(
      'after',
      '\nExit status: 0 forgotten, 1 you said no, 2 it runs or is unknown, 69 the store is away.',
    )
    .action(async (id: string, options: ForgetOptions) => {
      const client = clientOf(options);
      const known = z.array(fleetHost).parse(await getShared(client, { path: hosts }));
      const gone = known.find(each => each.id === id);
      const stored = gone === undefined ? '' : ` What it stores, ${storedOn(gone)}, counts no more.`;
      if (options.yes !== true && !(await confirmed(`Forget ${printable(id)}?${stored}`))) return exit(1);
      await client.get({ method: 'DELETE', path: `${hosts}/${pathStep(id)}` });
      if (options.json === true) printJson(gone ?? null);
      else print(`Forgot ${printable(id)}.\n`);
    });
}

function clientOf(options: ConfigOption): DaemonClient {
  return adminClient(() => configFrom(options));
}

function hostsTable(fleetHosts: readonly FleetHost[]): string {
  const columns = [
    { title: 'host' },
    { title: 'state' },
    { title: 'owners', align: 'right' },
    { title: 'stored', align: 'right' },
    { title: 'version' },
    { title: 'walks' },
  ] as const;
  return table(
    columns,
    fleetHosts.map(each => [
      each.id,
      each.alive ? 'running' : `silent for ${formatDuration(each.silent_seconds)}`,
      formatCount(each.owners),
      formatBytes(each.bytes),
      each.version,
      each.walks.join(', '),
    ]),
  );
}

function storedOn({ owners, bytes }: FleetHost): string {
  return `${formatBytes(bytes)} of ${formatCount(owners)} owners`;
}
