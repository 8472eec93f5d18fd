/**
 * Runs all checks in order, as far as each is possible. If disks do not answer, findings name them, and what
 * was not checked.
 */

import { hooksStatus } from '../git/index.ts';
import { commandLine, listed, makeFinding, unfollowedLink } from '../health/index.ts';
import { notFollowed } from '../layout/index.ts';
import { printable } from '../text.ts';
import type { Finding } from '../wire/index.ts';
import { checkConfigFiles, checkDaemon, checkFaults, checkGate, checkSockets, checkSpace } from './daemon.ts';
import { checkForge } from './forge.ts';
import { checkCollection, checkGc } from './gc.ts';
import { checkGitSetup, checkPrograms, checkSignedPushes } from './git-setup.ts';
import { checkHooks } from './hooks.ts';
import { type HostContext, type Installation, type Loaded, Report, softquota } from './installation.ts';
import {
  checkCluster,
  checkInnerRepositories,
  checkUnmanaged,
  lookForRepositories,
  type Repositories,
} from './repositories.ts';
import { checkReachability } from './rights.ts';

/** The findings that are wrong come first. */
export interface Examination {
  readonly findings: readonly Finding[];
  readonly checked: readonly string[];
}

/** Runs all checks. Changes nothing, and asks nobody but this host and its daemon. */
export async function examine({ loaded, clients, context }: Loaded): Promise<Examination> {
  const report = new Report();
  checkFaults(report, { loaded, context });
  await checkPrograms(report, loaded.ok ? loaded.config.reclaim.gits : ['git']);
  if (loaded.ok) await checkInstalled(report, { loaded, ...clients(loaded), context });
  const missed = report.missed.join('; ');
  const message = `uid ${context.uid} has no permission to check everything; not checked: ${missed}`;
  if (missed !== '') report.found('not_looked', message, `sudo ${softquota(context, 'doctor')}`);
  const isNotice = ({ severity }: Finding): number => Number(severity === 'notice');
  return {
    findings: report.findings.toSorted((a, b) => isNotice(a) - isNotice(b)),
    checked: report.checked,
  };
}

async function checkInstalled(report: Report, installation: Installation): Promise<void> {
  const { loaded } = installation;
  const [daemon, gate, disks] = [new Report(), new Report(), new Report()];
  const [isHeard] = await Promise.all([checkDaemon(daemon, installation), checkGate(gate, installation)]);
  checkConfigFiles(report, loaded);
  report.add(daemon);
  report.add(gate);
  await checkForge(report, installation, isHeard);
  checkSockets(report, installation);
  checkSpace(report, installation);
  await checkDisks(disks, installation, isHeard);
  const kinds = [...Map.groupBy(disks.findings.splice(0), ({ code }) => code).values()];
  for (const first of kinds) disks.findings.push(...listed({ first, count: first.length }, found => found));
  report.add(disks);
}

/** `isHeard`: the daemon has reported its own findings, those about storage among them. */
async function checkDisks(report: Report, installation: Installation, isHeard: boolean): Promise<void> {
  const { loaded, context } = installation;
  const repositories = lookForRepositories(loaded.config);
  const { close } = repositories;
  const statuses = await hooksStatus(close.map(({ path }) => path));
  if (!isHeard) checkRoots(report, context, repositories);
  const run = await checkHooks(report, installation, repositories, statuses);
  checkInnerRepositories(report, context, close);
  await checkReachability(report, installation, close, run);
  const users = close.map(({ user }) => user);
  await checkGitSetup(report, context, users);
  checkUnmanaged(report, installation, repositories);
  checkCluster(report, installation, repositories);
  // The cause comes first: of many findings of a kind, the first are named.
  checkCollection(report, installation, close);
  checkGc(report, context, close);
  await checkSignedPushes(report, context, close, statuses);
}

/** Finds what a running daemon would report about the storage. */
function checkRoots(report: Report, { uid }: HostContext, { roots, unread }: Repositories): void {
  const away = roots.filter(({ state }) => state !== 'present' && state !== 'unreadable');
  const below = unread.filter(({ path }) => !away.some(root => root.path === path));
  const places = below.filter(({ error }) => error !== notFollowed);
  for (const { path, state } of away)
    report.found('root_away', `storage root ${printable(path)}: ${state}`, 'mount it');
  for (const { path, error } of below) if (error === notFollowed) report.findings.push(unfollowedLink(path));
  if (roots.length === 0) {
    const message = 'no storage is configured, so nothing is measured';
    report.found('no_storage', message, 'set [storage.repos] PATH in app.ini');
  }
  for (const { path, error } of uid === 0 ? places : [])
    report.found('unread', `${printable(path)}: ${error}`, `find out why: ${commandLine('ls', '-la', path)}`);
  const [first] = places;
  if (uid !== 0 && first !== undefined) report.missed.push(`${printable(first.path)} and similar paths`);
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
    // A status of 0 would be taken for an installation without problems.
    return { ...makeFinding('not_looked', message, 'run doctor again'), severity: 'wrong' };
  }
  const message = 'nothing else was checked, because doctor had to wait for the disk';
  return makeFinding('not_looked', message, 'fix this first, then run doctor again');
}
