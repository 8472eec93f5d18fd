/** `softquota hooks`: put the git hooks into repositories, tell how they stand, take them out. */

import { resolve } from 'node:path';
import type { Command } from 'commander';
import { exitCodes, SoftquotaError } from '../errors.ts';
import {
  type CommonStatus,
  commonStatus,
  type DistributeReport,
  defaultSocket,
  distributeHooks,
  findGitolite,
  findRepositories,
  type Gitolite,
  type HookConf,
  type HookName,
  type HookState,
  type HooksPath,
  hookNames,
  hooksStatus,
  type InstalledHook,
  type InstallReport,
  type InstallResult,
  installHooks,
  isProtected,
  parseLastFor,
  parseOnError,
  type RemoveResult,
  type RepositoryStatus,
  removeHooks,
  type StatusReport,
  type WithdrawReport,
  withdrawHooks,
} from '../githooks/index.ts';
import { counted, printable } from '../text/index.ts';
import type { Exit } from './exit.ts';
import { distributeJson, installJson, statusJson, withdrawJson } from './hooks-json.ts';
import { printJson, table } from './output.ts';
import {
  type ConfigOption,
  configFrom,
  withConfigOption,
  withJsonOption,
  withUnreadConfigOption,
} from './settings.ts';
import { print, tell } from './streams.ts';

interface TargetOptions {
  /** The home of gitolite's user; true: to be found. */
  readonly gitolite?: string | true;
  readonly json?: boolean;
}

interface InstallOptions extends ConfigOption, TargetOptions {
  readonly onError?: string;
  readonly lastFor?: string;
}

const rootsHelp = 'repositories, or directories with repositories somewhere below';
const gitoliteHelp = "gitolite's repositories instead; HOME is its user's, looked for unless given";

export function addHooks(program: Command, exit: Exit): void {
  const hooks = program
    .command('hooks')
    .summary('put the git hooks into repositories')
    .description('Puts the hooks that ask before a push and tell after it into bare repositories.');

  withTarget(withConfigOption(hooks.command('install')))
    .summary('install or update the hooks')
    .description(
      'Installs or updates the hooks, and writes where the gate is into each repository. A hook that is there\n' +
        'goes on as pre-receive.d/50-previous; nothing is written through a link. Repositories of GitLab get none:\n' +
        'it runs no hook of a repository. With --gitolite they go where gitolite links them from into every\n' +
        'repository, those to come included.',
    )
    .addHelpText('after', '\nExit status: 0 all installed and reached, 1 some are not.')
    .option(
      '--on-error <policy>',
      'what a push may when the daemon cannot be asked: allow, deny, or last, as it last published (the default)',
    )
    .option(
      '--last-for <age>',
      'how long what it last published counts: hours or days, such as 24h (the default)',
    )
    .action(async (roots: readonly string[], options: InstallOptions) => {
      const { server } = configFrom(options);
      const onError = options.onError === undefined ? {} : { onError: parseOnError(options.onError) };
      const lastFor = options.lastFor === undefined ? {} : { lastFor: parseLastFor(options.lastFor) };
      const wanted = { socket: server.socket, ...onError, ...lastFor };
      const target = await targetOf(roots, options);
      if ('gitolite' in target) {
        const report = await distributeHooks(target.gitolite, wanted);
        if (options.json === true) printJson(distributeJson(report));
        else print(distributeText(report));
        return exit(!report.repositories.repositories.every(isReached) ? exitCodes.refused : exitCodes.done);
      }
      const report = await installHooks(target.repositories, wanted);
      if (options.json === true) printJson(installJson(report));
      else print(installText(report));
      exit(report.repositories.every(isReached) ? exitCodes.done : exitCodes.refused);
    });

  withTarget(
    withConfigOption(hooks.command('status'), 'a configuration, at whose SOCKET the hooks have to ask'),
  )
    .summary('tell how the hooks stand')
    .addHelpText('after', '\nExit status: 0 all installed and reached, 1 some are not.')
    .action(async (roots: readonly string[], options: ConfigOption & TargetOptions) => {
      const expected = options.config === undefined ? null : configFrom(options).server.socket;
      const target = await targetOf(roots, options);
      const common = 'gitolite' in target ? await commonStatus(target.gitolite) : null;
      const report = await hooksStatus(target.repositories);
      if (options.json === true) printJson(statusJson(report, common));
      else print((common === null ? '' : commonText(common)) + statusText(report, expected));
      const isWell = (status: RepositoryStatus): boolean =>
        isProtected(status) && !asksElsewhere(status, report.hookConf, expected);
      exit(report.repositories.every(isWell) ? exitCodes.done : exitCodes.refused);
    });

  withTarget(withUnreadConfigOption(hooks.command('remove')))
    .summary('take the hooks out again')
    .description('Takes the hooks out; a hook that was there before them returns to its place.')
    .action(async (roots: readonly string[], options: TargetOptions) => {
      const target = await targetOf(roots, options);
      const report = 'gitolite' in target ? await withdrawHooks(target.gitolite) : null;
      const results = report?.repositories ?? (await removeHooks(target.repositories));
      if (options.json === true) printJson(report === null ? results : withdrawJson(report));
      else print(removeText(results, report));
      exit(results.some(isFault) ? exitCodes.refused : exitCodes.done);
    });
}

