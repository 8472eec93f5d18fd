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
import { commandLine, makeFinding } from '../health/index.ts';
import { printable } from '../text.ts';
import type { Finding } from '../wire/index.ts';
import { asUser, type CheckResult, type HookUser, type HostContext } from './installation.ts';
import { beginningOf, filesBelow, isClosed, isFile } from './paths.ts';
import type { Repository } from './repositories.ts';
import { mayAskFor } from './rights.ts';

const leastGit = [2, 11] as const;

const timeoutMs = 10_000;

/** `gits`: the programs in `[reclaim] GIT`. */
export async function checkPrograms(gits: readonly string[]): Promise<CheckResult> {
  const parts = await Promise.all([client(), git(gits)]);
  return {
    findings: parts.flatMap(part => part.findings),
    checked: [[...parts.map(part => part.is), `Node.js ${process.versions.node}`].join(', ')],
  };
}

interface Program {
  readonly is: string;
  readonly findings: readonly Finding[];
}

async function client(): Promise<Program> {
  const found = await findClient();
  if (found !== null) return { is: found, findings: [] };
  const message = `neither nc nor curl in ${programFolders.join(', ')} can ask the gate, so no hook can`;
  return { is: 'no client', findings: [makeFinding('program_missing', message, installing('curl'))] };
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

async function git(given: readonly string[]): Promise<Program> {
  const all = await gitsOfHost();
  const [first] = all;
  const mend = installing('git');
  if (first === undefined)
    return { is: 'no git', findings: [makeFinding('program_missing', 'git is not installed', mend)] };
  const is = `git ${first.number}`;
  const findings: Finding[] = [];
  const [major = 0, minor = 0] = first.number.split('.').map(Number);
  if (major < leastGit[0] || (major === leastGit[0] && minor < leastGit[1])) {
    const message = `${is} has no quarantine: the objects of a refused push stay on the disk`;
    findings.push(makeFinding('program_missing', message, mend));
  }
  const missing = await missingGits(given);
  if (missing !== null) {
    const line = `in app.ini set [reclaim] GIT = ${missing.value}; then restart the worker`;
    findings.push(makeFinding('other_git', missing.words, line));
  }
  return { is, findings };
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
  context: HostContext,
  users: readonly HookUser[],
  places: readonly string[] = usualPlaces,
): Promise<CheckResult> {
  const all = [...new Map(users.map(user => [user.uid, user])).values()];
  const asked = all.filter(user => mayAskFor(context.uid, user));
  const homes = asked.flatMap(({ uid }) => homeOf(uid) ?? []);
  const own = homes.flatMap(home => [`${home}/.gitolite.rc`, `${home}/.ssh/authorized_keys`]);
  const files = [...places.flatMap(place => filesBelow(place, deepest)), ...own].slice(0, mostFiles);
  const unread = await Promise.all(asked.map(user => configuration(context, user)));
  return { findings: [...unread.flat(), ...files.flatMap(namedIn)] };
}

/** Checks that git can read its configuration as this user: else git does nothing, and no hook runs. */
async function configuration(context: HostContext, user: HookUser): Promise<readonly Finding[]> {
  const HOME = homeOf(user.uid) ?? '/nonexistent';
  const as = context.uid === user.uid ? {} : { user };
  try {
    const { status, complaint } = await runProgram('git', ['config', '--list'], {
      timeoutMs,
      env: { HOME, LC_ALL: 'C' },
      ...as,
    });
    if (status === 0) return [];
    const file = /'(\/[^']+)': Permission denied/.exec(complaint)?.[1];
    const message = `git does nothing as ${userWords(user.uid)}: ${complaint}`;
    const mend = file === undefined ? 'correct the file that git names' : commandLine('chmod', 'a+r', file);
    return [makeFinding('git_config', printable(message), mend)];
  } catch {
    return []; // without git there is a finding already
  }
}

function namedIn(file: string): readonly Finding[] {
  const lines = beginningOf(file, { mostBytes, follow: true }).split('\n');
  return lines.flatMap((line, index) => {
    if (/^\s*#/.test(line)) return [];
    const named = [...line.matchAll(/\bGIT_EXEC_PATH[=\s"']+(\/[^\s"':;]+)/g)].map(([, path = '']) => path);
    const ofHooks = line.split(/[\s"'=:;]/).filter(isOfHooks);
    return [...new Set([...named, ...ofHooks])]
      .filter(path => !existsSync(path))
      .map(path => missing(`${file}:${index + 1}`, path));
  });
}

function isOfHooks(word: string): boolean {
  const at = word.startsWith('/') ? word.indexOf('softquota') : -1;
  return at !== -1 && word.slice(at).includes('/hooks/') && !word.endsWith('/hooks/');
}

function missing(where: string, path: string): Finding {
  const message = `${printable(where)} names ${printable(path)}, which is not there: git runs as if softquota were not`;
  const mend =
    'write /usr/lib/softquota/hooks/receive-pack, where every installation has it; then restart the program';
  return makeFinding('named_missing', message, mend);
}

const key = 'receive.certNonceSeed';

/** Checks the configurations of the repositories, of their owners, and of the system. */
export async function checkSignedPushes(
  context: HostContext,
  repositories: readonly Repository[],
  statuses: readonly RepositoryStatus[],
): Promise<CheckResult> {
  const findings: Finding[] = [];
  const missed: string[] = [];
  for (const [index, { path, user }] of repositories.entries()) {
    const status = statuses[index];
    if (status === undefined || 'fault' in status || !status.signedPushes) continue;
    findings.push(signed(`${path}/config`, unset(context, user.uid, `${path}/config`)));
  }
  for (const user of new Map(repositories.map(one => [one.user.uid, one.user])).values()) {
    const { uid } = user;
    const home = homeOf(uid);
    if (home === null) continue;
    for (const file of [join(home, '.gitconfig'), join(home, '.config/git/config')]) {
      if (isClosed(file)) missed.push(printable(file));
      else if (isFile(file) && (await configSetting({ file, owner: user }, key)) !== null)
        findings.push(signed(file, unset(context, uid, file)));
    }
  }
  if (repositories.length > 0 && (await configSetting('system', key)) !== null) {
    const mend = commandLine('git', 'config', '--system', '--unset-all', key);
    findings.push(signed("the system's configuration", mend));
  }
  return { findings, missed };
}

function signed(from: string, mend: string): Finding {
  const message = `${printable(from)} offers signed pushes to clients (${key}): the certificate of a push is kept even if the push is refused`;
  return makeFinding('signed_pushes', message, mend);
}

function unset(context: HostContext, uid: number, file: string): string {
  return asUser(context, uid, 'git', 'config', '--file', file, '--unset-all', key);
}
