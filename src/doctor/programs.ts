/** Checks the programs that are needed: git, and what asks for the hooks. */

import { runProgram } from '../bounded/index.ts';
import { findClient, findProgram, programFolders } from '../git/index.ts';
import { commandLine, makeFinding } from '../health/index.ts';
import { printable } from '../text/index.ts';
import type { Finding } from '../wire/index.ts';
import type { CheckResult } from './check-result.ts';

const leastGit = [2, 11] as const;

const timeoutMs = 10_000;

export async function checkPrograms(): Promise<CheckResult> {
  const parts = await Promise.all([client(), git()]);
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

async function git(): Promise<Program> {
  const found = [...new Set(foldersOf().map(folder => `${folder}/git`))];
  const all: { readonly path: string; readonly number: string }[] = [];
  for (const path of found) {
    const told = await versionAt(path, ['--version']);
    if (told !== null) all.push({ path, number: numberIn(told) });
  }
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
  if (all.some(({ number }) => number !== first.number)) {
    const names = all.map(({ path, number }) => `${path} is ${number}`).join(', ');
    const line =
      'in app.ini set [reclaim] GIT to the path of the git that your server runs; then restart the worker';
    findings.push(makeFinding('other_git', `this host has several versions of git: ${names}`, line));
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

/** Command that installs a package on this system. */
function installing(name: string): string {
  const manager = managers.find(([program]) => find(program) !== null);
  return manager === undefined ? `install ${name}` : commandLine(...manager, name);
}

/** The version that the program tells; null where it cannot be run. */
async function versionAt(path: string, args: readonly string[]): Promise<string | null> {
  try {
    const { status, output } = await runProgram(path, args, { timeoutMs, env: { LC_ALL: 'C' } });
    return status === 0 ? output : null;
  } catch {
    return null;
  }
}

function find(program: string): string | null {
  return findProgram(program, foldersOf());
}

function foldersOf(): readonly string[] {
  const own = (process.env.PATH ?? '').split(':').filter(folder => folder.startsWith('/'));
  return [...programFolders, ...own];
}

function numberIn(text: string): string {
  return printable(/\d{1,9}(?:\.\d{1,9})+/.exec(text)?.[0] ?? 'of an unknown version');
}
