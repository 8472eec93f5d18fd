/** A bare repository whose hook keeps the quarantine of each push, and refuses it. */

import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { LargeBlob, LargeBlobsLook } from '../../src/layout/index.ts';
import { lookForLargeBlobs } from '../../src/scan/large-blobs.ts';
import { gitEnvironment } from './git-ground.ts';
import { temporary } from './world.ts';

export interface PushedGround {
  readonly folder: string;
  readonly repository: string;
  /** A clone that pushes. */
  readonly work: string;
  /** A copy of the quarantine of the last refused push. */
  readonly quarantine: string;
  git(directory: string, ...args: readonly string[]): string;
  /** Writes files into the clone, and commits them. */
  commit(files: Readonly<Record<string, string | Buffer>>): void;
  /** Pushes; the hook lets it through. */
  push(...args: readonly string[]): void;
  /** Pushes; the hook keeps the quarantine, and refuses. */
  refuse(...args: readonly string[]): void;
  look(overBytes: number, deadlineMs?: number): LargeBlobsLook;
  /** The blobs of the quarantine that are over a size and not in the repository, by git itself. */
  truth(overBytes: number): readonly LargeBlob[];
}

interface GroundOptions {
  readonly format?: 'sha1' | 'sha256';
  /** A push of so many objects is kept as a pack. */
  readonly unpackLimit?: number;
}

export function pushedGround(
  t: Test,
  { format = 'sha1', unpackLimit = 1 }: GroundOptions = {},
): PushedGround {
  const folder = temporary(t);
  const [repository, work, quarantine] = ['a.git', 'work', 'quarantine'].map(name => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const options = { env: gitEnvironment, stdio: 'pipe', maxBuffer: 1e9 } as const;
  const git = (directory: string, ...args: readonly string[]): string =>
    execFileSync('git', ['-C', directory, '-c', 'gc.auto=0', ...args], options).toString();
  git(folder, 'init', '-q', '--bare', '-b', 'main', `--object-format=${format}`, repository);
  git(repository, 'config', 'receive.autogc', 'false');
  git(repository, 'config', 'receive.unpackLimit', String(unpackLimit));
  git(folder, 'init', '-q', '-b', 'main', `--object-format=${format}`, work);
  git(work, 'remote', 'add', 'origin', repository);
  const hook = join(repository, 'hooks/pre-receive');
  mkdirSync(join(repository, 'hooks'), { recursive: true });
  writeFileSync(
    hook,
    `#!/bin/sh\ncat >/dev/null\n[ -e '${folder}/refuses' ] || exit 0\ncp -R "$GIT_QUARANTINE_PATH" '${quarantine}'\nexit 1\n`,
  );
  chmodSync(hook, 0o755);
  const objectsOf = (directory: string): ReadonlyMap<string, readonly [type: string, bytes: number]> => {
    if (!existsSync(directory)) return new Map();
    const listed = execFileSync(
      'git',
      ['-C', repository, 'cat-file', '--batch-all-objects', '--batch-check'],
      {
        ...options,
        env: { ...gitEnvironment, GIT_OBJECT_DIRECTORY: directory },
      },
    );
    const lines = listed.toString().trim().split('\n').filter(Boolean);
    return new Map(
      lines.map(line => {
        const [object = '', type = '', bytes = ''] = line.split(' ');
        return [object, [type, Number(bytes)]];
      }),
    );
  };
  const pushed = ['push', '-q', 'origin'];
  return {
    folder,
    repository,
    work,
    quarantine,
    git,
    commit: files => {
      for (const [name, content] of Object.entries(files)) writeFileSync(join(work, name), content);
      git(work, 'add', '-A');
      git(work, 'commit', '-q', '-m', 'a change');
    },
    push: (...args) => void git(work, ...pushed, ...(args.length === 0 ? ['HEAD:main'] : args)),
    refuse: (...args) => {
      rmSync(quarantine, { recursive: true, force: true });
      writeFileSync(join(folder, 'refuses'), '');
      try {
        git(work, ...pushed, ...(args.length === 0 ? ['HEAD:main'] : args));
        throw new Error('the push was not refused');
      } catch (error) {
        if (!existsSync(quarantine)) throw error;
      } finally {
        rmSync(join(folder, 'refuses'));
      }
    },
    look: (overBytes, deadlineMs = 10_000) =>
      lookForLargeBlobs({ quarantine, objects: join(repository, 'objects'), overBytes, deadlineMs }),
    truth: overBytes => {
      const known = objectsOf(join(repository, 'objects'));
      return Array.from(objectsOf(quarantine), ([object, [type, bytes]]) => ({ object, type, bytes }))
        .filter(({ object, type, bytes }) => type === 'blob' && bytes > overBytes && !known.has(object))
        .map(({ object, bytes }) => ({ object, bytes }))
        .sort((a, b) => b.bytes - a.bytes || (a.object < b.object ? -1 : 1));
    },
  };
}
