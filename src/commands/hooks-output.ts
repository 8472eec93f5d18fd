/**
 * Prints the results of `softquota hooks`, for people and as JSON. The keys of `hooks` are the names of git's
 * hooks.
 */

import {
  type CommonStatus,
  type DistributeReport,
  type ForgeTemplate,
  type GlobalHooks,
  type HookState,
  type HooksPath,
  hookNames,
  type InstalledHook,
  type InstalledHooks,
  type InstallResult,
  isProtected,
  type RemovedTemplate,
  type RemoveResult,
  type RepositoryFault,
  type RepositoryStatus,
  type WantedSettings,
  type WithdrawReport,
} from '../git/index.ts';
import { counted, printable } from '../text/index.ts';
import { snakeCased } from '../wire/index.ts';
import { type Column, escapedLines, jsonText, table } from './output.ts';

/** All that one installation did. */
interface InstallOutcome {
  readonly wanted: WantedSettings;
  readonly repositories: readonly InstallResult[];
  readonly gitolite: DistributeReport | null;
  readonly forges: readonly ForgeTemplate[];
  readonly global: readonly GlobalHooks[];
  readonly programs: readonly string[];
}

export function isFault(result: { readonly repository: string }): result is RepositoryFault {
  return 'fault' in result;
}

/** Returns true if all hooks are installed and git runs them. */
export function isReached(result: InstallResult): boolean {
  return !isFault(result) && result.hooksPath?.ours !== false;
}

export function installOutput(done: InstallOutcome, json: boolean): string {
  const { wanted, repositories, gitolite, forges, global, programs } = done;
  if (json) {
    const { socket, client } = wanted;
    return jsonText(
      snakeCased({
        socket,
        client,
        repositories,
        ...(gitolite === null ? {} : { gitolite: { ...gitolite.gitolite, hooks: gitolite.hooks } }),
        forges,
        global,
        programs,
      }),
    );
  }
  const places = [
    ...global,
    ...(gitolite === null ? [] : [{ directory: gitolite.gitolite.common, ...gitolite }]),
  ];
  const faults = repositories.filter(isFault).length;
  const failed = faults === 0 ? '' : `, ${faults} of them failed`;
  return escapedLines([
    ...places.map(({ directory, hooks }) => `${directory}: ${didWords(hooks)}`),
    ...programs,
    ...repositories.flatMap(result =>
      isFault(result)
        ? [faultLine(result)]
        : [
            `${result.repository}: ${didWords(result.hooks)}`,
            ...elsewhere(result.repository, result.hooksPath),
          ],
    ),
    `${counted(repositories.length, 'repository', 'repositories')}${failed}. The hooks ask at ${wanted.socket} by ${wanted.client}.`,
    ...(gitolite === null ? [] : ['gitolite also links the hooks into each new repository.']),
    ...forges.flatMap(forgeLines),
  ]);
}

function forgeLines({ root, template, fault, lines: settings, where }: ForgeTemplate): string[] {
  if (fault !== null)
    return ['', `${template}: the template for new repositories could not be written: ${fault}`];
  return [
    '',
    `New repositories in ${root} get the hooks from ${template}. ${where}:`,
    ...settings.map(line => `    ${line}`),
  ];
}

function didWords(hooks: InstalledHooks): string {
  return hookNames.map(name => `${name} ${hookWords(hooks[name])}`).join(', ');
}

function hookWords({ did, previous, skipped }: InstalledHook): string {
  if (previous === null) return did;
  return skipped
    ? `${did} (the previous hook is kept as ${previous}; it is not executable, so it does not run)`
    : `${did} (the previous hook runs as ${previous})`;
}

function elsewhere(repository: string, hooksPath: HooksPath | null): string[] {
  if (hooksPath === null) return [];
  if (hooksPath.ours)
    return [
      `${repository}: git runs the softquota hooks in ${hooksPath.directory}, because of core.hooksPath`,
    ];
  return [
    `${repository}: git does not run these hooks: core.hooksPath = ${hooksPath.path}, set in ${hooksPath.from}`,
  ];
}

