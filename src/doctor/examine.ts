/**
 * Runs all checks in order, as far as each is possible. If disks do not answer, findings name them, and what
 * was not checked.
 */

import { hooksStatus } from '../git/index.ts';
import { commandLine, listed, makeFinding, unfollowedLink } from '../health/index.ts';
import { notFollowed } from '../layout/index.ts';
import { printable } from '../text.ts';
import type { Finding } from '../wire/index.ts';
import { checkCluster } from './cluster.ts';
import { checkDaemon, checkGate, checkSpace } from './daemon.ts';
import { checkConfigFiles, checkFaults, checkSockets } from './exposure.ts';
import { checkForge } from './forge.ts';
import { checkCollection, checkGc } from './gc.ts';
import { checkGitSetup, checkPrograms, checkSignedPushes } from './git-setup.ts';
import { checkHooks } from './hooks.ts';
import {
  type CheckResult,
  type HostContext,
  type Installation,
  type Loaded,
  softquota,
  together,
} from './installation.ts';
import {
  checkInnerRepositories,
  checkUnmanaged,
  lookForRepositories,
  type Repositories,
} from './repositories.ts';
import { checkReachability } from './rights.ts';

/** The findings that are wrong come first. */
export type Examination = Required<Omit<CheckResult, 'missed'>>;

/** Runs all checks. Changes nothing, and asks nobody but this host and its daemon. */
export async function examine({ loaded, clients, context }: Loaded): Promise<Examination> {
  const looked = together([
    checkFaults(loaded),
    await checkPrograms(loaded.ok ? loaded.config.reclaim.gits : ['git']),
    ...(loaded.ok ? await installed({ loaded, ...clients(loaded), context }) : []),
  ]);
  const { findings, checked } = looked;
  const missed = looked.missed.join('; ');
  const message = `uid ${context.uid} has no permission to check everything; not checked: ${missed}`;
  const mend = `sudo ${softquota(context, 'doctor')}`;
  const all = [...findings, ...(missed === '' ? [] : [makeFinding('not_looked', message, mend)])];
  const isWrong = ({ severity }: Finding): boolean => severity === 'wrong';
  return { findings: [...all.filter(isWrong), ...all.filter(found => !isWrong(found))], checked };
}

async function installed(installation: Installation): Promise<readonly CheckResult[]> {
  const { loaded } = installation;
  const [daemon, gate] = await Promise.all([checkDaemon(installation), checkGate(installation)]);
  return [
    checkConfigFiles(loaded),
    daemon,
    gate,
    await checkForge(installation, daemon.heard),
    checkSockets(installation),
    checkSpace(installation),
    ...(await onDisk(installation, daemon.heard)).map(looked => {
      const kinds = [...Map.groupBy(looked.findings, ({ code }) => code).values()];
      const capped = kinds.map(first => listed({ first, count: first.length }, found => found));
      return { ...looked, findings: capped.flat() };
    }),
  ];
}

/** `heard`: the daemon has reported its own findings, those about storage among them. */
async function onDisk(installation: Installation, heard: boolean): Promise<readonly CheckResult[]> {
  const { loaded, context } = installation;
  const repositories = lookForRepositories(loaded.config);
  const { close } = repositories;
  const statuses = await hooksStatus(close.map(({ path }) => path));
  const hooks = await checkHooks(installation, repositories, statuses);
  return [
    ...(heard ? [] : [checkRoots(context, repositories)]),
    hooks,
    checkInnerRepositories(context, close),
    await checkReachability(installation, close, hooks.run),
    await checkGitSetup(
      context,
      close.map(({ user }) => user),
    ),
    checkUnmanaged(installation, repositories),
    checkCluster(installation, repositories),
    checkGc(context, close),
    checkCollection(installation, close),
    await checkSignedPushes(context, close, statuses),
  ];
}

/** Findings about the storage that a running daemon would report. */
function checkRoots({ uid }: HostContext, { roots, unread }: Repositories): CheckResult {
  const away = roots.filter(({ state }) => state !== 'present' && state !== 'unreadable');
  const below = unread.filter(({ path }) => !away.some(root => root.path === path));
  const links = below.filter(({ error }) => error === notFollowed);
  const places = below.filter(({ error }) => error !== notFollowed);
  const findings = away.map(({ path, state }) =>
    makeFinding('root_away', `storage root ${printable(path)}: ${state}`, 'mount it'),
  );
  findings.push(...listed({ first: links, count: links.length }, ({ path }) => unfollowedLink(path)));
  if (roots.length === 0) {
    const message = 'no storage is configured, so nothing is measured';
    findings.push(makeFinding('no_storage', message, 'set [storage.repos] PATH in app.ini'));
  }
  if (uid !== 0)
    return { findings, missed: places.slice(0, 1).map(({ path }) => `${printable(path)} and similar paths`) };
  for (const { path, error } of places) {
    const mend = `find out why: ${commandLine('ls', '-la', path)}`;
    findings.push(makeFinding('unread', `${printable(path)}: ${error}`, mend));
  }
  return { findings };
}

/** Adds findings about disks that do not answer. `result` null: the examination did not end in time. */
export function withHangs({
  result,
  hangs,
}: {
  readonly result: Examination | null;
  readonly hangs: readonly string[];
}): Examination {
  if (result === null) return { findings: [...added(hangs, []), endedEarly(hangs)], checked: [] };
  return { ...result, findings: [...added(hangs, result.findings), ...result.findings] };
}

/** Findings about these mounts, except those that the daemon has reported already. */
function added(mounts: readonly string[], findings: readonly Finding[]): Finding[] {
  const told = findings.filter(({ code }) => code === 'disk_hangs');
  return mounts
    .filter(mount => !told.some(({ message }) => message.includes(printable(mount))))
    .map(mount => {
      const message = `the disk at ${printable(mount)} does not answer, so nothing on it was checked`;
      const mend = `find its server: ${commandLine('findmnt', '--mountpoint', mount)}`;
      return makeFinding('disk_hangs', message, mend);
    });
}

function endedEarly(mounts: readonly string[]): Finding {
  if (mounts.length === 0) {
    const message = 'nothing was checked: doctor did not finish in time';
    return makeFinding('not_looked', message, 'run doctor again');
  }
  const message = 'nothing else was checked, because doctor had to wait for the disk';
  return makeFinding('not_looked', message, 'fix this first, then run doctor again');
}
