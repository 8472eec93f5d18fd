/**
 * The hooks of repositories: there, this version's, executable, and the ones that git runs.
 *
 * How a repository stands is what `softquota hooks status` says; where that is not well, this tells why.
 * Hooks that git reaches through a link or through core.hooksPath count like others, if they are ours.
 */

import { readlinkSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  type HooksPath,
  hookNames,
  hooksDirectory,
  isProtected,
  previousFile,
  type RepositoryStatus,
} from '../git/index.ts';
import { commandLine } from '../health/index.ts';
import { encodePath } from '../layout/index.ts';
import { counted, printable } from '../text/index.ts';
import type { Finding } from '../wire/index.ts';
import { homeOf } from './accounts.ts';
import type { DoctorCode } from './catalog.ts';
import { type CheckResult, findingOf } from './check-result.ts';
import { hookFileAt } from './hook-file.ts';
import type { HostContext } from './installation.ts';
import { asUser, softquota } from './mend.ts';
import type { Repositories, Repository } from './repositories.ts';
import type { HookUser } from './rights.ts';

/** A hook's file that git runs, and the user it runs it as. */
export interface RunHook {
  readonly path: string;
  readonly user: HookUser;
}

export interface HooksCheck extends CheckResult {
  /** The repositories whose hooks ask, and are told. */
  readonly well: ReadonlySet<string>;
  /** The hooks of theirs that git runs. */
  readonly run: readonly RunHook[];
}

interface Fault {
  readonly code: DoctorCode;
  readonly repository: string;
  readonly what: string;
  /** The command that fixes this one; null: to install the hooks. */
  readonly mend: string | null;
}

export function checkHooks(
  context: HostContext,
  { close, count, roots, whole }: Repositories,
  statuses: readonly RepositoryStatus[],
): HooksCheck {
  const faults: Fault[] = [];
  const run: RunHook[] = [];
  const well = new Set<string>();
  for (const [index, repository] of close.entries()) {
    const status = statuses[index];
    if (status === undefined) continue;
    const found = faultsOf(context, repository, status);
    faults.push(...found);
    if (found.length > 0) continue;
    well.add(repository.path);
    run.push(...filesOf(repository, status));
  }
  const some = close.length < count ? `, ${close.length.toLocaleString('en-US')} of them in detail` : '';
  const more = whole ? '' : ' (more exist; the search ended after its time limit)';
  const shown = counted(count, 'repository', 'repositories');
  const rootPaths = roots.filter(({ state }) => state === 'present').map(({ path }) => path);
  return {
    well,
    run,
    findings: [
      ...grouped(context, faults, rootPaths),
      ...including(context, close, statuses),
      ...skipping(context, close, statuses),
    ],
    checked: [`the hooks of ${shown}${some}${more}`],
  };
}

/** The hooks that git runs, ours where one of them runs it, and the files that stubs run. */
function filesOf(repository: Repository, status: RepositoryStatus): RunHook[] {
  const directory = runDirectory(repository, status);
  const run = hookNames.map(name => `${directory}/${name}`);
  const states = 'fault' in status || status.hooksPath !== null ? [] : Object.values(status.hooks);
  const ours = states.flatMap(hook =>
    hook.state === 'installed'
      ? [`${repository.path}/${hook.file}`, ...(hook.stub === null ? [] : [hook.stub.runs])]
      : [],
  );
  return [...new Set([...run, ...ours])].map(path => ({ path, user: repository.user }));
}

/** Where git looks for the hooks. */
function runDirectory({ path }: Repository, status: RepositoryStatus): string {
  return ('fault' in status ? null : status.hooksPath)?.directory ?? `${path}/hooks`;
}

function faultsOf(context: HostContext, repository: Repository, status: RepositoryStatus): Fault[] {
  if (isProtected(status)) return [];
  if (!('fault' in status) && status.gitlab !== null) {
    const mend = 'install the global hook of GitLab: docs/forges/hooks.md  # doctor does not look for it';
    return [{ code: 'hook_gitlab', repository: repository.path, what: status.gitlab, mend }];
  }
  const directory = runDirectory(repository, status);
  const files = hookNames.map(name => ({ name, ...hookFileAt(`${directory}/${name}`, name) }));
  if (files.every(file => file.is === 'current' && file.isExecutable)) return [];
  const shared = gitoliteMend(context, repository);
  const fault = (code: DoctorCode, what: string, mend: string | null = shared): Fault[] => [
    { code, repository: repository.path, what, mend },
  ];
  if (!('fault' in status) && status.hooksPath !== null) {
    return fault(
      'hook_unreached',
      `git runs the hooks in ${directory} because of core.hooksPath of ${status.hooksPath.from}; the softquota hooks are not there`,
      unreachedMend(context, repository, status.hooksPath, directory),
    );
  }
  const link = files.find(file => file.isLink);
  if (link !== undefined) {
    const remove = commandLine('rm', `${directory}/${link.name}`);
    return fault(
      'hook_link',
      `hooks/${link.name} is a link that does not point to this version's hook`,
      shared ?? `${remove} && ${softquota(context, 'hooks install', repository.path)}`,
    );
  }
  if ('fault' in status) {
    return fault(
      'hook_fault',
      status.fault,
      `fix this; then: ${softquota(context, 'hooks install', repository.path)}`,
    );
  }
  for (const name of hookNames) {
    const state = status.hooks[name];
    if (state.state === 'absent') return fault('hook_missing', `there is no ${name} hook`);
    if (state.state === 'other')
      return fault('hook_foreign', `another hook has the name ${name}, and the softquota hook does not run`);
    if (state.current) continue;
    const file = hookFileAt(`${repository.path}/${state.file}`, name);
    if (state.stub?.current === true && file.isExecutable)
      return fault(
        'hook_shared',
        `${state.file} runs ${printable(state.stub.runs)}, which is missing or from another version`,
      );
    return file.isExecutable
      ? fault('hook_outdated', `${state.file} is from another version`)
      : fault('hook_not_executable', `${state.file} is not executable, so git skips it`);
  }
  return fault('hook_fault', 'its hooks do not work');
}

