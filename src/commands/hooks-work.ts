/** Does the work of `softquota hooks`, in a process of its own because a disk may block it for ever. */

import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { loadConfig } from '../config/index.ts';
import { missingGits, survey } from '../doctor/index.ts';
import { exitCodes, SoftquotaError } from '../errors.ts';
import * as git from '../git/index.ts';
import { isWithin, resolveLayout } from '../layout/index.ts';
import { counted, printable, shellQuoted } from '../text.ts';
import { snakeCased } from '../wire/index.ts';
import { type HooksOptions, type HooksTask, type Printed, rootsHelp } from './job.ts';
import { type Column, escapedLines, jsonText, type Texts, table, textsIn } from './output.ts';
import { configFrom, whereIs } from './settings.ts';
import { statusTold, tellNote, tellUnread } from './streams.ts';

interface Outcome {
  /** Printed with `--json`, in snake_case; the keys of `hooks` are the names of git's hooks. */
  readonly json: object;
  /** Whole lines. */
  readonly text: string;
  readonly isWell: boolean;
}

export async function workOnHooks({ act, roots, options }: HooksTask): Promise<Printed> {
  const { json, text, isWell } = await { install, status, remove }[act](roots, options);
  return {
    output: options.json === true ? jsonText(snakeCased(json)) : text,
    status: statusTold(isWell ? exitCodes.done : exitCodes.refused),
  };
}

async function install(roots: readonly string[], options: HooksOptions): Promise<Outcome> {
  const wanted = await settingsFrom(options);
  const { socket, client } = wanted;
  const gits = await missingGits(options.socket === undefined ? configFrom(options).reclaim.gits : ['git']);
  if (gits !== null) tellNote(`${gits.words}: name them for the worker, as [reclaim] GIT = ${gits.value}`);
  const global: git.GlobalHooks[] = [];
  if (options.gitlab !== undefined) global.push(await git.installGlobally(options.gitlab, 'gitlab', wanted));
  if (options.hooksPath !== undefined)
    global.push(await git.installGlobally(options.hooksPath, 'git', wanted));
  const programs = options.programs === undefined ? [] : await git.writePrograms(options.programs, wanted);
  const hasOther = global.length > 0 || programs.length > 0;
  const isNothing = roots.length === 0 && options.gitolite === undefined && hasOther;
  const nothing: Target = { repositories: [], isWhole: true };
  const target = isNothing ? nothing : await targetOf('install', roots, options);
  const shared = target.gitolite ? await git.distributeHooks(target.gitolite, wanted) : null;
  const repositories = shared?.repositories ?? (await git.installHooks(target.repositories, wanted));
  const places = roots.map(root => resolve(root));
  const forges = await git.writeForgeTemplates(places, repositories, wanted, repositories.length === 0);
  const gitolite = shared === null ? {} : { gitolite: { ...shared.gitolite, hooks: shared.hooks } };
  const common = shared === null ? [] : [{ directory: shared.gitolite.common, hooks: shared.hooks }];
  const faults = repositories.filter(isFault).length;
  const failed = faults === 0 ? '' : `, ${faults} of them failed`;
  return {
    json: { socket, client, repositories, ...gitolite, forges, global, programs },
    text: escapedLines([
      [...global, ...common].map(({ directory, hooks }) => `${directory}: ${didWords(hooks)}`),
      programs,
      repositories.map(installedLines),
      `${counted(repositories.length, 'repository', 'repositories')}${failed}. The hooks ask at ${socket} by ${client}.`,
      shared && 'gitolite also links the hooks into each new repository.',
      forges.map(forgeLines),
    ]),
    isWell:
      target.isWhole &&
      repositories.every(
        result =>
          !isFault(result) && (result.hooksPath === null ? canRun(result.hooks) : result.hooksPath.ours),
      ) &&
      [...global, ...common].every(({ hooks }) => canRun(hooks)) &&
      forges.every(({ fault }) => fault === null),
  };
}

function canRun(hooks: git.InstalledHooks): boolean {
  return Object.values(hooks).every(({ blocked }) => blocked === null);
}

