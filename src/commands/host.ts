/** `softquota host` and `softquota store`: the hosts that share a quota, and the store that they share. */

import { Option } from 'commander';
import { exitCodes, SoftquotaError } from '../errors.ts';
import { counted, formatBytes, formatCount, printable } from '../text.ts';
import type { FleetHost, SharedStore } from '../wire/index.ts';
import { apiCommand, resource } from './api-command.ts';
import { pathStep } from './client.ts';
import { formatDuration, jsonText } from './output.ts';
import { type ConfigOption, clientFrom } from './settings.ts';
import { confirmed, print } from './streams.ts';

const hosts = '/admin/quota/hosts';

const addHost = resource('host', {
  summary: 'hosts that share the quota',
  description: 'Shows and removes the hosts that share a quota. These hosts have the same [store] HOST.',
  commands: [
    apiCommand<readonly FleetHost[]>('list', {
      summary: 'list the hosts',
      description:
        'Lists the hosts with their usage, and the shared storage that each of them walks. If a host sends ' +
        'nothing, its last usage counts until it is removed with `softquota host forget`.',
      route: `GET ${hosts}`,
      columns: [
        ['host', host => host.id],
        ['state', host => (host.alive ? 'running' : `silent for ${formatDuration(host.silent_seconds)}`)],
        ['owners', host => formatCount(host.owners), 'right'],
        ['stored', host => formatBytes(host.bytes), 'right'],
        ['version', host => host.version],
        ['walks', host => host.walks.join(', ')],
      ],
    }),
    apiCommand<never, { yes?: boolean }>('forget <id>', {
      summary: 'remove a host that no longer exists',
      description:
        'Removes a host that no longer exists, with its usage. A host whose daemon is running cannot be removed. ' +
        'If a removed host comes back, it reports its usage again. If it walked storage that several hosts mount, ' +
        'name that storage in [scan] ROOTS of another one.',
      arguments: ['the [server] HOST_ID of the host'],
      options: [new Option('--yes', 'do not ask')],
      after:
        '\nExit status: 0 removed, 1 you did not agree, or the host is running or unknown, 69 the store does not answer.',
      run: async (options, [id = '']) => {
        const client = clientFrom(options);
        const known = await client.get<readonly FleetHost[]>({ path: hosts });
        const gone = known.find(each => each.id === id);
        const stored = gone === undefined ? '' : ` Its usage, ${storedOn(gone)}, will no longer count.`;
        if (options.yes !== true && !(await confirmed(`Forget ${printable(id)}?${stored}`)))
          return exitCodes.refused;
        await client.get({ method: 'DELETE', path: `${hosts}/${pathStep(id)}` });
        print(options.json === true ? jsonText(gone ?? null) : `Forgot ${printable(id)}.\n`);
        return exitCodes.done;
      },
    }),
  ],
});

function storedOn({ owners, bytes }: FleetHost): string {
  return `${formatBytes(bytes)} of ${counted(owners, 'owner', 'owners')}`;
}

interface RepairOptions {
  readonly known?: boolean;
  readonly stored?: boolean;
  readonly yes?: boolean;
}

const addStore = resource('store', {
  summary: 'the store that several hosts share',
  description: 'Repairs the store that several hosts share. See docs/redis.md.',
  commands: [
    apiCommand<never, RepairOptions>('repair', {
      summary: 'choose between two diverged policies',
      description:
        'For a shared store that was emptied, or restored from an older copy. Its policy does not come into ' +
        'force automatically, and no policy can be changed until you choose. --known writes the policy that ' +
        'is in force on this host to the store; --stored uses the policy in the store. The other hosts ' +
        'follow within two seconds. Usage needs no repair: each host reports its own.',
      options: [
        new Option('--known', 'use the policy in force on this host').conflicts('stored'),
        new Option('--stored', 'use the policy in the store'),
        new Option('--yes', 'do not ask'),
      ],
      after: '\nExit status: 0 done, 1 nothing to repair, 69 the store does not answer.',
      hasNoJson: true,
      run: repair,
    }),
  ],
});

async function repair({
  known = false,
  stored = false,
  yes = false,
  ...options
}: RepairOptions & ConfigOption) {
  if (known === stored) throw new SoftquotaError('usage', 'store repair: give either --known or --stored');
  const client = clientFrom(options);
  const { divergence } = await client.get<SharedStore>({ path: '/admin/quota/store' });
  const what = known ? 'Write the policy in force on this host to the store' : 'Use the policy in the store';
  const isAgreed = divergence === null || yes || (await confirmed(`${divergence.message}\n${what}?`));
  if (!isAgreed) return exitCodes.refused;
  const body = { policy: known ? 'known' : 'stored' };
  await client.get({ method: 'POST', path: '/admin/quota/store/repair', body });
  print(
    known
      ? 'The store has the policy that is in force on this host.\n'
      : 'The policy in the store is in force.\n',
  );
  return exitCodes.done;
}

export const fleetCommands = { host: addHost, store: addStore };