/**
 * gitolite links the hooks of one folder into all its repositories, as it does its own `update`; there they
 * belong.
 */
function gitoliteMend(context: HostContext, { path, user }: Repository): string | null {
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

/**
 * Ours go where git looks, if there is room for them. Where other hooks lie there nothing is moved out of the
 * way, and core.hooksPath is not taken out: both would switch those hooks off.
 */
function unreachedMend(
  context: HostContext,
  repository: Repository,
  { from }: HooksPath,
  directory: string,
): string {
  const sources = hookNames.map(name => fileURLToPath(new URL(name, hooksDirectory)));
  if (isDirectory(directory)) {
    const taken = hookNames.filter(name => hookFileAt(`${directory}/${name}`, name).is === 'other');
    if (taken.length === 0) return commandLine('install', '-m', '755', ...sources, directory);
    const where = taken.map(name => printable(`${directory}/${name}`)).join(' and ');
    return `let ${where} run the softquota hooks first, with the same input: ${sources.join(', ')}`;
  }
  const unset = ['--unset-all', 'core.hooksPath'];
  if (!from.startsWith('/')) return commandLine('git', 'config', '--system', ...unset);
  return asUser(context, ownerOf(from) ?? repository.user.uid, 'git', 'config', '--file', from, ...unset);
}

/** Whoever wrote the configuration chose what it includes, so that root does not read it. */
function including(
  context: HostContext,
  repositories: readonly Repository[],
  statuses: readonly RepositoryStatus[],
): Finding[] {
  const found = repositories.filter((_, index) => {
    const status = statuses[index];
    return status !== undefined && !('fault' in status) && status.settings.includes;
  });
  const [first] = found;
  if (first === undefined) return [];
  const others = found.length === 1 ? '' : ` (and ${found.length - 1} more)`;
  const message = `${printable(first.path)}: its config includes other files, which doctor does not read${others}`;
  const look = asUser(context, first.user.uid, 'git', '-C', first.path, 'config', '--get', 'core.hooksPath');
  return [
    findingOf('config_included', message, `if this prints a directory, git looks for hooks there: ${look}`),
  ];
}

/** Hooks that were there before ours, and that git did not run: nobody may have noticed. */
function skipping(
  context: HostContext,
  repositories: readonly Repository[],
  statuses: readonly RepositoryStatus[],
): Finding[] {
  const found = repositories.flatMap((repository, index) => {
    const status = statuses[index];
    if (status === undefined || 'fault' in status || status.hooksPath !== null) return [];
    return hookNames.flatMap(name => {
      const hook = status.hooks[name];
      if (hook.state !== 'installed' || !hook.skipped) return [];
      const below = hook.file.slice(0, hook.file.indexOf('/'));
      return [{ repository, file: `${repository.path}/${below}/${name}.d/${previousFile}` }];
    });
  });
  const [first] = found;
  if (first === undefined) return [];
  const others = found.length === 1 ? '' : ` (and ${found.length - 1} more)`;
  const message = `${printable(first.file)} is not executable, so it does not run${others}`;
  const mend = asUser(context, first.repository.user.uid, 'chmod', '+x', first.file);
  return [findingOf('hook_previous_skipped', message, `${mend}  # if it should run; else remove it`)];
}

const mostNamed = 10;

/**
 * One finding for each kind of fault that many repositories share; those with a mend of their own, one by
 * one.
 */
function grouped(context: HostContext, faults: readonly Fault[], roots: readonly string[]): Finding[] {
  const groups = new Map<string, Fault[]>();
  for (const fault of faults) {
    const key = `${fault.code} ${fault.mend ?? ''}`;
    groups.set(key, [...(groups.get(key) ?? []), fault]);
  }
  return [...groups.values()].flatMap(group => {
    const [first] = group;
    if (first === undefined) return [];
    const others = group.length === 1 ? '' : ` (and ${group.length - 1} more)`;
    const message = `${printable(first.repository)}: ${printable(first.what)}${others}`;
    const places = group.length <= mostNamed ? group.map(({ repository }) => repository) : roots;
    return [findingOf(first.code, message, first.mend ?? softquota(context, 'hooks install', ...places))];
  });
}

function isDirectory(path: string): boolean {
  return statSync(encodePath(path), { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function ownerOf(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.uid ?? null;
}
