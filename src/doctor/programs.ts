/** Checks the programs that are needed: curl and git, as hooks find them; getfattr where a ruler needs it. */

import { runProgram } from '../bounded/index.ts';
import { findProgram, programFolders } from '../git/index.ts';
import { commandLine } from '../health/index.ts';
import type { StorageSettings } from '../layout/index.ts';
import { printable } from '../text/index.ts';
import type { Finding } from '../wire/index.ts';
import { type CheckResult, findingOf } from './check-result.ts';

const leastGit = [2, 11] as const;

const timeoutMs = 10_000;

/** `storages` are the configured ones, as far as they can be read. */
export async function checkPrograms(storages: readonly StorageSettings[]): Promise<CheckResult> {
  const ruled = storages.find(({ ruler }) => ruler?.by === 'xattr');
  const parts = await Promise.all([curl(), git(), ...(ruled === undefined ? [] : [getfattr(ruled)])]);
  return {
    findings: parts.flatMap(part => part.findings),
    checked: [[...parts.map(part => part.is), `Node.js ${process.versions.node}`].join(', ')],
  };
}

interface Program {
  readonly is: string;
  readonly findings: readonly Finding[];
}

async function curl(): Promise<Program> {
  const mend = installing('curl');
  const told = await versionOf('curl', ['-q', '--version']);
  if (told === null) {
    const message = `curl is not in ${programFolders.join(', ')}, so no hook can ask the gate`;
    return { is: 'no curl', findings: [findingOf('curl_missing', message, mend)] };
  }
  const is = `curl ${numberIn(told)}`;
  if (/^Features:.*\bUnixSockets\b/m.test(told)) return { is, findings: [] };
  return {
    is,
    findings: [findingOf('curl_missing', `${is} cannot use Unix sockets, so no hook can ask the gate`, mend)],
  };
}

async function git(): Promise<Program> {
  const mend = installing('git');
  const told = await versionOf('git', ['--version']);
  if (told === null)
    return { is: 'no git', findings: [findingOf('git_missing', 'git is not installed', mend)] };
  const number = numberIn(told);
  const is = `git ${number}`;
  const [major = 0, minor = 0] = number.split('.').map(Number);
  if (major > leastGit[0] || (major === leastGit[0] && minor >= leastGit[1])) return { is, findings: [] };
  const message = `${is} has no quarantine: the objects of a refused push stay on the disk`;
  return { is, findings: [findingOf('git_missing', message, mend)] };
}

async function getfattr({ kind }: StorageSettings): Promise<Program> {
  const told = await versionOf('getfattr', ['--version']);
  if (told !== null) return { is: `getfattr ${numberIn(told)}`, findings: [] };
  const message = `getfattr is not installed, so [storage.${kind}] RULER has no effect and the last known bytes count`;
  return { is: 'no getfattr', findings: [findingOf('getfattr_missing', message, installing('attr'))] };
}

const managers = [
  ['apt-get', 'install', '-y'],
  ['dnf', 'install', '-y'],
  ['zypper', 'install', '-y'],
  ['pacman', '-S', '--noconfirm'],
  ['apk', 'add'],
] as const;

/** By what this system gets its packages from. */
function installing(name: string): string {
  const manager = managers.find(([program]) => find(program) !== null);
  return manager === undefined ? `install ${name}` : commandLine(...manager, name);
}

/** The version that the program tells; null where it cannot be run. */
async function versionOf(program: string, args: readonly string[]): Promise<string | null> {
  const found = find(program);
  if (found === null) return null;
  try {
    const { status, output } = await runProgram(found, args, { timeoutMs, env: { LC_ALL: 'C' } });
    return status === 0 ? output : null;
  } catch {
    return null;
  }
}

function find(program: string): string | null {
  const own = (process.env.PATH ?? '').split(':').filter(folder => folder.startsWith('/'));
  return findProgram(program, [...programFolders, ...own]);
}

function numberIn(text: string): string {
  return printable(/\d{1,9}(?:\.\d{1,9})+/.exec(text)?.[0] ?? 'of an unknown version');
}
