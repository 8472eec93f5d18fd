/** A bare repository with a clone of it, and git's own truth about what lies there. */

import { randomBytes } from 'node:crypto';
import { lstat, mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Test } from 'tap';
import { findGits } from '../../../../src/git/worker/space/git.ts';
import { RepositoryView } from '../../../../src/git/worker/space/view.ts';
import { Server } from '../../hooks/server.ts';

const { gits } = await findGits(['git']);
export const [program] = gits as [(typeof gits)[number]]; // the tests need git
export const limits = { timeoutMs: 60_000, signal: new AbortController().signal };

export class Repository {
  readonly server: Server;
  readonly path: string;
  readonly clone: string;

  private constructor(server: Server, path: string, clone: string) {
    this.server = server;
    this.path = path;
    this.clone = clone;
  }

  static async open(t: Test, name = 'git/alice/one.git'): Promise<Repository> {
    const server = await Server.open(t);
    const path = await server.repository(name);
    const repository = new Repository(server, path, server.path('clone'));
    await repository.git('init', '-q', '-b', 'main', repository.clone);
    return repository;
  }

  /** A repository whose branch main has these files. */
  static async holding(t: Test, files: Readonly<Record<string, number>>): Promise<Repository> {
    const repository = await Repository.open(t);
    await repository.commit(files);
    await repository.push('main');
    return repository;
  }

  /** Repository at another path. */
  at(path: string): Repository {
    return new Repository(this.server, path, this.clone);
  }

  async git(...args: readonly string[]): Promise<string> {
    const known = args[0] === 'init' ? this.server.root : this.clone;
    const { code, stdout, stderr } = await this.server.git(args, known);
    if (code !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`);
    return stdout;
  }

  /** Commits files with this many random bytes each, which no compression makes smaller. */
  async commit(files: Readonly<Record<string, number>>): Promise<void> {
    for (const [name, bytes] of Object.entries(files)) {
      await mkdir(dirname(join(this.clone, name)), { recursive: true });
      await writeFile(join(this.clone, name), randomBytes(bytes));
    }
    await this.git('add', '--all');
    await this.git('commit', '-q', '-m', 'x');
  }

  async push(...refs: readonly string[]): Promise<void> {
    await this.git('push', '-q', '--force', this.path, ...refs);
  }

  /** Everything becomes so old that no expiry holds it. */
  async age(): Promise<void> {
    const old = new Date(Date.now() - 86_400_000);
    for (const entry of await readdir(join(this.path, 'objects'), { recursive: true, withFileTypes: true }))
      if (entry.isFile()) await utimes(join(entry.parentPath, entry.name), old, old);
  }

  /** The bytes of all files below `objects`, as usage counts them. */
  async bytes(): Promise<number> {
    let sum = 0;
    for (const entry of await readdir(join(this.path, 'objects'), { recursive: true, withFileTypes: true }))
      if (entry.isFile()) sum += (await lstat(join(entry.parentPath, entry.name))).size;
    return sum;
  }

  async fsck(): Promise<string> {
    const { code, stdout, stderr } = await this.server.git(['fsck', '--full', '--strict'], this.path);
    const faults = `${stdout}${stderr}`.split('\n').filter(line => !/^(dangling|notice|$)/.test(line));
    return code === 0 ? faults.join('\n') : `exit ${code}: ${stderr}`;
  }

  async view(t: Test, objects = `${this.path}/objects`): Promise<RepositoryView> {
    const view = await RepositoryView.open(this.path, { program, objects }, limits);
    t.teardown(() => view.close());
    return view;
  }
}

/** Tells whether a prediction is within five percent of the truth. */
export function isNear(predicted: number, truth: number): boolean {
  return Math.abs(predicted - truth) <= truth * 0.05;
}
