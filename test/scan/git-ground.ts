/** A bare repository that is pushed to, fetches, and is worked on in place, with real git. */

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { temporary } from './world.ts';

/** In it git knows who commits, and reads no configuration but that of the repository. */
export const gitEnvironment = {
  PATH: process.env.PATH,
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'Alice',
  GIT_AUTHOR_EMAIL: 'alice@example.org',
  GIT_COMMITTER_NAME: 'Alice',
  GIT_COMMITTER_EMAIL: 'alice@example.org',
};

export interface Ground {
  readonly repository: string;
  /** A clone that pushes. */
  readonly work: string;
  /** Another bare repository, which the repository fetches from. */
  readonly other: string;
  /** Runs git in the repository. */
  git(...args: readonly string[]): string;
  gitIn(directory: string, ...args: readonly string[]): string;
  /** Adds a commit with so many files to the clone; the branch is checked out. */
  commit(files: number, directory?: string): void;
  path(...names: readonly string[]): string;
}

export function makeGround(t: Test): Ground {
  const folder = temporary(t);
  const [repository, work, other] = ['srv/a.git', 'work', 'other'].map(name => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const gitIn = (directory: string, ...args: readonly string[]): string =>
    execFileSync('git', ['-C', directory, '-c', 'gc.auto=0', ...args], {
      env: gitEnvironment,
      stdio: 'pipe',
    }).toString();
  mkdirSync(join(folder, 'srv'));
  gitIn(folder, 'init', '-q', '--bare', '-b', 'main', repository);
  gitIn(repository, 'config', 'receive.autogc', 'false');
  gitIn(folder, 'clone', '-q', repository, work);
  gitIn(folder, 'init', '-q', '-b', 'main', other);
  let made = 0;
  const commit = (files: number, directory = work): void => {
    for (let more = 0; more < files; more++, made++)
      writeFileSync(join(directory, `file-${made}`), randomBytes(300));
    gitIn(directory, 'add', '-A');
    gitIn(directory, 'commit', '-q', '-m', `commit ${made}`);
  };
  commit(5, other);
  for (const each of [2, 3]) {
    commit(each);
    gitIn(work, 'push', '-q', 'origin', 'HEAD:main');
  }
  gitIn(repository, 'fetch', '-q', other, '+main:from-other');
  return {
    repository,
    work,
    other,
    git: (...args) => gitIn(repository, ...args),
    gitIn,
    commit,
    path: (...names) => join(repository, ...names),
  };
}
