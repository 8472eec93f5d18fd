/** The work of `softquota hooks`, which a process of its own does: a disk may keep it waiting for ever. */

import { resolve } from 'node:path';
import { survey } from '../doctor/index.ts';
import { exitCodes, SoftquotaError } from '../errors.ts';
import {
  asks,
  commonStatus,
  distributeHooks,
  findClient,
  findGitolite,
  findRepositories,
  type Gitolite,
  type GlobalHooks,
  hooksStatus,
  installGlobally,
  installHooks,
  parsePolicies,
  programFolders,
  removeForgeTemplates,
  removeHooks,
  type WantedSettings,
  withdrawHooks,
  writeForgeTemplates,
  writePrograms,
} from '../git/index.ts';
import { counted, printable, shellQuoted } from '../text/index.ts';
import { installOutput, isFault, isReached, isWell, removeOutput, statusOutput } from './hooks-output.ts';
import { type HooksOptions, type HooksTask, type Printed, rootsHelp } from './job.ts';
import { configFrom } from './settings.ts';
import { statusTold, tellNote } from './streams.ts';

export async function workOnHooks({ act, roots, options }: HooksTask): Promise<Printed> {
  const done = await { install, status, remove }[act](roots, options);
  return { ...done, status: statusTold(done.status) };
}

async function install(roots: readonly string[], options: HooksOptions): Promise<Printed> {
  const wanted = await settingsFrom(options);
  const global: GlobalHooks[] = [];
  if (options.gitlab !== undefined) global.push(await installGlobally(options.gitlab, 'gitlab', wanted));
  if (options.hooksPath !== undefined) global.push(await installGlobally(options.hooksPath, 'git', wanted));
  const programs = options.programs === undefined ? [] : await writePrograms(options.programs, wanted);
  const hasOther = global.length > 0 || programs.length > 0;
  const isNothing = roots.length === 0 && options.gitolite === undefined && hasOther;
  const target = isNothing ? { repositories: [] } : await targetOf('install', roots, options);
  const gitolite = 'gitolite' in target ? await distributeHooks(target.gitolite, wanted) : null;
  const repositories = gitolite?.repositories ?? (await installHooks(target.repositories, wanted));
  const places = roots.map(root => resolve(root));
  const areForges = repositories.length === 0;
  const forges = await writeForgeTemplates(places, repositories, wanted, areForges);
  const isDone = repositories.every(isReached) && forges.every(({ fault }) => fault === null);
  return {
    output: installOutput(
      { wanted, repositories, gitolite, forges, global, programs },
      options.json === true,
    ),
    status: isDone ? exitCodes.done : exitCodes.refused,
  };
}

async function settingsFrom(options: HooksOptions): Promise<WantedSettings> {
  const { socket, client } = options;
  return {
    socket: socket === undefined ? configFrom(options).server.socket : resolve(socket),
    client: await chosenClient(client),
    ...parsePolicies(options),
  };
}

/** The program that was named, or the quickest that works. */
async function chosenClient(name: string | undefined): Promise<WantedSettings['client']> {
  const where = `in ${programFolders.join(', ')}`;
  if (name !== undefined && name !== 'nc' && name !== 'curl')
    throw new SoftquotaError('usage', `--client ${name} is not known; expected nc or curl`);
  if (name !== undefined) {
    if (await asks(name)) return name;
    throw new SoftquotaError('conflict', `no ${name} ${where} asks at a socket as the hooks need it`);
  }
  const found = await findClient();
  if (found !== null) return found;
  throw new SoftquotaError(
    'conflict',
    `neither OpenBSD's nc (with timeout) nor curl ${where} asks at a socket as the hooks need it: install one of them`,
  );
}

/** Tells whether the roots, which have no repository yet, are those of Gitea or Forgejo. */
async function areNewForges(roots: readonly string[]): Promise<boolean> {
  const surveys = await Promise.all(roots.map(root => survey(root).catch(() => null)));
  return surveys.every(found => found?.layout === 'gitea' || found?.layout === 'forgejo');
}

async function status(roots: readonly string[], options: HooksOptions): Promise<Printed> {
  const expected = options.config === undefined ? null : configFrom(options).server.socket;
  const target = await targetOf('status', roots, options);
  const common = 'gitolite' in target ? await commonStatus(target.gitolite) : null;
  const statuses = await hooksStatus(target.repositories);
  return {
    output: statusOutput(statuses, common, expected, options.json === true),
    status: statuses.every(each => isWell(each, expected)) ? exitCodes.done : exitCodes.refused,
  };
}

async function remove(roots: readonly string[], options: HooksOptions): Promise<Printed> {
  const target = await targetOf('remove', roots, options);
  const report = 'gitolite' in target ? await withdrawHooks(target.gitolite) : null;
  const results = report?.repositories ?? (await removeHooks(target.repositories));
  const templates = await removeForgeTemplates(roots.map(root => resolve(root)));
  const isFaulty = results.some(isFault) || templates.some(({ fault }) => fault !== null);
  return {
    output: removeOutput(results, report, templates, options.json === true),
    status: isFaulty ? exitCodes.refused : exitCodes.done,
  };
}

type Target =
  | { readonly repositories: readonly string[] }
  | { readonly repositories: readonly string[]; readonly gitolite: Gitolite };

async function targetOf(
  act: HooksTask['act'],
  roots: readonly string[],
  { gitolite }: HooksOptions,
): Promise<Target> {
  if (gitolite === undefined) {
    if (roots.length > 0) return { repositories: await found(act, roots) };
    throw new SoftquotaError('usage', `expected ${rootsHelp}, or --gitolite`);
  }
  if (roots.length > 0) {
    throw new SoftquotaError(
      'usage',
      `--gitolite already means all of its repositories; do not also give ${roots.join(', ')}`,
    );
  }
  const distributor = await findGitolite(gitolite === true ? 'auto' : resolve(gitolite));
  return { repositories: await found(act, [distributor.repositories]), gitolite: distributor };
}

/** More are counted only. */
const mostNamed = 20;

/**
 * The repositories below the roots. Tells what cannot be looked into, and working copies, which are left out.
 */
async function found(act: HooksTask['act'], roots: readonly string[]): Promise<readonly string[]> {
  const places = roots.map(root => resolve(root));
  const { repositories, workingCopies, unread } = await findRepositories(places);
  for (const { path, reason } of unread) tellNote(printable(`${path}: ${reason}`));
  for (const path of workingCopies.slice(0, mostNamed))
    tellNote(
      printable(
        `${path} is not bare, and left out; to include it: softquota hooks ${act} ${shellQuoted(path)}`,
      ),
    );
  if (workingCopies.length > mostNamed)
    tellNote(`${counted(workingCopies.length - mostNamed, 'more is', 'more are')} not bare, and left out`);
  if (repositories.length > 0 || (act === 'install' && (await areNewForges(places)))) return repositories;
  throw new SoftquotaError('usage', `no bare repository (HEAD, objects, refs) is below ${roots.join(', ')}`);
}