function isFault(result: { readonly repository: string }): result is git.RepositoryFault {
  return 'fault' in result;
}

function installedLines(result: git.InstallResult): Texts {
  if (isFault(result)) return faultLine(result);
  const { repository, hooks, hooksPath } = result;
  return [`${repository}: ${didWords(hooks)}`, hooksPath && `${repository}: ${elsewhere(hooksPath)}`];
}

async function settingsFrom(options: HooksOptions): Promise<git.WantedSettings> {
  const { socket, client } = options;
  return {
    socket: socket === undefined ? configFrom(options).server.socket : resolve(socket),
    client: await chosenClient(client),
    ...git.parsePolicies(options),
  };
}

/** The named program, or the fastest one that works. */
async function chosenClient(name: string | undefined): Promise<git.WantedSettings['client']> {
  const where = `in ${git.programFolders.join(', ')}`;
  if (name !== undefined && name !== 'nc' && name !== 'curl')
    throw new SoftquotaError('usage', `--client ${name} is not known; expected nc or curl`);
  if (name !== undefined) {
    if (await git.asks(name)) return name;
    throw new SoftquotaError('conflict', `no ${name} ${where} asks at a socket as the hooks need it`);
  }
  const found = await git.findClient();
  if (found !== null) return found;
  throw new SoftquotaError(
    'conflict',
    `neither OpenBSD's nc (with timeout) nor curl ${where} asks at a socket as the hooks need it: install one of them`,
  );
}

function didWords(hooks: git.InstalledHooks): string {
  return git.hookNames.map(name => `${name} ${hookWords(hooks[name])}`).join(', ');
}

function hookWords({ did, previous, skipped, blocked }: git.InstalledHook): string {
  const words = blocked === null ? did : `${did} (git cannot run it: ${blocked})`;
  if (previous === null) return words;
  return skipped
    ? `${words} (the previous hook is kept as ${previous}; it is not executable, so it does not run)`
    : `${words} (the previous hook runs as ${previous})`;
}

function elsewhere({ ours, directory, path, from }: git.HooksPath): string {
  return ours
    ? `git runs the softquota hooks in ${directory}, because of core.hooksPath`
    : `git does not run these hooks: core.hooksPath = ${path}, set in ${from}`;
}

function forgeLines({ root, template, fault, lines: settings, where }: git.ForgeTemplate): Texts {
  if (fault !== null)
    return ['', `${template}: the template for new repositories could not be written: ${fault}`];
  return [
    '',
    `New repositories in ${root} get the hooks from ${template}. ${where}:`,
    settings.map(line => `    ${line}`),
  ];
}

async function status(roots: readonly string[], options: HooksOptions): Promise<Outcome> {
  /** The socket that the hooks have to use; null if no configuration was named. */
  const expected = options.config === undefined ? null : configFrom(options).server.socket;
  const target = await targetOf('status', roots, options);
  const common = target.gitolite ? await git.commonStatus(target.gitolite) : null;
  const statuses = await git.hooksStatus(target.repositories);
  const states = git.hookNames.map(name => common && `${name} ${stateWords(common.hooks[name])}`).join(', ');
  const shown = table(statuses, [
    ['REPOSITORY', each => each.repository],
    ...git.hookNames.map((name): Column<git.RepositoryStatus> => {
      const state = (each: git.RepositoryStatus) =>
        isFault(each) ? '?' : each.hooksPath?.ours === true ? 'ours' : stateWords(each.hooks[name]);
      return [name, state];
    }),
    ['REMARK', each => (isFault(each) ? each.fault : remark(each, expected))],
  ]);
  return {
    json: { repositories: statuses, ...(common === null ? {} : { common }) },
    text: `${escapedLines(common && `${common.gitolite.common}: ${states}`)}${shown}${sumOf(statuses, expected)}\n`,
    isWell: target.isWhole && statuses.every(each => isWell(each, expected)),
  };
}

