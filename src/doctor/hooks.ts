/**
 * Checks that each repository has the hooks of this version, that git runs them, and that they ask where the
 * daemon listens.
 *
 * The state of a repository is that of `softquota hooks status`; this adds the reason for a problem. Hooks of
 * softquota that git reaches through a link or through core.hooksPath count like others.
 */

import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { homeOf } from '../accounts.ts';
import * as git from '../git/index.ts';
import { commandLine } from '../health/index.ts';
import { encodePath, noexecMountAt } from '../layout/index.ts';
import { counted, formatCount, printable } from '../text.ts';
import { asUser, type Installation, type Report, softquota } from './installation.ts';
import { isDirectory, statusOf } from './paths.ts';
import type { Repositories, Repository } from './repositories.ts';
import type { RunHook } from './rights.ts';

interface Fault {
  readonly code: 'hook' | 'hook_blocked' | 'hook_previous_skipped' | 'hook_unreached';
  readonly repository: string;
  readonly what: string;
  /** The command that fixes this fault; null: install the hooks. */
  readonly mend: string | null;
}

type ReadStatus = Exclude<git.RepositoryStatus, { readonly fault: string }>;

/** Returns the hooks that git runs in repositories that are protected. */
export async function checkHooks(
  report: Report,
  installation: Installation,
  { close, count, roots, whole }: Repositories,
  statuses: readonly git.RepositoryStatus[],
): Promise<readonly RunHook[]> {
  const faults: Fault[] = [];
  const run: RunHook[] = [];
  const askers: { readonly client: git.Client; readonly repository: string }[] = [];
  for (const [index, repository] of close.entries()) {
    const status = statuses[index];
    if (status === undefined) continue;
    const found = faultsOf(installation, repository, status);
    faults.push(...found);
    if ('fault' in status || !git.isProtected(status)) continue;
    run.push(...filesOf(repository, status));
    const { settings } = status.hooks['pre-receive'];
    if (settings !== null) askers.push({ client: settings.client, repository: repository.path });
  }
  const clients = Map.groupBy(askers, ({ client }) => client);
  for (const [client, repositories] of clients) {
    if (await git.asks(client)) continue;
    const what = `the hooks ask by ${client}, which is gone, or is another program of that name, so pushes are refused`;
    for (const { repository } of repositories) faults.push({ code: 'hook', repository, what, mend: null });
  }
  const rootPaths = roots.filter(({ state }) => state === 'present').map(({ path }) => path);
  tellFaults(report, installation, faults, rootPaths);
  const some = close.length < count ? `, ${formatCount(close.length)} of them in detail` : '';
  const more = whole ? '' : ' (more exist; the search ended after its time limit)';
  const by = clients.size === 0 ? '' : `; they ask by ${[...clients.keys()].sort().join(' and ')}`;
  report.checked.push(`the hooks of ${counted(count, 'repository', 'repositories')}${some}${more}${by}`);
  return run;
}

function filesOf({ path, user }: Repository, { hooks, hooksPath }: ReadStatus): RunHook[] {
  const directory = hooksPath?.directory ?? `${path}/hooks`;
  const run = git.hookNames.map(name => `${directory}/${name}`);
  const ours = hooksPath === null ? git.hookNames.map(name => `${path}/${hooks[name].file}`) : [];
  return [...new Set([...run, ...ours])].map(file => ({ path: file, user }));
}

