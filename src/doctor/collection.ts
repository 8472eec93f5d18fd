/**
 * Tells where nothing collects garbage: neither the worker, nor git by itself after a push, nor a program
 * that runs from time to time. There, what was deleted is never freed.
 */

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { homeOf } from '../accounts.ts';
import { makeFinding } from '../health/index.ts';
import { configValue } from '../layout/index.ts';
import { counted, printable } from '../text/index.ts';
import type { Finding } from '../wire/index.ts';
import type { CheckResult } from './check-result.ts';
import type { Installation } from './installation.ts';
import { setKey } from './mend.ts';
import { beginningOf } from './paths.ts';
import type { Repository } from './repositories.ts';

/** Files and directories of this host that say what git does there, and what runs from time to time. */
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
  installation: Pick<Installation, 'loaded'>,
  repositories: readonly Repository[],
  places: CollectionPlaces = usualPlaces,
): CheckResult {
  const { reclaim, forge } = installation.loaded.config;
  // GitLab does it itself; of a worker that is away the daemon tells.
  if (reclaim.run === 'gc' || forge?.kind === 'gitlab') return { findings: [] };
  const found = repositories.flatMap(repository => {
    const switchedOff = whereSwitchedOff(repository, places);
    return switchedOff === null ? [] : [{ repository, switchedOff }];
  });
  if (found.length === 0 || (forge !== null && collectsByCron(forge.configFile)) || isScheduled(places)) {
    return { findings: [] };
  }
  const mend = setKey(installation, 'reclaim', 'RUN', 'gc', 'restart');
  const causes = Map.groupBy(found, ({ switchedOff }) => switchedOff);
  return {
    findings: [...causes].map(([cause, [first, ...others]]): Finding => {
      const path = printable(first?.repository.path ?? '');
      const where =
        others.length === 0
          ? path
          : `${path} and ${counted(others.length, 'other repository', 'other repositories')}`;
      const message = `${where}: nothing collects garbage, so what is deleted is never freed: ${printable(cause)}, and no worker does it`;
      return makeFinding('gc_missing', message, mend);
    }),
  };
}

/** The setting with which git collects nothing by itself after a push; null: it does. */
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

/** Tells whether the forge's own app.ini has it run git's garbage collection. */
function collectsByCron(file: string | null): boolean {
  if (file === null) return false;
  let section = '';
  return beginningOf(file, { mostBytes })
    .split('\n')
    .some(line => {
      const text = line.trim().toLowerCase();
      if (text.startsWith('[')) section = text;
      return section === '[cron.git_gc_repos]' && text.replaceAll(/[ \t]/g, '') === 'enabled=true';
    });
}

/** Tells whether something that runs from time to time names git's gc or its maintenance. */
function isScheduled({ schedules }: CollectionPlaces): boolean {
  const files = schedules.flatMap(place => [place, ...namesIn(place).map(name => join(place, name))]);
  return files
    .slice(0, mostScheduled)
    .some(file => beginningOf(file, { mostBytes }).split('\n').some(collects));
}

function collects(line: string): boolean {
  if (line.trimStart().startsWith('#')) return false;
  const words = line.split(/\W+/);
  return words.includes('git') && ['gc', 'maintenance', 'repack'].some(word => words.includes(word));
}

function namesIn(place: string): readonly string[] {
  try {
    return readdirSync(place).sort();
  } catch {
    return []; // a file, or nothing, or not for this user
  }
}
