/**
 * Installs the hooks for gitolite in one folder, from which gitolite links them into each of its
 * repositories, also into new ones.
 *
 * gitolite itself names the folder and makes the links. It runs as its own user, since its configuration is a
 * program of that user.
 */

import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type SystemAccount, systemAccounts } from '../../accounts.ts';
import { runProgram } from '../../bounded/index.ts';
import { SoftquotaError, systemCode } from '../../errors.ts';
import { beforeFollow, saysHangs } from '../../layout/index.ts';
import { findProgram, isAccessible } from './client.ts';
import { findRepositories } from './find.ts';
import { belongingOf, Folder, physicalPath, realPath, reasonOf } from './folder.ts';
import { hookNames, isOurs } from './hook.ts';
import { type HookPlace, inspectPlace, statesIn } from './inspect.ts';
import {
  givesWay,
  installHooks,
  installIn,
  nothingRemoved,
  removeFrom,
  removeHooks,
  type WantedSettings,
} from './install.ts';

export interface Gitolite {
  readonly user: string;
  readonly home: string;
  /** The directory of the repositories. */
  readonly repositories: string;
  /** The directory whose files are linked into each repository's `hooks`. It need not exist yet. */
  readonly common: string;
  /** The directory whose files are linked after those of `common` and replace them; null if there is none. */
  readonly overriding: string | null;
  /** Tells whether `common` is part of what administrators push to the repository gitolite-admin. */
  readonly isPushed: boolean;
  /** Has gitolite link the files of these directories into each repository; rejects with `conflict`. */
  link(): Promise<void>;
}

/**
 * Finds the gitolite in this home, or with `auto` the only one among the homes of the host's users. Rejects
 * with `usage` if there is none, or several, with `not_permitted` for any user but its own and root, and with
 * `conflict` if gitolite fails. `lookup`: the host's users, and the user who runs this; the system's unless
 * given.
 */
export async function findGitolite(
  where: string,
  lookup: { readonly passwd?: string; readonly uid?: number } = {},
): Promise<Gitolite> {
  const users = systemAccounts(lookup.passwd).users.filter(({ home }) => home.startsWith('/'));
  const user = where === 'auto' ? await onlyUser(users) : await userAt(where, users);
  const uid = lookup.uid ?? process.getuid?.() ?? 0;
  if (uid !== 0 && uid !== user.uid) {
    throw new SoftquotaError('not_permitted', `run this as root, or as ${user.name}, the user of gitolite`);
  }
  const ask = await gitoliteOf(user, uid);
  const value = async (name: string) => (await ask(['query-rc', '-n', name])).trim();
  const base = await value('GL_ADMIN_BASE');
  const local = await value('LOCAL_CODE');
  const own = join(base, 'hooks/common');
  return {
    user: user.name,
    home: user.home,
    repositories: await realPath(await value('GL_REPO_BASE')),
    common: local === '' ? own : join(local, 'hooks/common'),
    overriding: local === '' ? null : own,
    isPushed: local !== '' && `${local}/`.startsWith(`${base}/`),
    link: async () => void (await ask(['setup', '--hooks-only'])),
  };
}

const rcFile = '.gitolite.rc';

async function onlyUser(users: readonly SystemAccount[]): Promise<SystemAccount> {
  const found = new Map<string, SystemAccount>();
  for (const user of users) {
    if (!isAccessible(join(user.home, rcFile))) continue;
    const home = await realPath(user.home);
    if (!found.has(home)) found.set(home, { ...user, home });
  }
  const [first, ...others] = found.values();
  if (first === undefined) {
    const message = `no user has gitolite (${rcFile} in the home directory); name the home directory: --gitolite HOME`;
    throw new SoftquotaError('usage', message);
  }
  if (others.length === 0) return first;
  const message = `several users have gitolite: ${[...found.keys()].join(', ')}; name one: --gitolite HOME`;
  throw new SoftquotaError('usage', message);
}

/** Returns the account as which gitolite runs: the owner of its configuration. */
async function userAt(where: string, users: readonly SystemAccount[]): Promise<SystemAccount> {
  try {
    const home = await realPath(where);
    const file = join(home, rcFile);
    beforeFollow(file);
    const { uid, gid } = await stat(file);
    const name = users.find(user => user.uid === uid)?.name ?? String(uid);
    return { name, uid, gid, home };
  } catch (cause) {
    if (systemCode(cause) === null) throw cause;
    if (saysHangs(cause))
      throw new SoftquotaError('not_ready', `${where}: the disk does not answer`, { cause });
    throw new SoftquotaError(
      'usage',
      `${where} is not the home directory of gitolite's user: ${rcFile} cannot be read there`,
      {
        cause,
      },
    );
  }
}

/** Time for gitolite, which writes links into thousands of repositories. */
const timeoutMs = 600_000;