function sumOf(statuses: readonly git.RepositoryStatus[], expected: string | null): string {
  const unwell = statuses.filter(each => !isWell(each, expected));
  const ofGitlab = unwell.filter(each => !isFault(each) && each.gitlab !== null).length;
  const elsewhere = unwell.filter(git.isProtected).length;
  const blocked = unwell.filter(isBlocked).length;
  const misled = unwell.filter(
    each => !isFault(each) && each.gitlab === null && each.hooksPath?.ours === false,
  ).length;
  const faults = unwell.filter(isFault).length;
  const without = unwell.length - ofGitlab - elsewhere - blocked - misled - faults;
  const parts = textsIn([
    counted(statuses.length, 'repository', 'repositories'),
    unwell.length === 0 && 'all with working hooks',
    without > 0 && `${without} without (mend: softquota hooks install)`,
    blocked > 0 && `${blocked} that git cannot run (mend: softquota doctor)`,
    misled > 0 && `${misled} where core.hooksPath leads elsewhere (mend: softquota doctor)`,
    faults > 0 && `${faults} that could not be checked`,
    elsewhere > 0 && `${elsewhere} with another socket (mend: softquota hooks install)`,
    ofGitlab > 0 && `${ofGitlab} of GitLab, which runs no hooks`,
  ]);
  return `${parts.join(', ')}.`;
}

function isBlocked(status: git.RepositoryStatus): boolean {
  if (isFault(status) || status.gitlab !== null || status.hooksPath !== null) return false;
  return git.hookNames.some(name => status.hooks[name].blocked !== null);
}

function stateWords({ state }: git.HookState): string {
  return state === 'blocked' ? 'cannot run' : state;
}

/** Returns true if pushes to the repository are checked, at the expected socket. */
function isWell(status: git.RepositoryStatus, expected: string | null): boolean {
  if (!git.isProtected(status) || isFault(status)) return false;
  const socket = status.hooks['pre-receive'].settings?.socket ?? null;
  return expected === null || status.hooksPath !== null || socket === expected;
}

function remark(status: Exclude<git.RepositoryStatus, git.RepositoryFault>, expected: string | null): string {
  const { gitlab, hooksPath, hooks } = status;
  if (gitlab !== null) return gitlab;
  if (hooksPath?.ours === false)
    return `git does not run them: core.hooksPath = ${hooksPath.path} (${hooksPath.from})`;
  const { settings } = hooks['pre-receive'];
  const blocked = Object.values(hooks).find(hook => hook.blocked !== null);
  return textsIn([
    blocked && `git cannot run ${blocked.file}: ${blocked.blocked}`,
    settings && [
      `asks at ${settings.socket} by ${settings.client}`,
      `onError = ${settings.onError}`,
      expected !== null && settings.socket !== expected && `not at ${expected}`,
    ],
    hooksPath && `in ${hooksPath.directory}, because of core.hooksPath`,
    git.hookNames.map(name => {
      const { skipped } = hooks[name];
      return skipped && `${skipped} is not executable, and does not run`;
    }),
  ]).join(', ');
}

async function remove(roots: readonly string[], options: HooksOptions): Promise<Outcome> {
  const target = await targetOf('remove', roots, options);
  const report = target.gitolite ? await git.withdrawHooks(target.gitolite) : null;
  const results = report?.repositories ?? (await git.removeHooks(target.repositories));
  const templates = await git.removeForgeTemplates(roots.map(root => resolve(root)));
  const did = (hooks: git.WithdrawReport['hooks']) =>
    git.hookNames.map(name => `${name} ${hooks[name]}`).join(', ');
  return {
    json: report ?? results,
    text: escapedLines([
      report && `${report.directory}: ${did(report.hooks)}`,
      results.map(result =>
        isFault(result) ? faultLine(result) : `${result.repository}: ${did(result.hooks)}`,
      ),
      `${counted(results.length, 'repository', 'repositories')}.`,
      templates.map(({ template, fault }) =>
        fault === null
          ? `${template} is removed: take init.templateDir out of the configuration of the forge.`
          : `${template}: ${fault}`,
      ),
    ]),
    isWell: target.isWhole && !results.some(isFault) && templates.every(({ fault }) => fault === null),
  };
}