function withTarget(command: Command): Command {
  return withJsonOption(command).argument('[roots...]', rootsHelp).option('--gitolite [home]', gitoliteHelp);
}

type Target =
  | { readonly repositories: readonly string[] }
  | { readonly repositories: readonly string[]; readonly gitolite: Gitolite };

async function targetOf(roots: readonly string[], { gitolite }: TargetOptions): Promise<Target> {
  if (gitolite === undefined) {
    if (roots.length > 0) return { repositories: await found(roots) };
    throw new SoftquotaError('usage', `expected ${rootsHelp}, or --gitolite`);
  }
  if (roots.length > 0) {
    throw new SoftquotaError(
      'usage',
      `--gitolite stands for all of its repositories; expected no ${roots.join(', ')}`,
    );
  }
  const distributor = await findGitolite(gitolite === true ? 'auto' : resolve(gitolite));
  return { repositories: await found([distributor.repositories]), gitolite: distributor };
}

/** The repositories below the roots; what cannot be looked into is told on standard error. */
async function found(roots: readonly string[]): Promise<readonly string[]> {
  const { repositories, unread } = await findRepositories(roots.map(root => resolve(root)));
  for (const { path, reason } of unread) tell(`softquota: ${printable(`${path}: ${reason}`)}\n`);
  if (repositories.length > 0) return repositories;
  throw new SoftquotaError('usage', `no bare repository (HEAD, objects, refs) is below ${roots.join(', ')}`);
}

interface Fault {
  readonly repository: string;
  readonly fault: string;
}

function isFault(result: { readonly repository: string }): result is Fault {
  return 'fault' in result;
}

/** Tells whether all was done there, and git runs it. */
function isReached(result: InstallResult): boolean {
  return !isFault(result) && result.hooksPath?.ours !== false;
}

function faultLine({ repository, fault }: Fault): string {
  return `${repository}: ${fault}`;
}

function installText(report: InstallReport): string {
  const { future } = report;
  return lines([
    ...installedLines(report),
    '',
    'Repositories made from now on get the hooks from git, which copies them into each new one, after:',
    ...future.templateDir.map(line => `    ${line}`),
  ]);
}

function distributeText({ gitolite, hooks, repositories: report }: DistributeReport): string {
  const did = hookNames.map(name => didWords(name, hooks[name]));
  return lines([
    `${gitolite.common}: ${did.join(', ')}`,
    ...installedLines(report),
    '',
    ...(report.hookConf !== null
      ? ['gitolite links them into each new repository, too.']
      : [
          'gitolite links them into each new repository, too. Where the gate is, those read from one of these:',
          '- a file for the whole machine:',
          ...report.future.hookConf.map(line => `    ${line}`),
          "- gitolite.conf, where .gitolite.rc allows it (GIT_CONFIG_KEYS => 'softquota\\..*'):",
          ...report.future.gitoliteConf.map(line => `    ${line}`),
        ]),
  ]);
}

function installedLines({ repositories, hookConf }: InstallReport): string[] {
  const told = repositories.flatMap(result => {
    if (isFault(result)) return [faultLine(result)];
    const did = hookNames.map(name => didWords(name, result.hooks[name]));
    return [`${result.repository}: ${did.join(', ')}`, ...elsewhere(result.repository, result.hooksPath)];
  });
  const faults = repositories.filter(isFault).length;
  const conf =
    hookConf === null
      ? []
      : [
          hookConf.believed
            ? `/etc/softquota/hook.conf counts: the hooks ask at ${hookConf.socket ?? 'the default socket'}.`
            : '/etc/softquota/hook.conf is not believed: only root may be able to write it, and all must be able to read it.',
        ];
  return [
    ...told,
    `${counted(repositories.length, 'repository', 'repositories')}${faults === 0 ? '' : `, ${faults} of them not done`}.`,
    ...conf,
  ];
}

