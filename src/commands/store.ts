/** `softquota store`: the store that several hosts share. */

import { join } from 'node:path';
import { type Command, Option } from 'commander';
import type { Backup } from '../backup/index.ts';
import { type Config, isStoreAddress, maskBeforeAt, maskPassword } from '../config/index.ts';
import { SoftquotaError } from '../errors.ts';
import { counted, formatBytes } from '../text/index.ts';
import type { CopiedTo, SharedStore } from '../wire/index.ts';
import { adminClient } from './client.ts';
import { confirmed } from './confirm.ts';
import { printJson } from './output.ts';
import {
  type CommonOptions,
  type ConfigOption,
  clientFrom,
  configFrom,
  type Exit,
  withCommonOptions,
  withConfigOption,
  wrapped,
} from './settings.ts';
import { print } from './streams.ts';

interface RepairOptions extends ConfigOption {
  readonly known?: boolean;
  readonly stored?: boolean;
  readonly yes?: boolean;
}

interface CopyOptions extends CommonOptions {
  readonly to: string;
  readonly prefix?: string;
  readonly verify?: boolean;
}

export function addStore(program: Command, exit: Exit): void {
  const store = program
    .command('store')
    .summary('the store that several hosts share')
    .description('Copies and repairs the store that several hosts share. See docs/redis.md.');

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

  withCommonOptions(store.command('copy'))
    .summary('move to a shared store, or back')
    .description(
      'Copies owners, policy and events of the running daemon to an empty Redis, and prints the settings for ' +
        'app.ini. After a restart the daemon uses that Redis, and reports its usage there. A policy change ' +
        'between the copy and the restart is not in the copy: the daemon detects this, and asks for ' +
        '`softquota store repair`. With "--to sqlite", a daemon that shares a quota copies the events to the ' +
        "host's own store, so that it can continue alone; that store has everything else already.",
    )
    .requiredOption('--to <address>', 'the target: an address as in [store] HOST, or sqlite')
    .option('--prefix <prefix>', 'the [store] PREFIX of the target; default: the PREFIX of the configuration')
    .option('--verify', 'read everything back and compare it')
    .addHelpText(
      'after',
      wrapped(
        '\nExample:\n  softquota store copy --to redis://softquota:PASSWORD@redis.example:6379/0 --verify\n\n' +
          'Exit status: 0 done, 1 the target is not empty (it is not changed), 69 the target or the daemon does ' +
          "not answer, 78 the target denies access, or has another program's data.",
      ),
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
    throw new SoftquotaError('usage', '--prefix can be given only if --to is an address');
  }
  const call = { method: 'POST', path: '/admin/quota/store/copy', body: { verify } } as const;
  const copied = await adminClient(() => config).get<CopiedTo>(call);
  if (json) return printJson(copied);
  print(
    `Copied ${counted(copied.events, 'event', 'events')}.${sameText(copied)} Owners and policy are in the store already.\n` +
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
  const backup = parseBackup(JSON.stringify(answer), 'the answer of the daemon');
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

function copiedText(
  copied: CopiedTo,
  { reported_units: units }: Backup,
  { server, store, security }: Config,
  { to, prefix }: { readonly to: string; readonly prefix: string },
): string {
  const { owners, policy, events } = copied;
  const what = `${counted(owners, 'owner', 'owners')}, ${counted(policy, 'record', 'records')} of policy and ${counted(events, 'event', 'events')}`;
  const reported = units.reduce((sum, { bytes }) => sum + bytes, 0);
  const shown = maskPassword(to);
  const lines = [
    ...(server.hostId === null ? ['[server]', 'HOST_ID = a name that no other host uses', ''] : []),
    '[store]',
    'ADAPTER = redis',
    `HOST = ${shown}`,
    ...(prefix === store.prefix ? [] : [`PREFIX = ${prefix}`]),
    ...(security.secretKeys.length === 0
      ? ['', '[security]', `SECRET_KEY = the content of ${join(server.dataPath, 'secret.key')}, on each host`]
      : []),
  ];
  return (
    `Copied ${what} to ${shown}.${sameText(copied)}\n` +
    (reported > 0
      ? `The usage that programs reported here, ${formatBytes(reported)}, is shared when this host joins.\n`
      : '') +
    `Set in app.ini${shown === to ? '' : ', with the user and password that you gave'}, then restart the daemon:\n\n` +
    lines.map(line => (line === '' ? '\n' : `    ${line}\n`)).join('')
  );
}

function sameText({ verified }: CopiedTo): string {
  return verified ? ' Everything was read back and is the same.' : '';
}
