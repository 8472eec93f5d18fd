/** `softquota store`: the store that several hosts share. */

import { type Command, Option } from 'commander';
import { SoftquotaError } from '../errors.ts';
import type { SharedStore } from '../wire/index.ts';
import { confirmed } from './confirm.ts';
import { type ConfigOption, clientFrom, type Exit, withConfigOption, wrapped } from './settings.ts';
import { print } from './streams.ts';

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
