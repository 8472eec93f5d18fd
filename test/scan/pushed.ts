/** A repository that real git pushes into. */

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import { temporary } from './world.ts';

const run = promisify(execFile);

const environment = { PATH: process.env.PATH, HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1' };

export async function git(directory: string, ...given: readonly string[]): Promise<void> {
  const identity = ['-c', 'user.name=Alice', '-c', 'user.email=alice@example.org', '-c', 'gc.auto=0'];
  await run('git', [...identity, '-C', directory, ...given], { env: environment });
}

/** Adds a commit with so many files of 20 kB. */
export type Pusher = (files: number) => Promise<void>;

export interface Pushed {
  readonly root: string;
  readonly repository: string;
  /** To `main`. */
  readonly push: Pusher;
  /** Somebody else, with a branch of this name. */
  pusher(branch: string): Promise<Pusher>;
}

/** `config`: settings of the repository, as `key=value`. */
export async function pushedTo(t: Test, ...config: readonly string[]): Promise<Pushed> {
  const root = join(temporary(t), 'srv');
  const repository = join(root, 'alice/a.git');
  mkdirSync(repository, { recursive: true });
  await git(repository, 'init', '-q', '--bare', '-b', 'main');
  for (const each of config) {
    const [key = '', value = ''] = each.split('=');
    await git(repository, 'config', key, value);
  }
  const pusher = async (branch: string): Promise<Pusher> => {
    const work = temporary(t);
    await git(work, 'clone', '-q', repository, '.');
    let files = 0;
    return async count => {
      for (let more = 0; more < count; more++, files++)
        writeFileSync(join(work, String(files)), randomBytes(20_000));
      await git(work, 'add', '-A');
      await git(work, 'commit', '-q', '-m', `${count} files`);
      await git(work, 'push', '-q', 'origin', `HEAD:${branch}`);
    };
  };
  return { root, repository, push: await pusher('main'), pusher };
}
