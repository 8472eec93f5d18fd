/** Somebody's working copy, and what git and the hooks say to them. */

import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCode } from '../../src/errors.ts';
import { until } from './ask.ts';
import { identity, must, type Run, type Runner, type RunOptions, run } from './run.ts';

/** Folder that somebody works in. */
interface Desk {
  readonly folder: string;
  /** Runs git there; this host unless said otherwise. */
  readonly run?: Runner;
}

export interface Push extends Run {
  /** Text that the hooks wrote, without git's own words. */
  readonly said: string;
}

export class Clone {
  readonly folder: string;
  readonly #run: Runner;
  readonly #env: Readonly<Record<string, string>>;
  #commits = 0;

  private constructor(folder: string, runner: Runner, env: Readonly<Record<string, string>>) {
    this.folder = folder;
    this.#run = runner;
    this.#env = { ...identity, ...env };
  }

  /** An empty one, whose `origin` is at `url`. */
  static async of(
    desk: Desk,
    url: string,
    {
      format = 'sha1',
      env = {},
    }: { format?: 'sha1' | 'sha256'; env?: Readonly<Record<string, string>> } = {},
  ): Promise<Clone> {
    const folder = await mkdtemp(join(desk.folder, 'work-'));
    await must('git', ['init', '-q', '-b', 'main', `--object-format=${format}`, folder]);
    const clone = new Clone(folder, desk.run ?? run, env);
    await clone.git('remote', 'add', 'origin', url);
    return clone;
  }

  /** git in the working copy; it must succeed. */
  git(...args: readonly string[]): Promise<string> {
    return must('git', args, { cwd: this.folder, env: this.#env }, this.#run);
  }

  /** Commits files of so many bytes that cannot be compressed; a number is one new file. */
  async commit(files: number | Readonly<Record<string, number>>): Promise<void> {
    const all = typeof files === 'number' ? { [`file-${++this.#commits}`]: files } : files;
    const names = Object.keys(all);
    for (const [name, bytes] of Object.entries(all))
      await writeFile(join(this.folder, name), randomBytes(bytes));
    await this.git('add', ...names);
    await this.git('commit', '-q', '-m', names.join(' '));
  }

  /** A pack of a commit with all that it needs, as a push sends it. */
  async pack(commit: string): Promise<Buffer> {
    const packed = await this.#run('git', ['pack-objects', '--stdout', '--revs', '-q'], {
      cwd: this.folder,
      env: this.#env,
      input: `${commit}\n`,
      encoding: 'latin1',
    });
    return Buffer.from(packed.stdout, 'latin1');
  }

  async push(args: readonly string[] = ['main'], options: RunOptions = {}): Promise<Push> {
    const env = { ...this.#env, ...options.env };
    const pushed = await this.#run('git', ['push', 'origin', ...args], { ...options, cwd: this.folder, env });
    return { ...pushed, said: said(pushed) };
  }
}

function said({ stderr }: Run): string {
  const lines = stderr.split(/[\r\n]+/).filter(line => line.startsWith('remote: '));
  return lines.map(line => line.slice('remote: '.length).trimEnd()).join('\n');
}

/** Every file under a bare repository's objects, once git has cleaned up after each push; none may be killed. */
export async function objectsIn(repository: string): Promise<readonly string[]> {
  const objects = join(repository, 'objects');
  const entries = await until(async () => {
    try {
      const found = await readdir(objects, { recursive: true, withFileTypes: true });
      return found.some(({ name }) => name.startsWith('tmp_objdir-')) ? null : found;
    } catch (error) {
      // Something went meanwhile.
      if (systemCode(error) === 'ENOENT') return null;
      throw error;
    }
  });
  return entries
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
    .sort();
}
