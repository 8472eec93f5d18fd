/** What is pushed, and what it is pushed to. */

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Client, findClient, installHooks } from '../src/git/index.ts';
import { timed } from './processes.ts';

async function git(...args: string[]): Promise<string> {
  return (await timed('git', args)).stdout.trim();
}

/** A line of commits in a new clone, the oldest first. */
export async function makeCommits(work: string, count: number): Promise<string[]> {
  await git('init', '-q', '-b', 'main', work);
  await git('-C', work, 'config', 'user.name', 'bench');
  await git('-C', work, 'config', 'user.email', 'bench@git.example');
  await git('-C', work, 'config', 'gc.auto', '0');
  const made: string[] = [];
  for (let each = 0; each < count; each++) {
    writeFileSync(join(work, `file-${each}`), `number ${each}\n`);
    await git('-C', work, 'add', '-A');
    await git('-C', work, 'commit', '-q', '-m', `number ${each}`);
    made.push(await git('-C', work, 'rev-parse', 'HEAD'));
  }
  return made;
}

/** A bare repository without a hook. */
export async function makeTarget(target: string): Promise<string> {
  await git('init', '-q', '--bare', '-b', 'main', target);
  await git('-C', target, 'config', 'receive.autogc', 'false');
  rmSync(join(target, 'hooks'), { recursive: true });
  mkdirSync(join(target, 'hooks'));
  return target;
}

/** Puts the hooks into the target; they ask by the client, or by the quickest that this host has. */
export async function putHooks(target: string, socket: string, client?: Client): Promise<void> {
  const by = client ?? (await findClient());
  if (by === null) throw new Error('neither nc nor curl asks as the hooks need it');
  const [result] = await installHooks([target], { socket, client: by });
  if (result === undefined || 'fault' in result) throw new Error(`the hooks are not in: ${result?.fault}`);
}

/** One push, which must pass, and without a word. Returns its milliseconds. */
export async function pushTo(target: string, work: string, commit: string): Promise<number> {
  const { ms, stderr } = await timed('git', ['-C', work, 'push', '-q', target, `${commit}:refs/heads/main`]);
  if (stderr !== '') throw new Error(`a push was not let through in silence: ${stderr}`);
  return ms;
}
