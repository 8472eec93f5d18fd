/**
 * `softquota doctor` finds the problems of this installation, each with its fix. `softquota` without a
 * command prints a few lines: owners over and near a limit, disks, the worker, and problems.
 */

import { loadConfig } from '../config/index.ts';
import type { Examination } from '../doctor/index.ts';
import { exitCodes } from '../errors.ts';
import { given } from '../given.ts';
import { counted, formatBytes, formatCount, formatUse } from '../text.ts';
import type { Finding, Overview, OwnerRow } from '../wire/index.ts';
import { apiCommand } from './api-command.ts';
import { type DaemonClient, gateClient, isByUrl, localAdminClient, withQuery } from './client.ts';
import { runJob } from './job.ts';
import type { Texts } from './output.ts';
import { type ConfigOption, clientFrom, whereIs } from './settings.ts';

const addDoctor = apiCommand<Examination>('doctor', {
  summary: 'find problems of this installation',
  description:
    'Checks everything that a push needs, and shows each problem with its fix: you can run the command below a ' +
    'problem as it is. Run doctor as root, so that it can check everything. If a disk does not answer, ' +
    'doctor names it and checks everything else.',
  after:
    '\nExit status: 0 no problems (there may be notices), 1 problems found. docs/doctor.md explains every code.',
  find: options => examined(options),
  json: ({ findings }) => findings,
  text: examinationText,
  status: ({ findings }) =>
    findings.some(({ severity }) => severity === 'wrong') ? exitCodes.refused : exitCodes.done,
});

function examinationText({ findings, checked }: Examination): string {
  const told = findings.map(
    ({ code, severity, message, mend }) =>
      `${severity} (${code}): ${message}\n${mend === '' ? '' : `    ${mend}\n`}`,
  );
  if (findings.some(({ severity }) => severity === 'wrong')) return told.join('');
  const looked = checked.map(line => `    ${line}\n`);
  const isPart = findings.some(({ code }) => code === 'not_looked');
  const verdict = isPart ? 'No problems found in what this user may look at.' : 'No problems found.';
  return [...told, `${verdict}\nChecked:\n`, ...looked].join('');
}

/** Examines in a process of its own, with the default time limit unless one is given. */
async function examined({ config }: ConfigOption, mostMs?: number): Promise<Examination> {
  const { withHangs } = await import('../doctor/index.ts');
  return withHangs(await runJob<Examination>({ job: 'doctor', options: given({ config }) }, mostMs));
}

/** Does the work of `softquota doctor`, in a process of its own. */
export async function examination(options: ConfigOption): Promise<Examination> {
  const { examine } = await import('../doctor/index.ts');
  const where = whereIs(options);
  return examine({
    loaded: loadConfig(where),
    clients: ({ config }) => ({
      // All else is looked at on this host, too.
      admin: path => localAdminClient(config).ask({ path }),
      gate: path => gateClient(config).ask({ path }),
    }),
    context: { uid: where.uid, configOption: options.config ?? null },
  });
}

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

const addState = apiCommand<State>(null, {
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
  text: linesOf,
});

function fullest(client: DaemonClient, state: string): Promise<readonly OwnerRow[]> {
  const query = { state, sort: 'percent', order: 'desc', limit: String(mostNamed) };
  return client.get<readonly OwnerRow[]>({ path: withQuery('/admin/quota/usage', query) });
}

/** The findings of doctor; for a daemon on another host, only those of the daemon itself. */
async function problems(client: DaemonClient, options: ConfigOption): Promise<readonly Finding[]> {
  if (isByUrl()) return client.get<readonly Finding[]>({ path: '/admin/quota/findings' });
  return (await examined(options, doctorMs)).findings;
}

function linesOf({ disks, findings, near, over, owners, ...state }: State): readonly Texts[] {
  const line = (title: string, words: string) => `${title.padEnd(10)}${words}`;
  const requests = state.open_requests;
  return [
    line('owners', `${formatCount(owners.total)}${inForce(state)}`),
    line('over', named(over, owners.over + owners.grace)),
    line('near', named(near, owners.near)),
    requests > 0 && line('requests', `${formatCount(requests)} open: softquota request list`),
    disksShown(disks).map(words => line('disk', words)),
    line('worker', state.worker.running ? 'running' : 'not running'),
    line('doctor', verdict(findings)),
  ];
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

function disksShown(disks: Overview['disks']): readonly string[] {
  // Disks with problems come first.
  const sorted = disks.toSorted((a, b) => Number(a.state === 'ok') - Number(b.state === 'ok'));
  return sorted.slice(0, mostDisks).map((disk, at) => {
    const more = at + 1 === mostDisks && disks.length > mostDisks ? `; ${disks.length - mostDisks} more` : '';
    return `${diskWords(disk)}${more}`;
  });
}

function diskWords({ path, size, free, state }: Overview['disks'][number]): string {
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

export const doctorCommands = { doctor: addDoctor, state: addState };
