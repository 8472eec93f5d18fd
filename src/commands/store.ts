/** `softquota store`: the store that several hosts share. */

import { join } from 'node:path';
import { type Command, Option } from 'commander';
import type { Backup } from '../backup/index.ts';
import { type Config, isStoreAddress, maskBeforeAt, maskPassword } from '../config/index.ts';
import { SoftquotaError } from '../errors.ts';
import { formatBytes, formatCount } from '../text/index.ts';
import { type CopiedTo, copiedTo, sharedStore } from '../wire/index.ts';
import { adminClient, type DaemonClient } from './client.ts';
import { confirmed } from './confirm.ts';
import type { Exit } from './exit.ts';
import { printJson } from './output.ts';
import { type ConfigOption, configFrom, withConfigOption, withJsonOption } from './settings.ts';
import { getShared } from './shared.ts';
import { print } from './streams.ts';

interface RepairOptions extends ConfigOption {
  readonly known?: boolean;
  readonly stored?: boolean;
  readonly yes?: boolean;
}

interface CopyOptions extends ConfigOption {
  readonly to: string;
  readonly prefix?: string;
  readonly verify?: boolean;
  readonly json?: boolean;
}

export function addStore(program: Command, exit: Exit): void {
  const store = program
    .command('store')
    .summary('the store that hosts share')
    .description('Looks after the store that several hosts share. docs/redis.md tells the whole story.');

  withConfigOption(store.command('repair'))
    .summary('decide which policy is the right one')
    .description(
      'For a shared store that was emptied, or put back from an older copy: its policy does not come\n' +
        'into force by itself, and none can be changed until somebody decides. --known puts the policy\n' +
        'that is in force on this host into the store; --stored takes the one that the store holds.\n' +
        'The other hosts follow within two seconds. Usage needs no repair: each host tells its own.',
    )
    .addOption(new Option('--known', 'the policy in force here is the right one').conflicts('stored'))
    .addOption(new Option('--stored', 'the policy in the store is the right one'))
    .option('--yes', 'do not ask')
    .addHelpText('after', '\nExit status: 0 done, 2 there is nothing to repair, 69 the store is away.')
    .action(async (options: RepairOptions) => {
      const policy = options.known === true ? 'known' : options.stored === true ? 'stored' : null;
      if (policy === null) {
        throw new SoftquotaError(
          'usage',
          'store repair: which policy is the right one, --known or --stored?',
        );
      }
      const client = clientOf(options);
      const { divergence } = sharedStore.parse(await getShared(client, { path: '/admin/quota/store' }));
      if (divergence !== null && options.yes !== true) {
        const what =
          policy === 'known' ? 'Put the policy in force here into the store' : 'Take the policy of the store';
        if (!(await confirmed(`${divergence.message}\n${what}?`))) return exit(1);
      }
      await client.get({ method: 'POST', path: '/admin/quota/store/repair', body: { policy } });
      print(
        policy === 'known'
          ? 'The store holds the policy that is in force here.\n'
          : 'The policy of the store is in force.\n',
      );
    });

  withJsonOption(withConfigOption(store.command('copy')))
    .summary('move to a store that hosts share, or back')
    .description(
      'Copies owners, policy and events of the running daemon into an empty Redis, and prints what to set\n' +
        'in app.ini. After a restart the daemon goes on there, and tells by itself what is stored on it. What\n' +
        'is ruled between the copy and the restart is not in the copy: the daemon notices, and asks for\n' +
        '`softquota store repair`. With "--to sqlite" a daemon that shares a quota brings the events home,\n' +
        "so that it can go on with this host's own store; all else is there already.",
    )
    .requiredOption('--to <address>', 'where to: an address as in [store] HOST, or sqlite')
    .option('--prefix <prefix>', 'as [store] PREFIX; default: what the configuration says')
    .option('--verify', 'read everything back, and compare')
    .addHelpText(
      'after',
      '\nExample:\n  softquota store copy --to redis://softquota:PASSWORD@redis.example:6379/0 --verify\n\n' +
        'Exit status: 0 done, 2 the store is not empty (it stays as it is), 69 it or the daemon is away,\n' +
        "78 it does not let us in, or holds another program's data.",
    )
    .action(async (options: CopyOptions) => {
      const config = configFrom(options);
      await (options.to === 'sqlite' ? copyHome(config, options) : copyAway(config, options));
    });
}