async function gitoliteOf(
  user: SystemAccount,
  uid: number,
): Promise<(args: readonly string[]) => Promise<string>> {
  const program = programOf(user);
  const env = { HOME: user.home, USER: user.name, LOGNAME: user.name, LC_ALL: 'C' };
  const identity = uid === 0 ? { user: { uid: user.uid, gid: user.gid } } : {};
  return async args => {
    const fault = (why: string, cause?: unknown) =>
      new SoftquotaError('conflict', `gitolite ${args.join(' ')}, run as ${user.name}: ${why}`, { cause });
    const options = { cwd: user.home, env, timeoutMs, ...identity };
    // Starting a program in a directory on a disk that hangs would block this process.
    beforeFollow(user.home);
    const { status, output, complaint } = await runProgram(program, args, options).catch((cause: unknown) => {
      throw fault(reasonOf(cause), cause);
    });
    // For a variable that is not set, gitolite ends with 1 and prints nothing.
    if (status === 0 || (status === 1 && complaint === '')) return output;
    throw fault(complaint || `it ended with ${status}`);
  };
}

function programOf({ name, home }: SystemAccount): string {
  const folders = [`${home}/bin`, ...(process.env.PATH ?? '').split(':'), '/usr/local/bin', '/usr/bin'];
  const absolute = folders.filter(folder => folder.startsWith('/'));
  const program = findProgram('gitolite', absolute);
  if (program !== null) return program;
  const message = `no program gitolite is in PATH or in ${home}/bin, where ${name} would have it`;
  throw new SoftquotaError('usage', message);
}

/**
 * Puts both hooks into gitolite's common folder, and has gitolite link them into every repository. Hooks of
 * ours from before LOCAL_CODE was set are removed, since they would override these. Rejects with `conflict`,
 * and changes nothing, if the links would replace a repository's own hook, or the next push to gitolite-admin
 * would replace ours.
 */
export async function distributeHooks(gitolite: Gitolite, options: WantedSettings) {
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

export async function commonStatus(gitolite: Gitolite) {
  await using folder = await Folder.find(gitolite.common);
  return { gitolite, hooks: await statesIn(folder) };
}

export type WithdrawReport = Awaited<ReturnType<typeof withdrawHooks>>;

/** Undoes `distributeHooks`: removes our hooks and their links, and restores hooks that were moved. */
export async function withdrawHooks(gitolite: Gitolite) {
  const repositories = await allRepositories(gitolite);
  const common = await removeIn(gitolite.common);
  // Hooks from before LOCAL_CODE was set lie in the other folder.
  const earlier = gitolite.overriding === null ? [] : await removeIn(gitolite.overriding);
  const places = [...common, ...earlier];
  for (const { directory } of places)
    for (const repository of repositories) await unlinkGone(repository, directory);
  if (places.length > 0) await gitolite.link();
  const place = places.find(({ hooks }) => hookNames.some(name => hooks[name] !== 'absent')) ??
    common[0] ?? { directory: gitolite.common, hooks: nothingRemoved };
  return { gitolite, ...place, repositories: await removeHooks(repositories) };
}

async function removeIn(path: string) {
  await using folder = await Folder.find(path);
  return folder === null ? [] : [{ directory: folder.path, hooks: await removeFrom(folder) }];
}

/** Lists all repositories. Rejects if the disk of one hangs, since gitolite would wait there. */
async function allRepositories(gitolite: Gitolite): Promise<readonly string[]> {
  const { repositories, unread } = await findRepositories([gitolite.repositories]);
  const hung = unread.find(({ hangs }) => hangs);
  if (hung === undefined) return repositories;
  const message = `${hung.path}: ${hung.reason}, and gitolite would wait for it at every repository there: nothing was done`;
  throw new SoftquotaError('not_ready', message);
}

/** Opens a directory, or makes it as gitolite would: with owner and mode of its parent. */
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
  // Our own hook is removed from there, but a folder of foreign hooks stays.
  const isOver = isOurs(name, folder.entry(name)) ? `${name}.d` : name;
  if (folder.entry(isOver).kind === 'absent') return;
  const message = `${overriding}/${isOver} overrides the ${isOver === name ? 'file' : 'folder'} in ${common}: move it there, and run this again`;
  throw new SoftquotaError('conflict', message);
}

/** Checks repositories: gitolite would replace a repository's own hook by its link, and fails at a folder. */
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

/** Opens the repository's folder of hooks; null if it is missing, a link or anything else. */
async function hooksOf(repository: string): Promise<Folder | null> {
  await using folder = await Folder.open(repository);
  return folder.entry('hooks').kind === 'directory' ? await folder.directory('hooks') : null;
}

/** Removes gitolite's links to our removed hooks, since gitolite itself never removes a dangling link. */
async function unlinkGone(repository: string, common: string): Promise<void> {
  await using hooks = await hooksOf(repository);
  if (hooks === null) return;
  for (const name of hookNames.flatMap(each => [each, `${each}.d`])) {
    const aim = await hooks.target(name);
    if (aim === join(common, name) && (await physicalPath(aim)) === null) await hooks.remove(name);
  }
}
