/** All checks in their order, as far as each of them can be made. */

import { hooksStatus } from '../git/index.ts';
import { commandLine, listed, makeFinding } from '../health/index.ts';
import { printable } from '../text/index.ts';
import type { Finding } from '../wire/index.ts';
import { type CheckResult, together } from './check-result.ts';
import { checkCollection } from './collection.ts';
import { checkConfigFiles, checkFaults } from './configuration.ts';
import { checkDaemon, checkGate } from './daemon.ts';
import { checkForge } from './forge.ts';
import { checkGc } from './gc.ts';
import { checkGitSetup } from './git-setup.ts';
import { checkHooks } from './hooks.ts';
import { checkInnerRepositories } from './inner-repositories.ts';
import type { HostContext, Installation, Loaded } from './installation.ts';
import { softquota } from './mend.ts';
import { checkPrograms } from './programs.ts';
import { checkReachability } from './reachability.ts';
import { lookForRepositories, type Repositories } from './repositories.ts';
import { checkSignedPushes } from './signed-pushes.ts';
import { checkSockets } from './sockets.ts';
import { checkSpace } from './space.ts';
import { checkUnmanaged } from './unmanaged.ts';

export interface Examination {
  /** The findings; those that are wrong come first. */
  readonly findings: readonly Finding[];
  /** The things that were looked at. */
  readonly checked: readonly string[];
}

/** Changes nothing, and asks nothing but what is on this host and its daemon. */
export async function examine({ loaded, clients, context }: Loaded): Promise<Examination> {
  const looked = together([
    checkFaults(loaded),
    await checkPrograms(),
    ...(loaded.ok ? await installed({ loaded, ...clients(loaded), context }) : []),
  ]);
  const { findings, checked } = looked;
  const all = [...findings, ...notLooked(context, looked.missed)];
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
    ...(await onDisk(installation, daemon.heard)).map(looked => ({
      ...looked,
      findings: capped(looked.findings),
    })),
  ];
}

function capped(findings: readonly Finding[]): readonly Finding[] {
  const kinds = Map.groupBy(findings, ({ code }) => code);
  return [...kinds.values()].flatMap(first => listed({ first, count: first.length }, found => found));
}

/** `heard`: whether the daemon tells by itself of its storage. */
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
    checkGc(context, close),
    checkCollection(installation, close),
    await checkSignedPushes(context, close, statuses),
  ];
}

/** Findings about the storage that the daemon would tell, while none is there to tell them. */
function checkRoots({ uid }: HostContext, { roots, unread }: Repositories): CheckResult {
  const away = roots.filter(({ state }) => state !== 'present' && state !== 'unreadable');
  const places = unread.filter(({ path }) => !away.some(root => root.path === path));
  const findings = away.map(({ path, state }) =>
    makeFinding('root_away', `storage root ${printable(path)}: ${state}`, 'mount it'),
  );
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

function notLooked(context: HostContext, missed: readonly string[]): Finding[] {
  if (missed.length === 0) return [];
  const message = `uid ${context.uid} has no permission to check everything; not checked: ${missed.join('; ')}`;
  return [makeFinding('not_looked', message, `sudo ${softquota(context, 'doctor')}`)];
}
