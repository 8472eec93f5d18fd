/** `softquota scan`: measure now, and watch it. */

import type { Command } from 'commander';
import { exitCodes, SoftquotaError } from '../errors.ts';
import { formatBytes, printable } from '../quota/index.ts';
import { type ScanReport, scanReport } from '../wire/index.ts';
import { adminClient, type Client } from './client.ts';
import type { Exit } from './exit.ts';
import { formatCount, formatDuration, print, printJson } from './output.ts';
import { type ConfigOption, configFrom, withConfigOption, withJsonOption } from './settings.ts';

interface ScanOptions extends ConfigOption {
  readonly verify?: boolean;
  readonly acceptMoved?: boolean;
  readonly json?: boolean;
}

/** Between two lines of progress where they are kept, as in a log. */
const lineEveryMs = 10_000;

export function addScan(program: Command, exit: Exit): void {
  withJsonOption(withConfigOption(program.command('scan')))
    .summary('measure now')
    .description('Measures everything, or what the given owners have, and waits for the end.')
    .argument('[owners...]', 'only these owners')
    .option('--verify', 'trust nothing remembered, and tell how far the figures were off')
    .option(
      '--accept-moved',
      'take storage roots that are missing or became another file system as they are now, and forget what was on the old ones',
    )
    .addHelpText(
      'after',
      '\nExit status: 0 measured, 1 it was stopped or failed, or the owners have nothing.',
    )
    .action(async (owners: readonly string[], options: ScanOptions) => {
      const client = adminClient(() => configFrom(options));
      const ended = await scan(client, owners, options);
      if (options.json === true) printJson(ended);
      else print(summary(ended));
      const nobodys = owners.length > 0 && ended.state === 'done' && ended.progress.unitsFound === 0;
      if (nobodys)
        process.stderr.write(`softquota: no unit of ${owners.map(printable).join(', ')} is there\n`);
      exit(ended.state === 'done' && !nobodys ? exitCodes.done : exitCodes.refused);
    });
}

async function scan(client: Client, owners: readonly string[], options: ScanOptions): Promise<ScanReport> {
  const body = {
    kind: options.verify === true ? 'verify' : 'sweep',
    accept_moved: options.acceptMoved === true,
    ...(owners.length === 0 ? {} : { owners }),
  };
  const { id } = scanReport.parse(await client.get({ method: 'POST', path: '/admin/quota/scans', body }));
  const show = progressShower();
  for await (const event of client.events('/admin/quota/scans/events')) {
    const report = scanReport.parse(event);
    if (report.id !== id) continue;
    const over = report.state !== 'waiting' && report.state !== 'running';
    show(over ? null : progressLine(report));
    if (over) return report;
  }
  throw new SoftquotaError('unreachable', 'the daemon ended before the scan did');
}

/** One line that is written over and over on a terminal, a line now and then elsewhere; null takes it away. */
function progressShower(): (line: string | null) => void {
  if (process.stderr.isTTY) return line => process.stderr.write(`\r\u001b[K${line ?? ''}`);
  let told = performance.now();
  return line => {
    if (line === null || performance.now() - told < lineEveryMs) return;
    told = performance.now();
    process.stderr.write(`${line}\n`);
  };
}

function progressLine({ state, progress }: ScanReport): string {
  if (state === 'waiting') return 'waiting for the scan before it to end';
  const { units, unitsFound, discovering, files, bytes, entriesPerSecond, estimateSeconds } = progress;
  const rest = estimateSeconds === null ? '' : `, about ${formatDuration(estimateSeconds)} left`;
  return `${formatCount(units)} of ${formatCount(unitsFound)}${discovering ? ' or more' : ''} units, ${formatCount(files)} files, ${formatBytes(bytes)}, ${formatCount(Math.round(entriesPerSecond))} entries/s${rest}`;
}

const endings: Readonly<Record<ScanReport['state'], string>> = {
  waiting: 'Waiting with',
  running: 'Running with',
  done: 'Measured',
  stopped: 'Stopped after',
  failed: 'Failed after',
};

function summary(report: ScanReport): string {
  const { units, directories, files, bytes } = report.progress;
  const seconds =
    report.startedAt === null || report.finishedAt === null
      ? 0
      : (Date.parse(report.finishedAt) - Date.parse(report.startedAt)) / 1000;
  const lines = [
    `${endings[report.state]} ${formatCount(units)} units: ${formatCount(files)} files in ${formatCount(directories)} directories, ${formatBytes(bytes)}, in ${formatDuration(seconds)}.`,
    ...(report.error === null ? [] : [report.error]),
    ...(report.drift === null
      ? []
      : [
          `${formatCount(report.drift.units)} units were off, by ${formatBytes(report.drift.bytes)} together.`,
        ]),
    ...problems('could not be read, and counts as last known', report.unread),
    ...problems(null, report.faults),
  ];
  return `${lines.map(printable).join('\n')}\n`;
}

function problems(what: string | null, { first, count }: ScanReport['unread']): string[] {
  const lines = first.map(({ path, why }) => `${path}: ${what === null ? why : `${what} (${why})`}`);
  return count > first.length ? [...lines, `… and ${formatCount(count - first.length)} more`] : lines;
}
