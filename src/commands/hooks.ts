/** `softquota hooks`: put the git hooks into repositories, tell how they stand, take them out. */

import { resolve } from 'node:path';
import type { Command } from 'commander';
import { exitCodes, SoftquotaError } from '../errors.ts';
import {
  findRepositories,
  type HookState,
  type HooksPath,
  hookNames,
  hooksStatus,
  type InstallReport,
  installHooks,
  isProtected,
  parseOnError,
  type RepositoryStatus,
  removeHooks,
} from '../githooks/index.ts';
import { printable } from '../quota/index.ts';
import type { Exit } from './exit.ts';
import { print, printJson, table } from './output.ts';
import { type ConfigOption, configFrom, withConfigOption, withJsonOption } from './settings.ts';

interface InstallOptions extends ConfigOption {
  readonly onError?: string;
  readonly json?: boolean;
}

interface JsonOption {
  readonly json?: boolean;
}

const rootsHelp = 'repositories, or directories with repositories somewhere below';

export function addHooks(program: Command, exit: Exit): void {
  const hooks = program
    .command('hooks')
    .summary('put the git hooks into repositories')
    .description('Puts the hooks that ask before a push and tell after it into bare repositories.');

  withJsonOption(withConfigOption(hooks.command('install')))
    .summary('install or update the hooks')
    .description(
      'Installs or updates the hooks, and writes where the gate is into each repository. A hook that is there\n' +
        'goes on as pre-receive.d/50-previous; nothing is written through a link.',
    )
    .argument('<roots...>', rootsHelp)
    .option(
      '--on-error <policy>',
      'what a push may when the daemon cannot be asked: allow, deny or last',
    )
    .action(async (roots: readonly string[], options: InstallOptions) => {
      const { server } = configFrom(options);
      const repositories = await found(roots);
      const onError = options.onError === undefined ? {} : { onError: parseOnError(options.onError) };
      const report = await installHooks(repositories, { socket: server.socket, ...onError });
      if (options.json === true) printJson(report);
      else print(installText(report));
      exit(report.repositories.some(isFault) ? exitCodes.refused : exitCodes.done);
    });

  withJsonOption(hooks.command('status'))
    .summary('tell how the hooks stand')
    .argument('<roots...>', rootsHelp)
    .addHelpText('after', '\nExit status: 0 all installed and reached, 1 some are not.')
    .action(async (roots: readonly string[], options: JsonOption) => {
      const report = await hooksStatus(await found(roots));
      if (options.json === true) printJson(report);
      else print(statusText(report.repositories));
      exit(report.repositories.every(isProtected) ? exitCodes.done : exitCodes.refused);
    });

  withJsonOption(hooks.command('remove'))
    .summary('take the hooks out again')
    .description('Takes the hooks out; a hook that was there before them returns to its place.')
    .argument('<roots...>', rootsHelp)
    .action(async (roots: readonly string[], options: JsonOption) => {
      const results = await removeHooks(await found(roots));
      if (options.json === true) printJson(results);
      else {
        const lines = results.map(result =>
          isFault(result)
            ? faultLine(result)
            : `${result.repository}: ${hookNames.map(name => `${name} ${result.hooks[name]}`).join(', ')}`,
        );
        print(`${[...lines, `${counted(results.length)}.`].map(printable).join('\n')}\n`);
      }
      exit(results.some(isFault) ? exitCodes.refused : exitCodes.done);
    });
}

/** The repositories below the roots; what cannot be looked into is told on standard error. */
async function found(roots: readonly string[]): Promise<readonly string[]> {
  const { repositories, unread } = await findRepositories(roots.map(root => resolve(root)));
  for (const { path, reason } of unread)
    process.stderr.write(`softquota: ${printable(`${path}: ${reason}`)}\n`);
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

function faultLine({ repository, fault }: Fault): string {
  return `${repository}: ${fault}`;
}

function installText({ repositories, hookConf, future }: InstallReport): string {
  const lines = repositories.flatMap(result => {
    if (isFault(result)) return [faultLine(result)];
    const did = hookNames.map(name => {
      const { did: what, previous } = result.hooks[name];
      return `${name} ${what}${previous === null ? '' : ` (the one before goes on as ${previous})`}`;
    });
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
  return `${[
    ...lines,
    `${counted(repositories.length)}${faults === 0 ? '' : `, ${faults} of them not done`}.`,
    ...conf,
    '',
    'Repositories made from now on get the hooks by one of these:',
    '- git copies them into each new one:',
    ...future.templateDir.map(line => `    ${line}`),
    '- git runs them for all, and after them the ones in the repositories:',
    ...future.hooksPath.map(line => `    ${line}`),
  ]
    .map(printable)
    .join('\n')}\n`;
}

function elsewhere(repository: string, hooksPath: HooksPath | null): string[] {
  if (hooksPath === null) return [];
  return [
    `${repository}: git does not look there: core.hooksPath = ${hooksPath.path}, as ${hooksPath.from} says`,
  ];
}

function statusText(repositories: readonly RepositoryStatus[]): string {
  const rows = repositories.map(status =>
    isFault(status)
      ? [status.repository, '?', '?', status.fault]
      : [
          status.repository,
          ...hookNames.map(name => stateWords(status.hooks[name])),
          status.hooksPath === null
            ? `asks at ${status.settings.socket ?? 'the default socket'}`
            : `not reached: core.hooksPath = ${status.hooksPath.path} (${status.hooksPath.from})`,
        ],
  );
  const missing = repositories.filter(status => !isProtected(status)).length;
  return (
    table([{ title: 'REPOSITORY' }, ...hookNames.map(title => ({ title })), { title: 'REMARK' }], rows) +
    (missing === 0
      ? `${counted(repositories.length)}, all with their hooks.\n`
      : `${counted(repositories.length)}, ${missing} without working hooks: softquota hooks install mends it.\n`)
  );
}

function stateWords(hook: HookState): string {
  if (hook.state === 'absent') return 'missing';
  if (hook.state === 'other') return 'another hook';
  return hook.current ? 'installed' : 'outdated or not executable';
}

function counted(repositories: number): string {
  return `${repositories} ${repositories === 1 ? 'repository' : 'repositories'}`;
}