/** `expected`: the socket that the hooks have to use; null if none was given. */
export function statusOutput(
  statuses: readonly RepositoryStatus[],
  common: CommonStatus | null,
  expected: string | null,
  json: boolean,
): string {
  if (json) {
    return jsonText(snakeCased({ repositories: statuses, ...(common === null ? {} : { common }) }));
  }
  const unwell = statuses.filter(status => !isWell(status, expected));
  const ofGitlab = unwell.filter(status => !isFault(status) && status.gitlab !== null).length;
  const elsewhere = unwell.filter(isProtected).length;
  const without = unwell.length - ofGitlab - elsewhere;
  const rest = [
    ...(unwell.length === 0 ? ['all with working hooks'] : []),
    ...(without === 0 ? [] : [`${without} without (mend: softquota hooks install)`]),
    ...(elsewhere === 0 ? [] : [`${elsewhere} with another socket (mend: softquota hooks install)`]),
    ...(ofGitlab === 0 ? [] : [`${ofGitlab} of GitLab, which runs no hooks`]),
  ].join(', ');
  return (
    (common === null
      ? ''
      : `${printable(common.gitolite.common)}: ${hookNames.map(name => `${name} ${stateWords(common.hooks[name])}`).join(', ')}\n`) +
    table(statuses, [
      ['REPOSITORY', status => status.repository],
      ...hookNames.map((name): Column<RepositoryStatus> => [name, status => hookState(status, name)]),
      ['REMARK', status => (isFault(status) ? status.fault : remark(status, expected))],
    ]) +
    `${counted(statuses.length, 'repository', 'repositories')}, ${rest}.\n`
  );
}

function hookState(status: RepositoryStatus, name: (typeof hookNames)[number]): string {
  if (isFault(status)) return '?';
  return status.hooksPath?.ours === true ? 'ours' : stateWords(status.hooks[name]);
}

/** Tells whether pushes to it are asked about, at the expected socket. */
export function isWell(status: RepositoryStatus, expected: string | null): boolean {
  if (!isProtected(status) || isFault(status)) return false;
  const socket = status.hooks['pre-receive'].settings?.socket ?? null;
  return expected === null || status.hooksPath !== null || socket === expected;
}

function remark(status: Exclude<RepositoryStatus, RepositoryFault>, expected: string | null): string {
  const { gitlab, hooksPath, hooks, leftovers } = status;
  if (gitlab !== null) return gitlab;
  if (hooksPath?.ours === false)
    return `git does not run them: core.hooksPath = ${hooksPath.path} (${hooksPath.from})`;
  const { settings } = hooks['pre-receive'];
  const blocked = hookNames.flatMap(name => hooks[name].blocked ?? [])[0];
  return [
    ...(blocked === undefined ? [] : [`git cannot run them: ${blocked}`]),
    ...(settings === null
      ? []
      : [`asks at ${settings.socket} by ${settings.client}`, `onError = ${settings.onError}`]),
    ...(settings === null || expected === null || settings.socket === expected ? [] : [`not at ${expected}`]),
    ...(hooksPath === null ? [] : [`in ${hooksPath.directory}, because of core.hooksPath`]),
    ...hookNames.flatMap(name => {
      const { skipped } = hooks[name];
      return skipped === null ? [] : [`${skipped} is not executable, and does not run`];
    }),
    ...(leftovers === null ? [] : [`of release 0.1: ${leftovers}`]),
  ].join(', ');
}

function stateWords({ state }: HookState): string {
  return state === 'blocked' ? 'cannot run' : state;
}

export function removeOutput(
  results: readonly RemoveResult[],
  report: WithdrawReport | null,
  templates: readonly RemovedTemplate[],
  json: boolean,
): string {
  if (json) return jsonText(snakeCased(report ?? results));
  const did = (hooks: WithdrawReport['hooks']) => hookNames.map(name => `${name} ${hooks[name]}`).join(', ');
  return escapedLines([
    ...(report === null ? [] : [`${report.directory}: ${did(report.hooks)}`]),
    ...results.map(result =>
      isFault(result) ? faultLine(result) : `${result.repository}: ${did(result.hooks)}`,
    ),
    `${counted(results.length, 'repository', 'repositories')}.`,
    ...templates.map(({ template, fault }) =>
      fault === null
        ? `${template} is removed: take init.templateDir out of the configuration of the forge.`
        : `${template}: ${fault}`,
    ),
  ]);
}

function faultLine({ repository, fault }: RepositoryFault): string {
  return `${repository}: ${fault}`;
}
