/** Texts that `softquota hooks` prints for people. */

import {
  type CommonStatus,
  type DistributeReport,
  defaultSocket,
  type ForgeTemplate,
  type HookConf,
  type HookName,
  type HookState,
  type HooksPath,
  hookNames,
  type InstalledHook,
  type InstallReport,
  type InstallResult,
  isProtected,
  type RemovedTemplate,
  type RemoveResult,
  type RepositoryFault,
  type RepositoryStatus,
  type StatusReport,
  type WithdrawReport,
} from '../git/index.ts';
import { counted, printable } from '../text/index.ts';
import { table } from './table.ts';

export function isFault(result: { readonly repository: string }): result is RepositoryFault {
  return 'fault' in result;
}

/** Returns true if all hooks are installed and git runs them. */
export function isReached(result: InstallResult): boolean {
  return !isFault(result) && result.hooksPath?.ours !== false;
}

function faultLine({ repository, fault }: RepositoryFault): string {
  return `${repository}: ${fault}`;
}

export function installText(report: InstallReport, forges: readonly ForgeTemplate[]): string {
  const { future } = report;
  if (forges.length > 0) return lines([...installedLines(report), ...forges.flatMap(forgeLines)]);
  return lines([
    ...installedLines(report),
    '',
    'To make git copy the hooks into each new repository, run:',
    ...future.templateDir.map(line => `    ${line}`),
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

export function distributeText({ gitolite, hooks, repositories: report }: DistributeReport): string {
  const did = hookNames.map(name => didWords(name, hooks[name]));
  return lines([
    `${gitolite.common}: ${did.join(', ')}`,
    ...installedLines(report),
    '',
    ...(report.hookConf !== null
      ? ['gitolite also links the hooks into each new repository.']
      : [
          'gitolite also links the hooks into each new repository. They find the socket of the gate in one of these:',
          '- in a file for the whole host:',
          ...report.future.hookConf.map(line => `    ${line}`),
          "- in gitolite.conf, if .gitolite.rc allows it (GIT_CONFIG_KEYS => 'softquota\\..*'):",
          ...report.future.gitoliteConf.map(line => `    ${line}`),
        ]),
  ]);
}

function installedLines(report: InstallReport): string[] {
  const { repositories, hookConf, client } = report;
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
            ? `The hooks use /etc/softquota/hook.conf: they ask at ${hookConf.socket ?? 'the default socket'}.`
            : 'The hooks ignore /etc/softquota/hook.conf: only root may write it, and everybody must be able to read it.',
          ...(hookConf.believed && (hookConf.client ?? 'curl') !== client
            ? [`They can ask by ${client}: put the line client=${client} into that file.`]
            : []),
        ];
  return [
    ...told,
    `${counted(repositories.length, 'repository', 'repositories')}${faults === 0 ? '' : `, ${faults} of them failed`}.`,
    ...(hookConf === null ? [`The hooks ask the daemon with ${client}.`] : conf),
    ...(report.wholeBecause === null
      ? []
      : [`Repositories have whole hooks instead of stubs: ${report.wholeBecause} (see --shared).`]),
  ];
}

function didWords(name: HookName, { did, previous, skipped }: InstalledHook): string {
  if (previous === null) return `${name} ${did}`;
  return skipped
    ? `${name} ${did} (the previous hook is kept as ${previous}; it is not executable, so it does not run)`
    : `${name} ${did} (the previous hook runs as ${previous})`;
}

export function removeText(
  results: readonly RemoveResult[],
  report: WithdrawReport | null,
  templates: readonly RemovedTemplate[],
): string {
  const did = (hooks: WithdrawReport['hooks']) => hookNames.map(name => `${name} ${hooks[name]}`).join(', ');
  return lines([
    ...(report === null ? [] : [`${report.gitolite.common}: ${did(report.hooks)}`]),
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

export function commonText({ gitolite, hooks }: CommonStatus): string {
  const states = hookNames.map(name => `${name} ${stateWords(hooks[name])}`);
  return lines([`${gitolite.common}: ${states.join(', ')}`]);
}

function lines(texts: readonly string[]): string {
  return `${texts.map(printable).join('\n')}\n`;
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
export function statusText({ repositories, hookConf }: StatusReport, expected: string | null): string {
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
    ...(mended === 0 ? [] : [`${mended} without working hooks (fix: softquota hooks install)`]),
    ...(gitlab === 0 ? [] : [`${gitlab} of GitLab, which runs no hooks`]),
    ...(elsewhere === 0 ? [] : [`${elsewhere} with another socket than ${printable(expected ?? '')}`]),
    ...(missing.length + elsewhere === 0 ? ['all with working hooks'] : []),
  ];
  return (
    table([{ title: 'REPOSITORY' }, ...hookNames.map(title => ({ title })), { title: 'REMARK' }], rows) +
    `${parts.join(', ')}.\n`
  );
}

type ReadStatus = Exclude<RepositoryStatus, RepositoryFault>;

function remark(status: ReadStatus, hookConf: HookConf | null, expected: string | null): string {
  const { gitlab, hooksPath, settings } = status;
  if (gitlab !== null) return gitlab;
  if (hooksPath?.ours === false)
    return `git does not run them: core.hooksPath = ${hooksPath.path} (${hooksPath.from})`;
  const { onError, lastFor, timeout, judgeTimeout } = settings;
  const others = Object.entries({ onError, lastFor, timeout, judgeTimeout }).filter(
    ([, value]) => value !== null,
  );
  const words = [
    `asks at ${socketAsked(status, hookConf) ?? 'the default socket'} by ${clientOf(status, hookConf)}`,
    ...(hookConf?.believed === true ? [] : others.map(([name, value]) => `${name} = ${value}`)),
    ...(asksElsewhere(status, hookConf, expected) ? [`not at ${expected}`] : []),
    ...(hooksPath === null ? [] : [`in ${hooksPath.directory}, because of core.hooksPath`]),
    ...(settings.includes ? ['its config includes other files, which are not read'] : []),
  ];
  return words.join(', ');
}

/** The socket that the hooks there use; null if no setting names one. */
function socketAsked({ settings }: ReadStatus, hookConf: HookConf | null): string | null {
  return hookConf?.believed === true ? hookConf.socket : settings.socket;
}

/** The program by which the hooks there ask. */
function clientOf({ settings }: ReadStatus, hookConf: HookConf | null): string {
  return (hookConf?.believed === true ? hookConf.client : settings.client) ?? 'curl';
}

export function asksElsewhere(
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
  if (hook.current)
    return hook.skipped ? 'installed (50-previous is not executable, and does not run)' : 'installed';
  return hook.stub?.current === true
    ? `${hook.stub.runs} is outdated or missing`
    : 'outdated or not executable';
}
