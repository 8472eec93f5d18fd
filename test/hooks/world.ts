/** A bare repository with the hooks in it, somebody's clone, and a gate to ask. */

import { chmod, mkdir, mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { defaultSettings } from '../../src/git/hooks/head.ts';
import { filled, type HookSettings } from '../../src/git/index.ts';
import { type Run, type Runner, type RunOptions, run as runPlain } from '../e2e/run.ts';
import { Gate } from './gate.ts';

export type { Run, RunOptions };

/** Hooks are given what a server gives them, and nothing besides. */
export const run: Runner = (command, args, options = {}) =>
  runPlain(command, args, { ...options, bare: true });

export const hooksDirectory = new URL('../../hooks/', import.meta.url);

export interface WorldOptions extends Partial<HookSettings> {
  readonly format?: 'sha1' | 'sha256';
  /** Below the world's folder. */
  readonly bare?: string;
  /** The interpreter of the hooks. */
  readonly shell?: string;
}

/** A test of what has to be the same whatever program the hooks ask by. */
export function byEachClient(
  name: string,
  test: (t: Test, client: HookSettings['client']) => Promise<void>,
): void {
  for (const client of ['nc', 'curl'] as const) t.test(`${name}, by ${client}`, t => test(t, client));
}

export class World {
  readonly folder: string;
  readonly bare: string;
  readonly work: string;
  readonly gate: Gate;
  settings: HookSettings;
  readonly #shell: string;

  private constructor(folder: string, gate: Gate, { bare, shell, format: _, ...settings }: WorldOptions) {
    this.folder = folder;
    this.bare = join(folder, bare ?? 'alice/app.git');
    this.work = join(folder, 'work');
    this.gate = gate;
    this.settings = { ...defaultSettings, client: 'nc', socket: gate.socket, ...settings };
    this.#shell = shell ?? '/bin/sh';
  }

  static async open(t: Test, options: WorldOptions = {}): Promise<World> {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'softquota-')));
    const gate = await Gate.open(join(folder, 'gate.sock'));
    const world = new World(folder, gate, options);
    t.teardown(async () => {
      await gate.close();
      const names = await readdir(world.bare, { recursive: true });
      const kept = names.filter(name => /softquota/.test(name) && !name.endsWith('/00-softquota'));
      if (kept.length > 0) throw new Error(`the hooks keep something in the repository: ${kept.join(', ')}`);
      // A hook may still be telling behind its push.
      await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 20 });
    });
    const format = `--object-format=${options.format ?? 'sha1'}`;
    await world.must('git', ['init', '-q', '--bare', '--initial-branch=main', format, world.bare]);
    await world.must('git', ['init', '-q', '--initial-branch=main', format, world.work]);
    await world.git('remote', 'add', 'origin', world.bare);
    await world.install();
    return world;
  }

  get env(): Readonly<Record<string, string>> {
    return {
      HOME: this.folder,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_AUTHOR_NAME: 'Alice',
      GIT_AUTHOR_EMAIL: 'alice@example.org',
      GIT_COMMITTER_NAME: 'Alice',
      GIT_COMMITTER_EMAIL: 'alice@example.org',
    };
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

  /** A new commit on the checked out branch. */
  async commit(text: string): Promise<void> {
    await writeFile(join(this.work, 'file'), text);
    await this.git('add', 'file');
    await this.git('commit', '-q', '-m', 'change');
  }

  push(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Run> {
    return this.run('git', ['push', 'origin', ...args], { cwd: this.work, env });
  }

  /** Runs the repository's pre-receive as git does, with an environment and lines of the test's own. */
  hook(input: string, env: Readonly<Record<string, string>> = {}, file = 'hooks/pre-receive'): Promise<Run> {
    return this.run(file, [], { cwd: this.bare, input, env });
  }

  /** Text that a hook of ours wrote to the person who pushed, without git's own words. */
  static said(push: Run): string {
    const lines = push.stderr.split('\n').filter(line => line.startsWith('remote: '));
    return lines.map(line => line.slice('remote: '.length).trimEnd()).join('\n');
  }

  /** Number of files under the bare repository's objects. */
  async objects(): Promise<number> {
    const entries = await readdir(join(this.bare, 'objects'), { recursive: true, withFileTypes: true });
    return entries.filter(entry => entry.isFile()).length;
  }

  /** Every ref of the bare repository with what it points to. */
  refs(): Promise<string> {
    return this.server('for-each-ref', '--format=%(refname) %(objectname)');
  }

  /** Writes both hooks into the repository, with these settings from now on. */
  async install(settings: Partial<HookSettings> = {}): Promise<void> {
    this.settings = { ...this.settings, ...settings };
    for (const name of ['pre-receive', 'post-receive'] as const)
      await this.put(name, join(this.bare, 'hooks', name));
  }

  /** Puts a script of the package at `file`, with the settings. */
  async put(name: Parameters<typeof filled>[0], file: string, settings = this.settings): Promise<void> {
    await this.script(file, filled(name, settings).toString().replace('#!/bin/sh', `#!${this.#shell}`));
  }

  /** Writes an executable, and the folder for it. */
  async script(file: string, text: string): Promise<void> {
    await mkdir(join(file, '..'), { recursive: true });
    await writeFile(file, text);
    await chmod(file, 0o755);
  }
}

export const zeros = '0'.repeat(40);

/** A line of git's that creates a ref. */
export function creates(ref = 'refs/heads/main'): string {
  return `${zeros} ${'1'.repeat(40)} ${ref}\n`;
}
