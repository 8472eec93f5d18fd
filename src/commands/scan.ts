/** `softquota scan`: measure now, and watch it. */

import type { Command } from 'commander';
import { exitCodes } from '../errors.ts';
import { printable } from '../text/index.ts';
import type { ScanReport } from '../wire/index.ts';
import { adminClient, type DaemonClient } from './client.ts';
import type { Exit } from './exit.ts';
import { printJson } from './output.ts';
import { followScan, scanSummary } from './progress.ts';
import { type ConfigOption, configFrom, withConfigOption, withJsonOption, wrapped } from './settings.ts';
import { print, tell } from './streams.ts';

interface ScanOptions extends ConfigOption {
  readonly verify?: boolean;
  readonly acceptMoved?: boolean;
  readonly json?: boolean;
}

export function addScan(program: Command, exit: Exit): void {
  withJsonOption(withConfigOption(program.command('scan')))
    .summary('measure now')
    .description(
      'Measures all repositories and other data, or those of the given owners, and waits for the end.',
    )
    .argument('[owners...]', 'measure only these owners')
    .option('--verify', 'ignore all caches, and show by how much the known figures were wrong')
    .option(
      '--accept-moved',
      'accept the present state of storage roots that became another file system or lost most of their units: missing units are removed',
    )
    .addHelpText(
      'after',
      wrapped('\nExit status: 0 measured, 1 the scan was stopped or failed, or the owners have no units.'),
    )
    .action(async (owners: readonly string[], options: ScanOptions) => {
      const client = adminClient(() => configFrom(options));
      const ended = await scan(client, owners, options);
      if (options.json === true) printJson(ended);
      else print(scanSummary(ended));
      const nobodys = owners.length > 0 && ended.state === 'done' && ended.progress.units_found === 0;
      if (nobodys) tell(`softquota: ${owners.map(printable).join(', ')} has no units\n`);
      exit(ended.state === 'done' && !nobodys ? exitCodes.done : exitCodes.refused);
    });
}

async function scan(
  client: DaemonClient,
  owners: readonly string[],
  options: ScanOptions,
): Promise<ScanReport> {
  const body = {
    kind: options.verify === true ? 'verify' : 'sweep',
    accept_moved: options.acceptMoved === true,
    ...(owners.length === 0 ? {} : { owners }),
  };
  const { id } = await client.get<ScanReport>({ method: 'POST', path: '/admin/quota/scans', body });
  return followScan(client, id);
}
