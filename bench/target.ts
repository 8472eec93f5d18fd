/** Commits, and bare repositories that they are pushed to. */

import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { softquota } from './daemon.ts';
import { timed } from './processes.ts';

async function git(...args: string[]): Promise<string> {
  return (await timed('git', args)).stdout.trim();
}

/** A line of commits in a new clone, the oldest first. */
export async function makeCommits(work: string, count: number): Promise<string[]> {
  await git('init', '-q', '-b', 'main', work);
  await git('-C', work, 'config', 'gc.auto', '0');
  const made: string[] = [];
  for (let each = 0; each < count; each++) made.push(await commitFiles(work, 1, each));
  return made;
}

/** Writes so many files anew, and returns the commit that has them. */
export async function commitFiles(work: string, files: number, version: number): Promise<string> {
  for (let file = 0; file < files; file++)
    writeFileSync(join(work, `file-${file}`), `version ${version} of ${file}\n`);
  await git('-C', work, 'add', '-A');
  const author = ['-c', 'user.name=bench', '-c', 'user.email=bench@git.example'];
  await git('-C', work, ...author, 'commit', '-q', '-m', `version ${version}`);
  return git('-C', work, 'rev-parse', 'HEAD');
}

/** A bare repository without a hook. */
export async function makeTarget(target: string): Promise<string> {
  await git('init', '-q', '--bare', '-b', 'main', target);
  await git('-C', target, 'config', 'receive.autogc', 'false');
  rmSync(join(target, 'hooks'), { recursive: true });
  mkdirSync(join(target, 'hooks'));
  return target;
}

/** Installs the hooks as an administrator does, with further options if any; `program` is this tree's softquota. */
export async function putHooks(
  target: string,
  config: string,
  { program = softquota, options = [] }: { program?: string; options?: readonly string[] } = {},
): Promise<void> {
  await timed(process.execPath, [program, 'hooks', 'install', target, '--config', config, ...options]);
}

export function writeHook(target: string, name: string, body: string): void {
  const file = join(target, 'hooks', name);
  writeFileSync(file, `#!/bin/sh\n${body}\n`);
  chmodSync(file, 0o755);
}

/** One push, which must pass, and without a word. Returns its milliseconds. */
export async function pushTo(target: string, work: string, commit: string): Promise<number> {
  const { ms, stderr } = await timed('git', ['-C', work, 'push', '-q', target, `${commit}:refs/heads/main`]);
  if (stderr !== '') throw new Error(`a push was not let through in silence: ${stderr}`);
  return ms;
}
