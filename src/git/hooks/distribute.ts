/** Putting the hooks where gitolite distributes them from, and taking them out again. */

import { basename, dirname, join } from 'node:path';
import { SoftquotaError } from '../../errors.ts';
import { findRepositories } from './find.ts';
import { belongingOf, Folder, physicalPath } from './folder.ts';
import type { Gitolite } from './gitolite.ts';
import { type HookName, hookNames, isOurs } from './hook.ts';
import { absentHooks, type HookPlace, type HookState, inspectPlace, statesIn } from './inspect.ts';
import {
  givesWay,
  type InstalledHooks,
  type InstallResult,
  installHooks,
  installIn,
  type WantedSettings,
} from './install.ts';
import { nothingRemoved, type RemovedHook, type RemoveResult, removeFrom, removeHooks } from './remove.ts';

export interface DistributeReport {
  readonly gitolite: Gitolite;
  /** In gitolite's folder. */
  readonly hooks: InstalledHooks;
  /** The outcome for the repositories that exist. */
  readonly repositories: readonly InstallResult[];
}

/**
 * Puts both hooks where gitolite takes them from, and has it link them into every repository. Those from
 * before LOCAL_CODE was set go, since they would override these. Nothing is done, and it rejects with
 * `conflict`, where linking would put an end to a hook that some repository has for itself, or where the next
 * push to gitolite-admin would put an end to ours.
 */
export async function distributeHooks(
  gitolite: Gitolite,
  options: WantedSettings,
): Promise<DistributeReport> {
  const repositories = await allRepositories(gitolite);
  await using folder = await openOrMake(gitolite.common);
  for (const name of hookNames) {
    await using place = await inspectPlace(folder, name);
    await mustNotBeOverridden(gitolite, place);
    await mustHideNothing(repositories, place);
  }
  const hooks = await installIn(folder, { wanted: options });
  if (gitolite.overriding !== null) await removeIn(gitolite.overriding);
  await gitolite.link();
  return { gitolite, hooks, repositories: await installHooks(repositories, options) };
}

export interface CommonStatus {
  readonly gitolite: Gitolite;
  readonly hooks: Readonly<Record<HookName, HookState>>;
}

/** The states of the hooks where gitolite takes them from. */
export async function commonStatus(gitolite: Gitolite): Promise<CommonStatus> {
  await using folder = await Folder.find(gitolite.common);
  return { gitolite, hooks: folder === null ? absentHooks : await statesIn(folder) };
}

export interface WithdrawReport {
  readonly gitolite: Gitolite;
  /** The folder of gitolite's that they were in. */
  readonly directory: string;
  readonly hooks: Readonly<Record<HookName, RemovedHook>>;
  readonly repositories: readonly RemoveResult[];
}

/**
 * Undoes `distributeHooks`: ours go, one that had made room returns, and so do the links and the settings.
 */
export async function withdrawHooks(gitolite: Gitolite): Promise<WithdrawReport> {
  const repositories = await allRepositories(gitolite);
  const now = await removeIn(gitolite.common);
  // Those from before LOCAL_CODE was set lie in the other folder.
  const earlier = gitolite.overriding === null ? null : await removeIn(gitolite.overriding);
  const hasOurs = (place: Withdrawn | null) =>
    place !== null && hookNames.some(name => place.hooks[name] !== 'absent');
  for (const place of [now, earlier]) {
    if (place === null) continue;
    for (const repository of repositories) await unlinkGone(repository, place.directory);
  }
  if (now !== null || earlier !== null) await gitolite.link();
  const place = (hasOurs(earlier) && !hasOurs(now) ? earlier : now) ?? {
    directory: gitolite.common,
    hooks: nothingRemoved,
  };
  return { gitolite, ...place, repositories: await removeHooks(repositories) };
}

type Withdrawn = Pick<WithdrawReport, 'directory' | 'hooks'>;

/** Null: there is no such folder. */
async function removeIn(path: string): Promise<Withdrawn | null> {
  await using folder = await Folder.find(path);
  return folder && { directory: folder.path, hooks: await removeFrom(folder) };
}

/**
 * gitolite looks into all of them, so nothing is begun where one cannot be looked into for a disk that hangs.
 */
async function allRepositories(gitolite: Gitolite): Promise<readonly string[]> {
  const { repositories, unread } = await findRepositories([gitolite.repositories]);
  const hung = unread.find(({ hangs }) => hangs);
  if (hung === undefined) return repositories;
  throw new SoftquotaError(
    'not_ready',
    `${hung.path}: ${hung.reason}, and gitolite would wait for it at every repository there: nothing was done`,
  );
}

/** Makes it as gitolite would, which is as the directory above it is. */
async function openOrMake(path: string): Promise<Folder> {
  const found = await Folder.find(path);
  if (found !== null) return found;
  await using above = await openOrMake(dirname(path));
  return await above.directoryOrMade(basename(path), belongingOf(above.stats));
}

async function mustNotBeOverridden(gitolite: Gitolite, place: HookPlace): Promise<void> {
  const { common, overriding, isPushed } = gitolite;
  const { name } = place;
  if (isPushed && givesWay(place)) {
    throw new SoftquotaError(
      'conflict',
      `${common}/${name} comes from the repository gitolite-admin, whose next push would restore it: ` +
        `move it there to hooks/common/${name}.d/50-previous, push, and run this again`,
    );
  }
  if (overriding === null) return;
  await using folder = await Folder.find(overriding);
  if (folder === null) return;
  // Ours goes from there, but another's folder stays.
  const isOver = isOurs(name, folder.entry(name)) ? `${name}.d` : name;
  if (folder.entry(isOver).kind === 'absent') return;
  throw new SoftquotaError(
    'conflict',
    `${overriding}/${isOver} overrides the ${isOver === name ? 'file' : 'folder'} in ${common}: move it there, and run this again`,
  );
}

/** gitolite removes a hook of a repository's own for the link, and gives up at a folder. */
async function mustHideNothing(repositories: readonly string[], place: HookPlace): Promise<void> {
  const { name, folder } = place;
  const sharesFolder = folder !== null || givesWay(place);
  for (const repository of repositories) {
    await using hooks = await hooksOf(repository);
    if (hooks === null) continue;
    if (sharesFolder && hooks.entry(`${name}.d`).kind === 'directory') {
      throw new SoftquotaError(
        'conflict',
        `${repository}/hooks/${name}.d is the repository's own, and gitolite cannot link ${name}.d there: ` +
          `move what it holds to ${place.folder?.path ?? `${name}.d of gitolite's hooks/common`}, and run this again`,
      );
    }
    const own = hooks.entry(name);
    if (own.kind !== 'file' || isOurs(name, own)) continue;
    throw new SoftquotaError(
      'conflict',
      `${repository}/hooks/${name} is the repository's own, and gitolite would remove it for its link: ` +
        'run softquota hooks install on that repository first; then the hook keeps running there',
    );
  }
}

/** The repository's folder of hooks; null where that is none, or a link that somebody made of it. */
async function hooksOf(repository: string): Promise<Folder | null> {
  await using folder = await Folder.open(repository);
  return folder.entry('hooks').kind === 'directory' ? await folder.directory('hooks') : null;
}

/** gitolite takes out no link that leads to nothing any more. */
async function unlinkGone(repository: string, common: string): Promise<void> {
  await using hooks = await hooksOf(repository);
  if (hooks === null) return;
  for (const name of hookNames.flatMap(each => [each, `${each}.d`])) {
    const aim = await hooks.target(name);
    if (aim === join(common, name) && (await physicalPath(aim)) === null) await hooks.remove(name);
  }
}
