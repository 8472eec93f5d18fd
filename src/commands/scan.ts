/** `softquota scan`: measure now, and watch it. */

import type { Command } from 'commander';
import { exitCodes } from '../errors.ts';
import { printable } from '../text/index.ts';
import type { ScanReport } from '../wire/index.ts';
import type { DaemonClient } from './client.ts';
import { printJson } from './output.ts';
import { followScan, scanSummary } from './progress.ts';
import { type CommonOptions, clientFrom, type Exit, withCommonOptions, wrapped } from './settings.ts';
import { print, tellNote } from './streams.ts';

interface ScanOptions extends CommonOptions {
  readonly verify?: boolean;
  readonly acceptMoved?: boolean;
}

export function addScan(program: Command, exit: Exit): void {
  withCommonOptions(program.command('scan'))
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
      const client = clientFrom(options);
      const ended = await scan(client, owners, options);
      if (options.json === true) printJson(ended);
      else print(scanSummary(ended));
      const nobodys = owners.length > 0 && ended.state === 'done' && ended.progress.units_found === 0;
      if (nobodys) tellNote(`${owners.map(printable).join(', ')} has no units`);
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
