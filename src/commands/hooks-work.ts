/** The work of `softquota hooks`, which a process of its own does: a disk may keep it waiting for ever. */

import { resolve } from 'node:path';
import { survey } from '../doctor/index.ts';
import { exitCodes, SoftquotaError } from '../errors.ts';
import {
  commonStatus,
  distributeHooks,
  findGitolite,
  findRepositories,
  type Gitolite,
  hooksStatus,
  type InstallDone,
  installHooks,
  isProtected,
  parseLastFor,
  parseOnError,
  type RemoveDone,
  type RepositoryStatus,
  removeForgeTemplates,
  removeHooks,
  type SharedPlace,
  withdrawHooks,
  writeForgeTemplates,
  writeShared,
} from '../git/index.ts';
import type { Parts } from '../layout/index.ts';
import { printable } from '../text/index.ts';
import { distributeJson, installJson, statusJson, withdrawJson } from './hooks-json.ts';
import { type HooksTask, type InstallTaskOptions, rootsHelp, type TargetOptions } from './hooks-task.ts';
import {
  asksElsewhere,
  commonText,
  distributeText,
  installText,
  isFault,
  isReached,
  removeText,
  statusText,
} from './hooks-text.ts';
import { jsonText } from './output.ts';
import type { Printed } from './printed.ts';
import { type ConfigOption, configFrom } from './settings.ts';
import { tell } from './streams.ts';

export async function workOnHooks(task: HooksTask, parts: Parts<unknown>): Promise<Printed> {
  const notes: string[] = [];
  const note = (line: string): void => void notes.push(line);
  try {
    const printed = await done(task, parts, note);
    return { ...printed, notes };
  } catch (error) {
    // They may be why.
    for (const line of notes) tell(`softquota: ${line}\n`);
    throw error;
  }
}

/** The parts that an earlier process at the same task told are of the task's type. */
function done(task: HooksTask, parts: Parts<unknown>, note: Note): Promise<Omit<Printed, 'notes'>> {
  switch (task.act) {
    case 'install':
      return install(task.roots, task.options, parts as Parts<InstallDone>, note);
    case 'status':
      return status(task.roots, task.options, note);
    case 'remove':
      return remove(task.roots, task.options, parts as Parts<RemoveDone>, note);
  }
}

type Note = (line: string) => void;

async function install(
  roots: readonly string[],
  options: InstallTaskOptions,
  parts: Parts<InstallDone>,
  note: Note,
): Promise<Omit<Printed, 'notes'>> {
  const { server } = configFrom(options, note);
  const onError = options.onError === undefined ? {} : { onError: parseOnError(options.onError) };
  const lastFor = options.lastFor === undefined ? {} : { lastFor: parseLastFor(options.lastFor) };
  const known = options.gitolite === undefined ? await emptyForges(roots) : [];
  const target = known.length > 0 ? { repositories: [] } : await targetOf(roots, options, note);
  const shared = options.shared === undefined ? {} : { shared: await sharedIn(options.shared) };
  const wanted = { socket: server.socket, ...onError, ...lastFor, ...shared, parts };
  if ('gitolite' in target) {
    const report = await distributeHooks(target.gitolite, wanted);
    return {
      output: options.json === true ? jsonText(distributeJson(report)) : distributeText(report),
      status: report.repositories.repositories.every(isReached) ? exitCodes.done : exitCodes.refused,
    };
  }
  const report = await installHooks(target.repositories, wanted);
  const template = options.template === undefined ? {} : { directory: resolve(options.template) };
  const places = roots.map(root => resolve(root));
  const forges = await writeForgeTemplates(places, report, { ...template, known });
  const isDone = report.repositories.every(isReached) && forges.every(({ fault }) => fault === null);
  return {
    output: options.json === true ? jsonText(installJson(report, forges)) : installText(report, forges),
    status: isDone ? exitCodes.done : exitCodes.refused,
  };
}

/** The roots if they have no repository yet, and are those of Gitea or Forgejo; else none. */
async function emptyForges(roots: readonly string[]): Promise<readonly string[]> {
  const places = roots.map(root => resolve(root));
  if (places.length === 0 || (await findRepositories(places)).repositories.length > 0) return [];
  const surveys = await Promise.all(places.map(place => survey(place).catch(() => null)));
  return surveys.every(found => found?.layout === 'gitea' || found?.layout === 'forgejo') ? places : [];
}

async function sharedIn(place: string): Promise<SharedPlace> {
  return place === 'none' ? place : writeShared(place);
}

async function status(
  roots: readonly string[],
  options: ConfigOption & TargetOptions,
  note: Note,
): Promise<Omit<Printed, 'notes'>> {
  const expected = options.config === undefined ? null : configFrom(options, note).server.socket;
  const target = await targetOf(roots, options, note);
  const common = 'gitolite' in target ? await commonStatus(target.gitolite) : null;
  const report = await hooksStatus(target.repositories);
  const isWell = (each: RepositoryStatus): boolean =>
    isProtected(each) && !asksElsewhere(each, report.hookConf, expected);
  return {
    output:
      options.json === true
        ? jsonText(statusJson(report, common))
        : (common === null ? '' : commonText(common)) + statusText(report, expected),
    status: report.repositories.every(isWell) ? exitCodes.done : exitCodes.refused,
  };
}

async function remove(
  roots: readonly string[],
  options: TargetOptions,
  parts: Parts<RemoveDone>,
  note: Note,
): Promise<Omit<Printed, 'notes'>> {
  const target = await targetOf(roots, options, note);
  const report = 'gitolite' in target ? await withdrawHooks(target.gitolite, parts) : null;
  const results = report?.repositories ?? (await removeHooks(target.repositories, parts));
  const templates = await removeForgeTemplates(roots.map(root => resolve(root)));
  const isFaulty = results.some(isFault) || templates.some(({ fault }) => fault !== null);
  return {
    output:
      options.json === true
        ? jsonText(report === null ? results : withdrawJson(report))
        : removeText(results, report, templates),
    status: isFaulty ? exitCodes.refused : exitCodes.done,
  };
}

type Target =
  | { readonly repositories: readonly string[] }
  | { readonly repositories: readonly string[]; readonly gitolite: Gitolite };

async function targetOf(roots: readonly string[], { gitolite }: TargetOptions, note: Note): Promise<Target> {
  if (gitolite === undefined) {
    if (roots.length > 0) return { repositories: await found(roots, note) };
    throw new SoftquotaError('usage', `expected ${rootsHelp}, or --gitolite`);
  }
  if (roots.length > 0) {
    throw new SoftquotaError(
      'usage',
      `--gitolite already means all of its repositories; do not also give ${roots.join(', ')}`,
    );
  }
  const distributor = await findGitolite(gitolite === true ? 'auto' : resolve(gitolite));
  return { repositories: await found([distributor.repositories], note), gitolite: distributor };
}

/** The repositories below the roots; what cannot be looked into is noted. */
async function found(roots: readonly string[], note: Note): Promise<readonly string[]> {
  const { repositories, unread } = await findRepositories(roots.map(root => resolve(root)));
  for (const { path, reason } of unread) note(printable(`${path}: ${reason}`));
  if (repositories.length > 0) return repositories;
  throw new SoftquotaError('usage', `no bare repository (HEAD, objects, refs) is below ${roots.join(', ')}`);
}
