/** `softquota host` and `softquota store`: the hosts that share a quota, and the store that they share. */

import { type Command, Option } from 'commander';
import { exitCodes, SoftquotaError } from '../errors.ts';
import { counted, formatBytes, formatCount, printable } from '../text/index.ts';
import type { FleetHost, SharedStore } from '../wire/index.ts';
import { apiCommand, resource } from './api-command.ts';
import { pathStep } from './client.ts';
import { formatDuration, printJson, table } from './output.ts';
import {
  type CommonOptions,
  type ConfigOption,
  clientFrom,
  type Exit,
  withCommonOptions,
  withConfigOption,
  wrapped,
} from './settings.ts';
import { confirmed, print } from './streams.ts';

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
        'If a removed host comes back, it reports its usage again. Storage that it walked for several hosts ' +
        '([storage.*] SHARED) is then walked by another host.',
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

interface RepairOptions extends ConfigOption {
  readonly known?: boolean;
  readonly stored?: boolean;
  readonly yes?: boolean;
}

export function addStore(program: Command, exit: Exit): void {
  const store = program
    .command('store')
    .summary('the store that several hosts share')
    .description('Repairs the store that several hosts share. See docs/redis.md.');

  withConfigOption(store.command('repair'))
    .summary('choose between two diverged policies')
    .description(
      'For a shared store that was emptied, or restored from an older copy. Its policy does not come into ' +
        'force automatically, and no policy can be changed until you choose. --known writes the policy that ' +
        'is in force on this host to the store; --stored uses the policy in the store. The other hosts ' +
        'follow within two seconds. Usage needs no repair: each host reports its own.',
    )
    .addOption(new Option('--known', 'use the policy in force on this host').conflicts('stored'))
    .addOption(new Option('--stored', 'use the policy in the store'))
    .option('--yes', 'do not ask')
    .addHelpText(
      'after',
      wrapped('\nExit status: 0 done, 1 nothing to repair, 69 the store does not answer.'),
    )
    .action(async (options: RepairOptions) => {
      const policy = options.known === true ? 'known' : options.stored === true ? 'stored' : null;
      if (policy === null) {
        throw new SoftquotaError('usage', 'store repair: give either --known or --stored');
      }
      const client = clientFrom(options);
      const { divergence } = await client.get<SharedStore>({ path: '/admin/quota/store' });
      if (divergence !== null && options.yes !== true) {
        const what =
          policy === 'known'
            ? 'Write the policy in force on this host to the store'
            : 'Use the policy in the store';
        if (!(await confirmed(`${divergence.message}\n${what}?`))) return exit(1);
      }
      await client.get({ method: 'POST', path: '/admin/quota/store/repair', body: { policy } });
      print(
        policy === 'known'
          ? 'The store has the policy that is in force on this host.\n'
          : 'The policy in the store is in force.\n',
      );
    });
}
