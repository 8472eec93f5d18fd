/** `softquota allowance`: extra bytes for an owner that end by themselves. */

import type { Command } from 'commander';
import { SoftquotaError } from '../errors.ts';
import { formatBytes, printable } from '../text/index.ts';
import type { Allowance } from '../wire/index.ts';
import { adminClient, type DaemonClient, pathStep } from './client.ts';
import type { Exit } from './exit.ts';
import { limitShown } from './limits.ts';
import { formatTime, printJson } from './output.ts';
import { type ConfigOption, configFrom, withConfigOption, withJsonOption } from './settings.ts';
import { print } from './streams.ts';
import { table } from './table.ts';
import { moreOf, type UntilOptions, untilOf, withUntilOptions } from './until.ts';

interface JsonOption extends ConfigOption {
  readonly json?: boolean;
}

interface CreateOptions extends JsonOption, UntilOptions {
  readonly size: string;
  readonly why: string;
}

export function addAllowance(program: Command, _exit: Exit): void {
  const allowances = program
    .command('allowance')
    .summary('extra bytes for a limited time')
    .description(
      'Shows, gives and ends allowances: extra bytes for a user or an organization, on top of each limit above ' +
        '0 that applies. They end automatically.',
    );

  withJsonOption(withConfigOption(allowances.command('list')))
    .summary('list the allowances of an owner')
    .argument('<owner>', ownerHelp)
    .action(async (owner: string, options: JsonOption) => {
      const found = await clientOf(options).get<readonly Allowance[]>({ path: pathOf(owner) });
      if (options.json === true) printJson(found);
      else print(allowancesTable(owner, found));
    });

  withUntilOptions(withJsonOption(withConfigOption(allowances.command('create'))))
    .summary('give an owner extra bytes for a limited time')
    .argument('<owner>', ownerHelp)
    .requiredOption('--size <size>', 'how much, such as 2G')
    .requiredOption('--why <words>', 'what for')
    .action(async (owner: string, options: CreateOptions) => {
      const until = untilOf(options);
      if (until === undefined) {
        throw new SoftquotaError('usage', 'an allowance is for a time: give --for or --until');
      }
      const body = { bytes: moreOf(options.size), until, why: options.why };
      const call = { method: 'POST', path: pathOf(owner), body } as const;
      const created = await clientOf(options).get<Allowance>(call);
      if (options.json === true) return printJson(created);
      const more = formatBytes(created.bytes);
      print(
        `${printable(`${owner} has ${more} more until ${formatTime(created.until)} (${created.id}).`)}\n`,
      );
    });

  withConfigOption(allowances.command('end'))
    .summary('end an allowance now')
    .argument('<owner>', ownerHelp)
    .argument('<id>', 'the allowance, as softquota allowance list shows it')
    .action(async (owner: string, id: string, options: ConfigOption) => {
      await clientOf(options).get({ method: 'DELETE', path: `${pathOf(owner)}/${pathStep(id)}` });
      print(`Ended the allowance ${printable(id)} of ${printable(owner)}.\n`);
    });
}

const ownerHelp = 'the name of a user or an organization';

function clientOf(options: ConfigOption): DaemonClient {
  return adminClient(() => configFrom(options));
}

function pathOf(owner: string): string {
  return `/admin/users/${pathStep(owner)}/quota/allowances`;
}

function allowancesTable(owner: string, allowances: readonly Allowance[]): string {
  if (allowances.length === 0) return `${printable(owner)} has no allowance.\n`;
  return table(
    [
      { title: 'ID' },
      { title: 'MORE', align: 'right' },
      { title: 'UNTIL' },
      { title: 'GIVEN BY' },
      { title: 'GIVEN AT' },
      { title: 'WHY' },
    ],
    allowances.map(each => [
      each.id,
      limitShown(each.bytes),
      formatTime(each.until),
      each.automatic ? 'AUTO_GRANT' : (each.granted_by ?? 'host administrator'),
      formatTime(each.granted_at),
      each.why,
    ]),
  );
}
