/**
 * Checks what is outside of repositories: the programs that are needed, git's configuration, which its users
 * have to be able to read, files of softquota that other programs' configurations name, and signed pushes,
 * whose certificate git stores before any hook can refuse it.
 */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { homeOf, userWords } from '../accounts.ts';
import { runProgram } from '../bounded/index.ts';
import {
  configSetting,
  findClient,
  findProgram,
  programFolders,
  type RepositoryStatus,
} from '../git/index.ts';
import { commandLine } from '../health/index.ts';
import { printable } from '../text.ts';
import { asUser, type HookUser, type HostContext, Report } from './installation.ts';
import { beginningOf, filesBelow, isClosed, isFile } from './paths.ts';
import type { Repository } from './repositories.ts';
import { mayAskFor } from './rights.ts';

const leastGit = [2, 11] as const;

const timeoutMs = 10_000;

/** `gits`: the programs in `[reclaim] GIT`. */
export async function checkPrograms(report: Report, gits: readonly string[]): Promise<void> {
  const client = await findClient();
  if (client === null) {
    const message = `neither nc nor curl in ${programFolders.join(', ')} can ask the gate, so no hook can`;
    report.found('program_missing', message, installing('curl'));
  }
  const git = await checkGit(report, gits);
  report.checked.push(`${client ?? 'no client'}, ${git}, Node.js ${process.versions.node}`);
}

async function gitsOfHost() {
  const all: { readonly path: string; readonly number: string }[] = [];
  for (const path of new Set(foldersOf().map(folder => `${folder}/git`))) {
    const number = await versionAt(path);
    if (number !== null) all.push({ path, number });
  }
  return all;
}

/**
 * Names the gits of this host, and the value of `[reclaim] GIT` with all of them; null unless it has several
 * versions, of which `given` lacks one. Nobody knows which of them runs the hooks.
 */
export async function missingGits(
  given: readonly string[],
): Promise<{ readonly words: string; readonly value: string } | null> {
  const host = await gitsOfHost();
  const known = await Promise.all(given.map(versionAt));
  const versions = new Map(host.toReversed().map(({ path, number }) => [number, path]));
  const lacking = [...versions].flatMap(([number, path]) => (known.includes(number) ? [] : [path]));
  if (versions.size < 2 || lacking.length === 0) return null;
  const names = host.map(({ path, number }) => `${path} is ${number}`).join(', ');
  return {
    words: `this host has several versions of git: ${printable(names)}`,
    value: [...given, ...lacking].join(', '),
  };
}

/** Returns the usual git in words. */
async function checkGit(report: Report, given: readonly string[]): Promise<string> {
  const [first] = await gitsOfHost();
  const mend = installing('git');
  if (first === undefined) {
    report.found('program_missing', 'git is not installed', mend);
    return 'no git';
  }
  const [major = 0, minor = 0] = first.number.split('.').map(Number);
  if (major < leastGit[0] || (major === leastGit[0] && minor < leastGit[1])) {
    const message = `git ${first.number} has no quarantine: the objects of a refused push stay on the disk`;
    report.found('program_missing', message, mend);
  }
  const missing = await missingGits(given);
  if (missing !== null) {
    const line = `in app.ini set [reclaim] GIT = ${missing.value}; then restart the worker`;
    report.found('other_git', missing.words, line);
  }
  return `git ${first.number}`;
}

const managers = [
  ['apt-get', 'install', '-y'],
  ['dnf', 'install', '-y'],
  ['zypper', 'install', '-y'],
  ['pacman', '-S', '--noconfirm'],
  ['apk', 'add'],
] as const;

function installing(name: string): string {
  const manager = managers.find(([program]) => findProgram(program, foldersOf()) !== null);
  return manager === undefined ? `install ${name}` : commandLine(...manager, name);
}

/** The version of a git; null if it cannot be run. */
async function versionAt(path: string): Promise<string | null> {
  try {
    const { status, output } = await runProgram(path, ['--version'], { timeoutMs, env: { LC_ALL: 'C' } });
    const number = /\d{1,9}(?:\.\d{1,9})+/.exec(output)?.[0] ?? 'of an unknown version';
    return status === 0 ? printable(number) : null;
  } catch {
    return null;
  }
}

function foldersOf(): readonly string[] {
  const own = (process.env.PATH ?? '').split(':').filter(folder => folder.startsWith('/'));
  return [...programFolders, ...own];
}

