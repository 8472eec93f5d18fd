/** A git server's folder with repositories in it, made for one test. */

import { chmod, lstat, mkdir, readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import { identity } from '../../e2e/run.ts';
import { type Run, run } from '../../hooks/git-world.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

export class Server {
  readonly root: string;

  private constructor(root: string) {
    this.root = root;
  }

  static async open(t: Test): Promise<Server> {
    return new Server(temporaryFolder(t));
  }

  path(...parts: readonly string[]): string {
    return join(this.root, ...parts);
  }

  /** A bare repository with folders for hooks and `info`, into which a worker may have put hooks. */
  async repository(name: string): Promise<string> {
    const path = this.path(name);
    const made = await this.git(['init', '-q', '--bare', '--template=', '--initial-branch=main', path]);
    if (made.code !== 0) throw new Error(made.stderr);
    for (const folder of ['hooks', 'info']) await mkdir(join(path, folder), { mode: 0o755, recursive: true });
    return path;
  }

  git(args: readonly string[], cwd = this.root, env: Readonly<Record<string, string>> = {}): Promise<Run> {
    return run('git', args, { cwd, env: { HOME: this.root, GIT_CONFIG_NOSYSTEM: '1', ...identity, ...env } });
  }

  async config(repository: string, key: string): Promise<string> {
    return (await this.git(['config', '--file', join(repository, 'config'), '--get', key])).stdout.trim();
  }

  async file(path: string, text: string, mode = 0o755): Promise<void> {
    await mkdir(join(path, '..'), { recursive: true });
    await writeFile(path, text);
    await chmod(path, mode);
  }
}

/** Everything at and below a path: name, mode, owner, and content or target. */
export async function snapshot(path: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  const look = async (at: string, name: string): Promise<void> => {
    const stats = await lstat(at);
    const head = `${(stats.mode & 0o7777).toString(8)} ${stats.uid}:${stats.gid}`;
    if (stats.isSymbolicLink()) found[name] = `link ${await readlink(at)}`;
    else if (stats.isFile()) found[name] = `${head} ${await readFile(at, 'utf8')}`;
    else {
      found[`${name}/`] = head;
      for (const each of (await readdir(at)).sort()) await look(join(at, each), join(name, each));
    }
  };
  await look(path, '');
  return found;
}
