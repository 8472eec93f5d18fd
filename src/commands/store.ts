/** `softquota store`: the store that several machines share. */

import { type Command, Option } from 'commander';
import { type Backup, type CopiedTo, copyTo, parseBackup } from '../backup/index.ts';
import { isStoreAddress, maskPassword } from '../config/index.ts';
import { SoftquotaError } from '../errors.ts';
import { formatBytes } from '../quota/index.ts';
import { openRedisStore } from '../store/index.ts';
import { sharedStore } from '../wire/index.ts';
import { adminClient, type Client } from './client.ts';
import { confirmed } from './confirm.ts';
import type { Exit } from './exit.ts';
import { formatCount, print, printJson } from './output.ts';
import { type ConfigOption, configFrom, withConfigOption, withJsonOption } from './settings.ts';

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
    .summary('the store that machines share')
    .description('Looks after the store that several machines share.');

  withConfigOption(store.command('repair'))
    .summary('decide which policy is the right one')
    .description(
      'For a shared store that was emptied, or put back from an older copy: its policy does not come into force by\n' +
        'itself. --known puts the policy that is in force on this machine into the store; --stored takes the one\n' +
        'that the store holds. The other machines follow within two seconds. Usage needs no repair.',
    )
    .addOption(new Option('--known', 'the policy in force here is the right one').conflicts('stored'))
    .addOption(new Option('--stored', 'the policy in the store is the right one'))
    .option('--yes', 'do not ask')
    .action(async (options: RepairOptions) => {
      const policy = options.known === true ? 'known' : options.stored === true ? 'stored' : null;
      if (policy === null) throw new SoftquotaError('usage', 'store repair: expected --known or --stored');
      const client = clientOf(options);
      const { distrust } = sharedStore.parse(await client.get({ path: '/admin/quota/store' }));
      if (distrust !== null && options.yes !== true) {
        const what =
          policy === 'known' ? 'Put the policy in force here into the store' : 'Take the policy of the store';
        if (!(await confirmed(`${distrust.message}\n${what}?`))) return exit(1);
      }
      await client.get({ method: 'POST', path: '/admin/quota/store/repair', body: { policy } });
      print(
        policy === 'known'
          ? 'The store holds the policy that is in force here.\n'
          : 'The policy of the store is in force.\n',
      );
    });

  withJsonOption(withConfigOption(store.command('copy')))
    .summary('copy policy and events into a store that machines shall share')
    .description(
      'Copies owners, policy and events of the running daemon into an empty store. Then set [store] ADAPTER = redis and\n' +
        'HOST, and restart the daemon: it goes on there, and says what is stored on it. What is ruled between the\n' +
        'copy and the restart is not in the copy; the daemon notices, and asks for `softquota store repair`.\n' +
        'The way back needs no copy: with ADAPTER = sqlite a daemon goes on with what it knew last.',
    )
    .requiredOption('--to <address>', 'where to, as in [store] HOST')
    .option('--prefix <prefix>', 'as [store] PREFIX; default: what the configuration says')
    .option('--verify', 'read everything back, and compare')
    .action(async (options: CopyOptions) => {
      if (!isStoreAddress(options.to)) {
        throw new SoftquotaError(
          'usage',
          `--to ${maskPassword(options.to)}: expected an address as in [store] HOST`,
        );
      }
      const config = configFrom(options);
      const json = await adminClient(() => config).get({ path: '/admin/backup' });
      const backup = parseBackup(JSON.stringify(json), 'what the daemon answered');
      const target = await openRedisStore({
        address: options.to,
        prefix: options.prefix ?? config.store.prefix,
        waitReplicas: config.store.waitReplicas,
      });
      try {
        const copied = await copyTo(target, backup, { verify: options.verify === true });
        if (options.json === true) printJson(copied);
        else print(copiedText(copied, backup, options));
      } finally {
        await target.close();
      }
    });
}

function clientOf(options: ConfigOption): Client {
  return adminClient(() => configFrom(options));
}

function copiedText(
  { owners, policy, events, verified }: CopiedTo,
  { reportedUnits }: Backup,
  { to }: CopyOptions,
): string {
  const what = `${formatCount(owners)} owners, ${formatCount(policy)} records of policy and ${formatCount(events)} events`;
  const reported = reportedUnits.reduce((sum, { bytes }) => sum + bytes, 0);
  return (
    `Copied ${what} to ${maskPassword(to)}.${verified ? ' Read back, all of it is the same.' : ''}\n` +
    (reported > 0
      ? `What programs reported here, ${formatBytes(reported)}, is told by this machine when it joins.\n`
      : '') +
    `Set in app.ini, then restart the daemon:\n\n    [store]\n    ADAPTER = redis\n    HOST = ${maskPassword(to)}\n`
  );
}