function faultsOf(installation: Installation, repository: Repository, status: git.RepositoryStatus): Fault[] {
  const { context } = installation;
  const gitolite = gitoliteMend(installation, repository);
  const fault = (code: Fault['code'], what: string, mend: string | null = gitolite): Fault => ({
    code,
    repository: repository.path,
    what,
    mend,
  });
  const install = softquota(context, 'hooks install', repository.path);
  if ('fault' in status) return [fault('hook', status.fault, `mend this; then: ${install}`)];
  const { gitlab, hooksPath, hooks } = status;
  if (gitlab !== null) {
    const mend = softquota(context, 'hooks install', '--gitlab', 'CUSTOM_HOOKS_DIR');
    return [fault('hook', gitlab, `${mend}  # doctor does not look for it`)];
  }
  if (hooksPath !== null) {
    const { directory, from } = hooksPath;
    if (hooksPath.ours) return [];
    const mount = existsSync(encodePath(directory)) ? noexecMountAt(directory) : null;
    if (mount !== null) {
      const what = `git cannot run the hooks in ${directory}, which core.hooksPath of ${from} names: its file system is mounted with noexec`;
      return [fault('hook_blocked', what, remount(mount))];
    }
    const what = `git runs the hooks in ${directory} because of core.hooksPath of ${from}; the softquota hooks are not there`;
    return [fault('hook_unreached', what, unreachedMend(installation, repository, hooksPath))];
  }
  const found: Fault[] = [];
  for (const name of git.hookNames) {
    const { state, file, blocked, settings, skipped } = hooks[name];
    const link = `${repository.path}/hooks/${name}`;
    // An installation replaces a link to the package's hook, which has no settings, and no other one.
    const isLink = lstatSync(encodePath(link), { throwIfNoEntry: false })?.isSymbolicLink() === true;
    const relink = isLink ? `${commandLine('rm', link)} && ${install}` : null;
    if (state === 'absent' && relink !== null)
      found.push(fault('hook', `hooks/${name} is a link that leads nowhere`, gitolite ?? relink));
    else if (state === 'absent') found.push(fault('hook', `there is no ${name} hook`));
    if (state === 'foreign')
      found.push(fault('hook', `another hook has the name ${name}, and ours does not run`));
    if (state === 'older') {
      const mend = gitolite ?? (settings === null ? null : relink);
      found.push(fault('hook', `${file} is of another version`, mend));
    }
    if (blocked !== null) {
      const what = `git cannot run ${file}: ${blocked}`;
      const mount = noexecMountAt(`${repository.path}/${file}`);
      found.push(fault('hook_blocked', what, mount === null ? null : remount(mount)));
    }
    if (skipped !== null) {
      const what = `${skipped} is not executable, so it does not run`;
      const run = asUser(context, repository.user.uid, 'chmod', '+x', `${repository.path}/${skipped}`);
      found.push(fault('hook_previous_skipped', what, `${run}  # if it should run; else remove it`));
    }
    const { socket } = installation.loaded.config.server;
    if (settings !== null && !isSamePath(settings.socket, socket))
      found.push(fault('hook', `${file} asks at ${settings.socket}, but the daemon listens at ${socket}`));
  }
  return found.slice(0, 1);
}

/** Returns true if two absolute paths lead to the same place. Resolves links as far as the paths exist. */
function isSamePath(one: string, other: string): boolean {
  return one === other || resolved(one) === resolved(other);
}

function resolved(path: string): string {
  try {
    return realpathSync.native(encodePath(path), { encoding: 'latin1' });
  } catch {
    const parent = dirname(path);
    return parent === path ? path : `${resolved(parent)}/${path.slice(parent.length)}`;
  }
}

function remount(mount: string): string {
  return `${commandLine('mount', '-o', 'remount,exec', mount)}  # and remove noexec there in /etc/fstab`;
}

/** The fix for a repository of gitolite, which links the hooks of one folder into all; null for others. */
function gitoliteMend({ context }: Installation, { path, user }: Repository): string | null {
  const home = homeOf(user.uid);
  if (home === null) return null;
  try {
    const target = readlinkSync(encodePath(`${path}/hooks/update`), 'utf8');
    if (!target.endsWith('/hooks/common/update')) return null;
  } catch {
    return null;
  }
  return softquota(context, 'hooks install', '--gitolite', home);
}

/** Adds the hooks to the directory that core.hooksPath names; removes the setting if there is none. */
function unreachedMend(
  { context }: Installation,
  { user }: Repository,
  { from, directory }: git.HooksPath,
): string {
  if (isDirectory(directory)) return softquota(context, 'hooks install', '--hooks-path', directory);
  const unset = ['--unset-all', 'core.hooksPath'];
  if (!from.startsWith('/')) return commandLine('git', 'config', '--system', ...unset);
  const owner = statusOf(from)?.uid ?? user.uid;
  return asUser(context, owner, 'git', 'config', '--file', from, ...unset);
}

const mostNamed = 10;

/**
 * Makes one finding for each fault that several repositories share. Faults with fixes of their own come last,
 * since only the first of many findings are shown.
 */
function tellFaults(
  report: Report,
  { context }: Installation,
  faults: readonly Fault[],
  roots: readonly string[],
): void {
  const groups = Map.groupBy(faults, ({ code, what, mend }) =>
    // One command may fix hooks with different faults.
    JSON.stringify([code, mend, code === 'hook' ? what : '']),
  );
  const largest = [...groups.values()].sort((a, b) => b.length - a.length);
  for (const group of largest) {
    const [first] = group;
    if (first === undefined) continue;
    const others = group.length === 1 ? '' : ` (and ${group.length - 1} more)`;
    const message = `${printable(first.repository)}: ${printable(first.what)}${others}`;
    const places = group.length <= mostNamed ? group.map(({ repository }) => repository) : roots;
    report.found(first.code, message, first.mend ?? softquota(context, 'hooks install', ...places));
  }
}