function didWords(name: HookName, { did, previous }: InstalledHook): string {
  return `${name} ${did}${previous === null ? '' : ` (the one before goes on as ${previous})`}`;
}

function removeText(results: readonly RemoveResult[], report: WithdrawReport | null): string {
  const did = (hooks: WithdrawReport['hooks']) => hookNames.map(name => `${name} ${hooks[name]}`).join(', ');
  return lines([
    ...(report === null ? [] : [`${report.gitolite.common}: ${did(report.hooks)}`]),
    ...results.map(result =>
      isFault(result) ? faultLine(result) : `${result.repository}: ${did(result.hooks)}`,
    ),
    `${counted(results.length, 'repository', 'repositories')}.`,
  ]);
}

function commonText({ gitolite, hooks }: CommonStatus): string {
  const states = hookNames.map(name => `${name} ${stateWords(hooks[name])}`);
  return lines([`${gitolite.common}: ${states.join(', ')}`]);
}

function lines(texts: readonly string[]): string {
  return `${texts.map(printable).join('\n')}\n`;
}

function elsewhere(repository: string, hooksPath: HooksPath | null): string[] {
  if (hooksPath === null) return [];
  if (hooksPath.ours) return [`${repository}: git runs ours in ${hooksPath.directory}, by core.hooksPath`];
  return [
    `${repository}: git does not look there: core.hooksPath = ${hooksPath.path}, as ${hooksPath.from} says`,
  ];
}

/** `expected`: the socket that they are to ask at; null where nobody said. */
function statusText({ repositories, hookConf }: StatusReport, expected: string | null): string {
  const rows = repositories.map(status => {
    if (isFault(status)) return [status.repository, '?', '?', status.fault];
    const states = hookNames.map(name =>
      status.hooksPath?.ours === true ? 'installed' : stateWords(status.hooks[name]),
    );
    return [status.repository, ...states, remark(status, hookConf, expected)];
  });
  const missing = repositories.filter(status => !isProtected(status));
  const gitlab = missing.filter(status => !isFault(status) && status.gitlab !== null).length;
  const mended = missing.length - gitlab;
  const elsewhere = repositories.filter(status => asksElsewhere(status, hookConf, expected)).length;
  const parts = [
    counted(repositories.length, 'repository', 'repositories'),
    ...(mended === 0 ? [] : [`${mended} without working hooks: softquota hooks install mends it`]),
    ...(gitlab === 0 ? [] : [`${gitlab} of GitLab, where no hook is run`]),
    ...(elsewhere === 0 ? [] : [`${elsewhere} asking at another socket than ${printable(expected ?? '')}`]),
    ...(missing.length + elsewhere === 0 ? ['all with their hooks'] : []),
  ];
  return (
    table([{ title: 'REPOSITORY' }, ...hookNames.map(title => ({ title })), { title: 'REMARK' }], rows) +
    `${parts.join(', ')}.\n`
  );
}

type ReadStatus = Exclude<RepositoryStatus, Fault>;

function remark(status: ReadStatus, hookConf: HookConf | null, expected: string | null): string {
  const { gitlab, hooksPath, settings } = status;
  if (gitlab !== null) return gitlab;
  if (hooksPath?.ours === false) return `not reached: core.hooksPath = ${hooksPath.path} (${hooksPath.from})`;
  const { onError, lastFor, timeout } = settings;
  const others = Object.entries({ onError, lastFor, timeout }).filter(([, value]) => value !== null);
  const words = [
    `asks at ${socketAsked(status, hookConf) ?? 'the default socket'}`,
    ...(hookConf?.believed === true ? [] : others.map(([name, value]) => `${name} = ${value}`)),
    ...(asksElsewhere(status, hookConf, expected) ? [`not at ${expected}`] : []),
    ...(hooksPath === null ? [] : [`from ${hooksPath.directory}, by core.hooksPath`]),
    ...(settings.includes ? ['its config includes other files, which are not read'] : []),
  ];
  return words.join(', ');
}

/** The socket that a push there asks at; null where nothing names one. */
function socketAsked({ settings }: ReadStatus, hookConf: HookConf | null): string | null {
  return hookConf?.believed === true ? hookConf.socket : settings.socket;
}

function asksElsewhere(
  status: RepositoryStatus,
  hookConf: HookConf | null,
  expected: string | null,
): boolean {
  if (expected === null || isFault(status)) return false;
  return (socketAsked(status, hookConf) ?? defaultSocket) !== expected;
}

function stateWords(hook: HookState): string {
  if (hook.state === 'absent') return 'missing';
  if (hook.state === 'other') return 'another hook';
  return hook.current ? 'installed' : 'outdated or not executable';
}
