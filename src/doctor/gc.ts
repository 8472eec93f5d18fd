/**
 * Checks that garbage is collected: finds repositories in which gc fails or is overdue, and those in which
 * nothing starts it: neither the worker, nor git after a push, nor a scheduled program. Without gc, deleted
 * data never frees space.
 */

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { homeOf } from '../accounts.ts';
import { readIniText } from '../forge/index.ts';
import { andWorker } from '../health/index.ts';
import { configValue, encodePath, identityAt, isOfGitaly } from '../layout/index.ts';
import { counted, formatCount, printable } from '../text.ts';
import { asUser, type HostContext, type Installation, type Report, setKey, worker } from './installation.ts';
import { beginningOf, entriesIn, filesBelow } from './paths.ts';
import type { Repository } from './repositories.ts';

/** git's defaults of gc.auto and gc.autoPackLimit; git estimates by one of 256 directories. */
const mostLoose = 6700;
const mostPacks = 50;
const sampled = 'objects/17';

export function checkGc(report: Report, context: HostContext, repositories: readonly Repository[]): void {
  const lent = lentBy(repositories);
  for (const { path, user } of repositories) {
    // gc would ignore Gitaly's locks, and delete what only a borrower still needs.
    if (isOfGitaly(path) || lent.has(identityAt(`${path}/objects`))) continue;
    const collect = asUser(context, user.uid, 'git', '-C', path, 'gc', '--quiet');
    const loose = namesIn(`${path}/${sampled}`, /^[0-9a-f]+$/) * 256;
    const packs = namesIn(`${path}/objects/pack`, /\.pack$/) - namesIn(`${path}/objects/pack`, /\.keep$/);
    if (existsSync(encodePath(`${path}/gc.log`))) {
      const message = `${printable(path)}: the last automatic gc failed (gc.log says why), and git runs no other until the error is fixed`;
      report.found('gc_failing', message, collect);
    } else if (loose > mostLoose)
      report.found('gc_missing', `${printable(path)}: about ${formatCount(loose)} loose objects`, collect);
    else if (packs > mostPacks) report.found('gc_missing', `${printable(path)}: ${packs} packs`, collect);
  }
  report.checked.push('their gc');
}

/** Identities of the directories of objects from which repositories borrow. */
function lentBy(repositories: readonly Repository[]): ReadonlySet<string | null> {
  const lent = new Set<string | null>();
  for (const { path } of repositories) {
    const objects = `${path}/objects`;
    const lines = beginningOf(`${objects}/info/alternates`, { mostBytes }).split('\n');
    for (const line of lines) if (line !== '') lent.add(identityAt(resolve(objects, line)));
  }
  return lent;
}

function namesIn(path: string, pattern: RegExp): number {
  return [...entriesIn(path).keys()].filter(name => pattern.test(name)).length;
}

/** Files and directories of this host with settings of git, and with scheduled programs. */
interface CollectionPlaces {
  readonly systemConfig: string;
  readonly homeOf: (uid: number) => string | null;
  readonly schedules: readonly string[];
}

const usualPlaces: CollectionPlaces = {
  systemConfig: '/etc/gitconfig',
  homeOf,
  schedules: [
    '/etc/crontab',
    '/etc/cron.d',
    '/etc/cron.hourly',
    '/etc/cron.daily',
    '/etc/cron.weekly',
    '/etc/cron.monthly',
    '/var/spool/cron/crontabs',
    '/var/spool/cron',
    '/etc/systemd/system',
  ],
};

const mostScheduled = 1000;
const mostBytes = 1024 * 1024;

export function checkCollection(
  report: Report,
  installation: Pick<Installation, 'loaded'>,
  repositories: readonly Repository[],
  places: CollectionPlaces = usualPlaces,
): void {
  const { reclaim, forge } = installation.loaded.config;
  // GitLab collects garbage itself; the daemon reports a missing worker.
  if (reclaim.run === 'gc' || forge?.kind === 'gitlab') return;
  const found = repositories.flatMap(repository => {
    const switchedOff = whereSwitchedOff(repository, places);
    return switchedOff === null ? [] : [{ repository, switchedOff }];
  });
  if (found.length === 0 || (forge !== null && collectsByCron(forge.configFile)) || isScheduled(places))
    return;
  const { file } = installation.loaded.config;
  const set = setKey(installation, 'reclaim', 'RUN', 'gc', 'restart');
  const mend = andWorker(set, worker(file, 'systemctl restart softquota-worker'));
  for (const [cause, [first, ...others]] of Map.groupBy(found, ({ switchedOff }) => switchedOff)) {
    const path = printable(first?.repository.path ?? '');
    const more = counted(others.length, 'other repository', 'other repositories');
    const where = others.length === 0 ? path : `${path} and ${more}`;
    const message = `${where}: nothing collects garbage, so what is deleted is never freed: ${printable(cause)}, and no worker does it`;
    report.found('gc_missing', message, mend);
  }
}

/** The setting that keeps git from collecting garbage after a push; null if there is none. */
function whereSwitchedOff({ path, user }: Repository, places: CollectionPlaces): string | null {
  const home = places.homeOf(user.uid);
  const files = [
    `${path}/config`,
    ...(home === null ? [] : [join(home, '.gitconfig'), join(home, '.config/git/config')]),
    places.systemConfig,
  ];
  for (const [key, isOff] of [
    ['receive.autogc', (value: string) => /^(?:false|no|off|0+)$/i.test(value)],
    ['gc.auto', (value: string) => /^(?:-\d+|0+)$/.test(value)],
  ] as const) {
    for (const file of files) {
      const said = configValue(beginningOf(file, { mostBytes }), key);
      if (said.found === 'nothing' || said.found === 'fault') continue;
      if (said.found === 'value' && isOff(said.value)) return `${file} has ${key} = ${said.value}`;
      break;
    }
  }
  return null;
}

function collectsByCron(file: string | null): boolean {
  if (file === null) return false;
  const written = readIniText(beginningOf(file, { mostBytes }));
  return written('cron.git_gc_repos', 'ENABLED')?.toLowerCase() === 'true';
}

function isScheduled({ schedules }: CollectionPlaces): boolean {
  const files = schedules.flatMap(place => [place, ...filesBelow(place, 0)]);
  return files
    .slice(0, mostScheduled)
    .some(file => beginningOf(file, { mostBytes }).split('\n').some(collects));
}

function collects(line: string): boolean {
  if (line.trimStart().startsWith('#')) return false;
  const words = line.split(/\W+/);
  return words.includes('git') && ['gc', 'maintenance', 'repack'].some(word => words.includes(word));
}