function faultLine({ repository, fault }: git.RepositoryFault): string {
  return `${repository}: ${fault}`;
}

interface Target {
  readonly repositories: readonly string[];
  /** False if one of the roots could not be read. */
  readonly isWhole: boolean;
  /** Given if its hooks are those of all repositories. */
  readonly gitolite?: git.Gitolite;
}

async function targetOf(
  act: HooksTask['act'],
  roots: readonly string[],
  options: HooksOptions,
): Promise<Target> {
  const { gitolite } = options;
  if (gitolite === undefined) {
    const places = roots.length > 0 || act !== 'status' ? roots : configuredRoots(options);
    if (places.length > 0) return found(act, places, options);
    throw new SoftquotaError('usage', `expected ${rootsHelp}, or --gitolite`);
  }
  if (roots.length > 0) {
    const message = `--gitolite already means all of its repositories; do not also give ${roots.join(', ')}`;
    throw new SoftquotaError('usage', message);
  }
  const distributor = await git.findGitolite(gitolite === true ? 'auto' : resolve(gitolite));
  return { ...(await found(act, [distributor.repositories], options)), gitolite: distributor };
}

/** Number of working copies that are named; others are only counted. */
const mostNamed = 20;

/** Finds the repositories below the roots. Prints unreadable directories, and working copies left out. */
async function found(
  act: HooksTask['act'],
  roots: readonly string[],
  options: HooksOptions,
): Promise<Target> {
  const places = roots.map(root => resolve(root));
  const { repositories, workingCopies, unread } = await git.findRepositories([
    ...places,
    ...(await followedBelow(places, options)),
  ]);
  tellUnread(unread);
  for (const path of workingCopies.slice(0, mostNamed)) {
    const include = `softquota hooks ${act} ${shellQuoted(path)}`;
    tellNote(printable(`${path} is not bare, and left out; to include it: ${include}`));
  }
  if (workingCopies.length > mostNamed)
    tellNote(`${counted(workingCopies.length - mostNamed, 'more is', 'more are')} not bare, and left out`);
  const named = await Promise.all(places.map(place => realpath(place).catch(() => place)));
  const isWhole = !unread.some(({ path }) => places.includes(path) || named.includes(path));
  if (repositories.length > 0 || (act === 'install' && (await areNewForges(places))))
    return { repositories, isWhole };
  throw new SoftquotaError('usage', `no bare repository (HEAD, objects, refs) is below ${roots.join(', ')}`);
}

/** The directories of the repositories that app.ini names; none if it cannot be read. */
function configuredRoots(options: HooksOptions): readonly string[] {
  const loaded = loadConfig(whereIs(options));
  if (!loaded.ok) return [];
  const { storages, scan } = loaded.config;
  const ofGit = storages.filter(({ kind }) => kind === 'repos' || kind === 'wiki');
  const { roots } = resolveLayout(ofGit, scan.exclude);
  return roots.filter(({ isLink }) => !isLink).map(({ path }) => path);
}

/** The targets of symbolic links below these directories that `[storage] FOLLOW` allows. */
async function followedBelow(places: readonly string[], options: HooksOptions): Promise<readonly string[]> {
  const loaded = loadConfig(whereIs(options));
  // Commands that know the socket work without an app.ini.
  if (!loaded.ok) return [];
  const { storages, scan } = loaded.config;
  const real = await Promise.all(places.map(place => realpath(place).catch(() => place)));
  return resolveLayout(storages, scan.exclude).roots.flatMap(({ isLink, written, path }) =>
    isLink && real.some(place => isWithin(written, place)) ? [path] : [],
  );
}

/** Returns true if the roots, which have no repository yet, belong to Gitea or Forgejo. */
async function areNewForges(roots: readonly string[]): Promise<boolean> {
  const surveys = await Promise.all(roots.map(root => survey(root).catch(() => null)));
  return surveys.every(found => found?.layout === 'gitea' || found?.layout === 'forgejo');
}