async function copyHome(
  config: Config,
  { prefix, verify = false, json = false }: CopyOptions,
): Promise<void> {
  if (prefix !== undefined) {
    throw new SoftquotaError('usage', '--prefix: is of use only where --to is an address');
  }
  const call = { method: 'POST', path: '/admin/quota/store/copy', body: { verify } } as const;
  const copied = copiedTo.parse(
    await getShared(
      adminClient(() => config),
      call,
    ),
  );
  if (json) return printJson(copied);
  print(
    `Copied ${formatCount(copied.events)} events.${sameText(copied)} Owners and policy are there.\n` +
      'Set in app.ini, then restart the daemon:\n\n    [store]\n    ADAPTER = sqlite\n',
  );
}

async function copyAway(config: Config, options: CopyOptions): Promise<void> {
  const { to, prefix = config.store.prefix, verify = false, json = false } = options;
  if (!isStoreAddress(to)) {
    throw new SoftquotaError(
      'usage',
      `--to ${maskBeforeAt(to)}: expected an address as in [store] HOST, such as redis://USER:PASSWORD@redis.example:6379/0, or sqlite`,
    );
  }
  const { copyTo, parseBackup } = await import('../backup/index.ts');
  const { openRedisStore } = await import('../store/index.ts');
  const answer = await adminClient(() => config).get({ path: '/admin/backup' });
  const backup = parseBackup(JSON.stringify(answer), 'what the daemon answered');
  const { waitReplicas } = config.store;
  const target = await openRedisStore({ address: to, prefix, waitReplicas });
  try {
    const copied = await copyTo(target, backup, { verify });
    if (json) printJson(copied);
    else print(copiedText(copied, backup, config, { to, prefix }));
  } finally {
    await target.close();
  }
}

function clientOf(options: ConfigOption): DaemonClient {
  return adminClient(() => configFrom(options));
}

function copiedText(
  copied: CopiedTo,
  { reported_units: units }: Backup,
  { server, store, security }: Config,
  { to, prefix }: { readonly to: string; readonly prefix: string },
): string {
  const { owners, policy, events } = copied;
  const what = `${formatCount(owners)} owners, ${formatCount(policy)} records of policy and ${formatCount(events)} events`;
  const reported = units.reduce((sum, { bytes }) => sum + bytes, 0);
  const shown = maskPassword(to);
  const lines = [
    ...(server.hostId === null ? ['[server]', 'HOST_ID = a name that no other host has', ''] : []),
    '[store]',
    'ADAPTER = redis',
    `HOST = ${shown}`,
    ...(prefix === store.prefix ? [] : [`PREFIX = ${prefix}`]),
    ...(security.secretKeys.length === 0
      ? ['', '[security]', `SECRET_KEY = what ${join(server.dataPath, 'secret.key')} has, on each host`]
      : []),
  ];
  return (
    `Copied ${what} to ${shown}.${sameText(copied)}\n` +
    (reported > 0
      ? `What programs reported here, ${formatBytes(reported)}, is told by this host when it joins.\n`
      : '') +
    `Set in app.ini${shown === to ? '' : ', with user and password as you gave them'}, then restart the daemon:\n\n` +
    lines.map(line => (line === '' ? '\n' : `    ${line}\n`)).join('')
  );
}

function sameText({ verified }: CopiedTo): string {
  return verified ? ' Read back, all of it is the same.' : '';
}
