/** A bare repository, somebody's clone, and programs that are given what a server gives them. */

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { identity, type Run, type Runner, type RunOptions, run as runPlain } from '../e2e/run.ts';

export type { Run, RunOptions };

/** Gives a program nothing of the tester's environment. */
export const run: Runner = (command, args, options = {}) =>
  runPlain(command, args, { ...options, bare: true });

export class GitWorld {
  readonly folder: string;
  readonly bare: string;
  readonly work: string;

  /** `bare` is below the folder. */
  constructor(folder: string, bare: string) {
    this.folder = folder;
    this.bare = join(folder, bare);
    this.work = join(folder, 'work');
  }

  /** Makes the bare repository and the clone. */
  protected async make(format: 'sha1' | 'sha256' = 'sha1'): Promise<void> {
    const args = ['init', '-q', '--initial-branch=main', `--object-format=${format}`];
    await this.must('git', [...args, '--bare', this.bare]);
    await this.must('git', [...args, this.work]);
    await this.git('remote', 'add', 'origin', this.bare);
  }

  get env(): Readonly<Record<string, string>> {
    return { HOME: this.folder, GIT_CONFIG_NOSYSTEM: '1', ...identity };
  }

  run(command: string, args: readonly string[], options: RunOptions = {}): Promise<Run> {
    return run(command, args, { ...options, env: { ...this.env, ...options.env } });
  }

  async must(command: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
    const { code, stdout, stderr } = await this.run(command, args, options);
    if (code !== 0) throw new Error(`${command} ${args.join(' ')}: ${code}\n${stderr}`);
    return stdout.trim();
  }

  /** git in the clone; it must succeed. */
  git(...args: readonly string[]): Promise<string> {
    return this.must('git', args, { cwd: this.work });
  }

  /** git in the bare repository; it must succeed. */
  server(...args: readonly string[]): Promise<string> {
    return this.must('git', [`--git-dir=${this.bare}`, ...args]);
  }

  push(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Run> {
    return this.run('git', ['push', 'origin', ...args], { cwd: this.work, env });
  }

  /** Every ref of the bare repository with what it points to. */
  refs(): Promise<string> {
    return this.server('for-each-ref', '--format=%(refname) %(objectname)');
  }

  /**
   * Writes an executable, and the folder for it. A program of its own writes: programs that this process
   * starts meanwhile would hold the open file for a moment, in which the system does not run it.
   */
  async script(file: string, text: string): Promise<void> {
    await mkdir(join(file, '..'), { recursive: true });
    await this.must('sh', ['-c', 'cat >"$1" && chmod 755 "$1"', 'sh', file], { input: text });
  }
}