/** Configuration files of programs that run git: sshd, fcgiwrap, nginx, Apache, and services of systemd. */
const usualPlaces = [
  '/etc/ssh',
  '/etc/nginx',
  '/etc/apache2',
  '/etc/httpd',
  '/etc/default',
  '/etc/systemd/system',
];
const mostFiles = 2000;
const mostBytes = 256 * 1024;
const deepest = 4;

export async function checkGitSetup(
  report: Report,
  context: HostContext,
  users: readonly HookUser[],
): Promise<void> {
  const all = [...new Map(users.map(user => [user.uid, user])).values()];
  const asked = all.filter(user => mayAskFor(context.uid, user));
  const homes = asked.flatMap(({ uid }) => homeOf(uid) ?? []);
  const own = homes.flatMap(home => [`${home}/.gitolite.rc`, `${home}/.ssh/authorized_keys`]);
  const files = [...usualPlaces.flatMap(place => filesBelow(place, deepest)), ...own].slice(0, mostFiles);
  const each = asked.map(user => ({ user, found: new Report() }));
  await Promise.all(each.map(({ user, found }) => checkConfiguration(found, context, user)));
  for (const { found } of each) report.add(found);
  for (const file of files) checkNamed(report, file);
}

/** Checks that git can read its configuration as this user: else git does nothing, and no hook runs. */
async function checkConfiguration(report: Report, context: HostContext, user: HookUser): Promise<void> {
  const HOME = homeOf(user.uid) ?? '/nonexistent';
  const as = context.uid === user.uid ? {} : { user };
  try {
    const { status, complaint } = await runProgram('git', ['config', '--list'], {
      timeoutMs,
      env: { HOME, LC_ALL: 'C' },
      ...as,
    });
    if (status === 0) return;
    const file = /'(\/[^']+)': Permission denied/.exec(complaint)?.[1];
    const message = `git does nothing as ${userWords(user.uid)}: ${complaint}`;
    const mend = file === undefined ? 'correct the file that git names' : commandLine('chmod', 'a+r', file);
    report.found('git_config', printable(message), mend);
  } catch {
    // Without git there is a finding already.
  }
}

function checkNamed(report: Report, file: string): void {
  const lines = beginningOf(file, { mostBytes, follow: true }).split('\n');
  for (const [index, line] of lines.entries()) {
    if (/^\s*#/.test(line)) continue;
    const named = [...line.matchAll(/\bGIT_EXEC_PATH[=\s"']+(\/[^\s"':;]+)/g)].map(([, path = '']) => path);
    const ofHooks = line.split(/[\s"'=:;]/).filter(isOfHooks);
    for (const path of new Set([...named, ...ofHooks])) {
      if (existsSync(path)) continue;
      const message = `${printable(`${file}:${index + 1}`)} names ${printable(path)}, which is not there: git runs as if softquota were not`;
      report.found('named_missing', message, namedMend);
    }
  }
}

const namedMend =
  'write /usr/lib/softquota/hooks/receive-pack, where every installation has it; then restart the program';

function isOfHooks(word: string): boolean {
  const at = word.startsWith('/') ? word.indexOf('softquota') : -1;
  return at !== -1 && word.slice(at).includes('/hooks/') && !word.endsWith('/hooks/');
}

const key = 'receive.certNonceSeed';

/** Checks the configurations of the repositories, of their owners, and of the system. */
export async function checkSignedPushes(
  report: Report,
  context: HostContext,
  repositories: readonly Repository[],
  statuses: readonly RepositoryStatus[],
): Promise<void> {
  const signed = (from: string, mend: string): void => {
    const message = `${printable(from)} offers signed pushes to clients (${key}): the certificate of a push is kept even if the push is refused`;
    report.found('signed_pushes', message, mend);
  };
  const unset = (uid: number, file: string): string =>
    asUser(context, uid, 'git', 'config', '--file', file, '--unset-all', key);
  for (const [index, { path, user }] of repositories.entries()) {
    const status = statuses[index];
    if (status === undefined || 'fault' in status || !status.signedPushes) continue;
    signed(`${path}/config`, unset(user.uid, `${path}/config`));
  }
  for (const user of new Map(repositories.map(one => [one.user.uid, one.user])).values()) {
    const { uid } = user;
    const home = homeOf(uid);
    if (home === null) continue;
    for (const file of [join(home, '.gitconfig'), join(home, '.config/git/config')]) {
      if (isClosed(file)) report.missed.push(printable(file));
      else if (isFile(file) && (await configSetting({ file, owner: user }, key)) !== null)
        signed(file, unset(uid, file));
    }
  }
  if (repositories.length > 0 && (await configSetting('system', key)) !== null)
    signed("the system's configuration", commandLine('git', 'config', '--system', '--unset-all', key));
}
