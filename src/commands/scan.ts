/** `softquota scan`: measures now, with progress on standard error, and prints a summary. */

import { setTimeout as delay } from 'node:timers/promises';
import { Option } from 'commander';
import { exitCodes } from '../errors.ts';
import { counted, formatBytes, formatCount, printable } from '../text.ts';
import type { OwnerReport, ScanReport } from '../wire/index.ts';
import { apiCommand } from './api-command.ts';
import { type DaemonClient, pathStep } from './client.ts';
import { escapedLines, formatDuration, jsonText, type Texts } from './output.ts';
import { clientFrom } from './settings.ts';
import { print, tell, tellNote } from './streams.ts';

export const addScan = apiCommand<never, { verify?: boolean; acceptMoved?: boolean }>('scan [owners...]', {
  summary: 'measure now',
  description:
    'Measures all repositories and other data, or those of the given owners, and waits for the end.',
  arguments: ['measure only these owners'],
  options: [
    new Option('--verify', 'ignore all caches, and show by how much the known figures were wrong'),
    new Option(
      '--accept-moved',
      'accept the present state of storage roots that became another file system or lost most of their units, of a forge that lost most of its rows or owners, and of keys that app.ini lacks: what is missing, and units without storage, are removed',
    ),
  ],
  after:
    '\nExit status: 0 measured, 1 the scan was stopped or failed, nothing of a unit could be read, or one of the owners has no units.',
  run: async ({ verify = false, acceptMoved = false, ...options }, owners) => {
    const client = clientFrom(options);
    const body = {
      kind: verify ? 'verify' : 'sweep',
      accept_moved: acceptMoved,
      ...(owners.length === 0 ? {} : { owners }),
    };
    const { id } = await client.get<ScanReport>({ method: 'POST', path: '/admin/quota/scans', body });
    const ended = await followScan(client, id);
    print(options.json === true ? jsonText(ended) : scanSummary(ended));
    const isNone = ended.progress.units_found === 0;
    const without = ended.state !== 'done' ? [] : isNone ? owners : await ownersWithoutUnits(client, owners);
    for (const owner of without) tellNote(`${printable(owner)} has no units`);
    const isMeasured = ended.state === 'done' && without.length === 0 && ended.unmeasured === 0;
    return isMeasured ? exitCodes.done : exitCodes.refused;
  },
});

async function ownersWithoutUnits(
  client: DaemonClient,
  owners: readonly string[],
): Promise<readonly string[]> {
  const without: string[] = [];
  for (const owner of owners) {
    const { units } = await client.get<OwnerReport>({ path: `/admin/quota/usage/${pathStep(owner)}` });
    if (units.length === 0) without.push(owner);
  }
  return without;
}

/** Interval of progress lines if standard error is no terminal. */
const lineEveryMs = 10_000;

const askAgainMs = 250;

/** Waits for the end of a scan; returns its report. Rejects with `unreachable` if the daemon ends before. */
export async function followScan(client: DaemonClient, id: number): Promise<ScanReport> {
  const show = progressShower();
  for (;;) {
    const report = await client.get<ScanReport>({ path: `/admin/quota/scans/${id}` });
    const isOver = report.state !== 'waiting' && report.state !== 'running';
    show(isOver ? null : progressLine(report));
    if (isOver) return report;
    await delay(askAgainMs);
  }
}

/** Shows progress: on a terminal one line that is overwritten (null clears it), else a line now and then. */
function progressShower(): (line: string | null) => void {
  if (process.stderr.isTTY) return line => tell(`\r\u001b[K${line ?? ''}`);
  let told = performance.now();
  return line => {
    if (line === null || performance.now() - told < lineEveryMs) return;
    told = performance.now();
    tell(`${line}\n`);
  };
}

function progressLine({ state, progress }: ScanReport): string {
  if (state === 'waiting') return 'waiting for the end of an earlier scan';
  const { units, discovering, files, bytes } = progress;
  const found = `${formatCount(progress.units_found)}${discovering ? ' or more' : ''}`;
  const pace = `${formatCount(Math.round(progress.entries_per_second))} entries/s`;
  const { estimate_seconds: estimateSeconds } = progress;
  const rest = estimateSeconds === null ? '' : `, about ${formatDuration(estimateSeconds)} left`;
  return `${formatCount(units)} of ${found} units, ${counted(files, 'file', 'files')}, ${formatBytes(bytes)}, ${pace}${rest}`;
}

const endings: Readonly<Record<ScanReport['state'], string>> = {
  waiting: 'Waiting with',
  running: 'Running with',
  done: 'Measured',
  stopped: 'Stopped after',
  failed: 'Failed after',
};

/** Whole lines about what was measured, and what could not be. */
export function scanSummary(report: ScanReport): string {
  const { units, directories, files, bytes } = report.progress;
  const seconds =
    report.started_at === null || report.finished_at === null
      ? 0
      : (Date.parse(report.finished_at) - Date.parse(report.started_at)) / 1000;
  return escapedLines([
    `${endings[report.state]} ${counted(units, 'unit', 'units')}: ${counted(files, 'file', 'files')} in ${counted(directories, 'directory', 'directories')}, ${formatBytes(bytes)}, in ${formatDuration(seconds)}.`,
    report.error,
    report.drift &&
      `${counted(report.drift.units, 'unit', 'units')} had wrong figures, by ${formatBytes(report.drift.bytes)} in total.`,
    report.unmeasured > 0 &&
      `${counted(report.unmeasured, 'unit', 'units')} could not be measured at all, and 0 bytes count.`,
    problems('could not be read; its last known bytes count', report.unread),
    problems(null, report.faults),
  ]);
}

function problems(what: string | null, { first, count }: ScanReport['unread']): Texts {
  return [
    first.map(({ path, why }) => `${path}: ${what === null ? why : `${what} (${why})`}`),
    count > first.length && `… and ${formatCount(count - first.length)} more`,
  ];
}
