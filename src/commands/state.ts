/** `softquota` without a command: prints owners over and near a limit, disks, the worker, and problems. */

import type { Examination } from '../doctor/index.ts';
import { given } from '../given.ts';
import { counted, formatBytes, formatCount, formatUse } from '../text.ts';
import type { Disk, Finding, Overview, OwnerRow } from '../wire/index.ts';
import { apiCommand } from './api-command.ts';
import { type DaemonClient, withQuery } from './client.ts';
import { runJob } from './job.ts';
import { type ConfigOption, clientFrom } from './settings.ts';

type Figures = Pick<Overview, 'disks' | 'enabled' | 'mode' | 'open_requests' | 'owners' | 'worker'>;

interface State extends Figures {
  /** The fullest owners over a limit, also in their grace. */
  readonly over: readonly OwnerRow[];
  readonly near: readonly OwnerRow[];
  readonly findings: readonly Finding[];
}

const mostNamed = 5;
const mostDisks = 3;
const doctorMs = 15_000;

export const addState = apiCommand<State>(null, {
  summary: 'print the state',
  config: null,
  find: async options => {
    const client = clientFrom(options);
    const [overview, over, near] = await Promise.all([
      client.get<Overview>({ path: '/admin/quota/overview' }),
      fullest(client, 'over,grace'),
      fullest(client, 'near'),
    ]);
    const { disks, enabled, mode, open_requests, owners, worker } = overview;
    const findings = await problems(client, options);
    return { mode, enabled, owners, over, near, open_requests, disks, worker, findings };
  },
  text: state => linesOf(state).map(([title, words]) => `${title.padEnd(10)}${words}`),
});

function fullest(client: DaemonClient, state: string): Promise<readonly OwnerRow[]> {
  const query = { state, sort: 'percent', order: 'desc', limit: String(mostNamed) };
  return client.get<readonly OwnerRow[]>({ path: withQuery('/admin/quota/usage', query) });
}

/** The findings of doctor; for a daemon on another host, only those of the daemon itself. */
async function problems(client: DaemonClient, { config }: ConfigOption): Promise<readonly Finding[]> {
  if ((process.env.SOFTQUOTA_URL ?? '') !== '')
    return client.get<readonly Finding[]>({ path: '/admin/quota/findings' });
  const { withHangs } = await import('../doctor/index.ts');
  const outcome = await runJob<Examination>({ job: 'doctor', options: given({ config }) }, doctorMs);
  return withHangs(outcome).findings;
}

function linesOf({ disks, findings, near, over, owners, ...state }: State) {
  const requests = state.open_requests;
  const lines: (readonly [title: string, words: string])[] = [
    ['owners', `${formatCount(owners.total)}${inForce(state)}`],
    ['over', named(over, owners.over + owners.grace)],
    ['near', named(near, owners.near)],
    ...(requests > 0 ? [['requests', `${formatCount(requests)} open: softquota request list`] as const] : []),
    ...diskLines(disks),
    ['worker', state.worker.running ? 'running' : 'not running'],
    ['doctor', verdict(findings)],
  ];
  return lines;
}

function inForce({ enabled, mode }: Pick<State, 'enabled' | 'mode'>): string {
  if (!enabled) return '; quotas are switched off, so nothing is refused';
  return mode === 'report' ? '; report mode: nothing is refused' : '';
}

function named(rows: readonly OwnerRow[], count: number): string {
  if (count === 0) return 'nobody';
  const more = count - rows.length;
  const names = rows.map(nameAndPercent).join(', ');
  return more > 0 ? `${names} and ${formatCount(more)} more` : names;
}

function nameAndPercent({ name, used, limit }: OwnerRow): string {
  const percent = used === null || limit === null ? '-' : formatUse(used, limit).percent;
  return percent === '-' ? name : `${name} (${percent})`;
}

function diskLines(disks: readonly Disk[]) {
  // Disks with problems come first.
  const sorted = disks.toSorted((a, b) => Number(a.state === 'ok') - Number(b.state === 'ok'));
  return sorted.slice(0, mostDisks).map((disk, at) => {
    const more = at + 1 === mostDisks && disks.length > mostDisks ? `; ${disks.length - mostDisks} more` : '';
    return ['disk', `${diskWords(disk)}${more}`] as const;
  });
}

function diskWords({ path, size, free, state }: Disk): string {
  if (size === null || free === null) return `${path}: did not answer`;
  const effect = { full: ', and what grows there is refused', low: ', less than twice MIN_FREE', ok: '' };
  return `${path}: ${formatBytes(free)} free of ${formatBytes(size)}${effect[state]}`;
}

function verdict(findings: readonly Finding[]): string {
  const wrong = findings.filter(({ severity }) => severity === 'wrong');
  const notices = counted(findings.length - wrong.length, 'notice', 'notices');
  const [worst] = wrong;
  if (findings.some(({ code }) => code === 'not_looked'))
    return `${counted(wrong.length, 'problem', 'problems')}, and not everything was looked at; run softquota doctor`;
  if (worst === undefined) return findings.length === 0 ? 'no problems' : `no problems, ${notices}`;
  const codes = [...new Set(wrong.map(({ code }) => code))].slice(0, mostNamed).join(', ');
  return `${counted(wrong.length, 'problem', 'problems')} (${codes}); softquota doctor shows how to fix them`;
}
