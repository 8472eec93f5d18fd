/**
 * A bare repository with the hooks in it, somebody's clone, and a gate to ask.
 *
 * The hooks are those of the package but for the place of hook.conf, which is the test's own,
 * and the user who must own it, who is the one that runs the test.
 */

import { chmod, mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Client } from '../../src/git/index.ts';
import { type Run, type Runner, type RunOptions, run as runPlain } from '../e2e/run.ts';
import { Gate } from './gate.ts';

export type { Run, RunOptions };

/** Hooks are given what a server gives them, and nothing besides. */
export const run: Runner = (command, args, options = {}) =>
  runPlain(command, args, { ...options, bare: true });

export const hooksDirectory = new URL('../../hooks/', import.meta.url);

export interface WorldOptions {
  readonly format?: 'sha1' | 'sha256';
  /** Below the world's folder. */
  readonly bare?: string;
  /** The interpreter of the hooks. */
  readonly shell?: string;
  /** The program by which the hooks ask. */
  readonly client?: Client;
}

/** Every program by which the hooks ask. */
export const clients: readonly Client[] = ['curl', 'nc', 'socat'];

/** A test of what has to be the same whatever program the hooks ask by. */
export function byEachClient(name: string, test: (t: Test, client: Client) => Promise<void>): void {
  for (const client of clients) t.test(`${name}, by ${client}`, t => test(t, client));
}

export class World {
  readonly folder: string;
  readonly bare: string;
  readonly work: string;
  readonly hookConf: string;
  readonly gate: Gate;
  readonly #shell: string;

  private constructor(folder: string, gate: Gate, options: WorldOptions) {
    this.folder = folder;
    this.bare = join(folder, options.bare ?? 'alice/app.git');
    this.work = join(folder, 'work');
    this.hookConf = join(folder, 'hook.conf');
    this.gate = gate;
    this.#shell = options.shell ?? '/bin/sh';
  }

  static async open(t: Test, options: WorldOptions = {}): Promise<World> {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'softquota-')));
    const gate = await Gate.open(join(folder, 'gate.sock'));
    const world = new World(folder, gate, options);
    t.teardown(async () => {
      await gate.close();
      // A hook may still be telling behind its push.
      await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 20 });
    });
    const format = `--object-format=${options.format ?? 'sha1'}`;
    await world.must('git', ['init', '-q', '--bare', '--initial-branch=main', format, world.bare]);
    await world.must('git', ['init', '-q', '--initial-branch=main', format, world.work]);
    await world.git('remote', 'add', 'origin', world.bare);
    await world.configure('softquota.socket', gate.socket);
    if (options.client !== undefined) await world.configure('softquota.client', options.client);
    await world.put('pre-receive', join(world.bare, 'hooks/pre-receive'));
    await world.put('post-receive', join(world.bare, 'hooks/post-receive'));
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

  configure(key: string, value: string): Promise<string> {
    return this.must('git', ['config', '--file', join(this.bare, 'config'), key, value]);
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

  /** What a hook of ours wrote to the person who pushed, without git's own words. */
  static said(push: Run): string {
    const lines = push.stderr.split('\n').filter(line => line.startsWith('remote: '));
    return lines.map(line => line.slice('remote: '.length).trimEnd()).join('\n');
  }

  /** How many files lie under the bare repository's objects. */
  async objects(): Promise<number> {
    const entries = await readdir(join(this.bare, 'objects'), { recursive: true, withFileTypes: true });
    return entries.filter(entry => entry.isFile()).length;
  }

  /** Every ref of the bare repository with what it points to. */
  refs(): Promise<string> {
    return this.server('for-each-ref', '--format=%(refname) %(objectname)');
  }

  /** Puts the package's hook `name` at `file`. */
  async put(name: string, file: string, edit: (text: string) => string = text => text): Promise<void> {
    const text = await readFile(new URL(name, hooksDirectory), 'utf8');
    const seamed = edit(
      text
        .replace('#!/bin/sh', `#!${this.#shell}`)
        .replace('conf=/etc/softquota/hook.conf', `conf=${this.hookConf}`)
        .replace('-user 0 ', `-user ${process.getuid?.() ?? 0} `),
    );
    await this.script(file, seamed);
  }

  /** Writes an executable, and the folder for it. */
  async script(file: string, text: string): Promise<void> {
    await mkdir(join(file, '..'), { recursive: true });
    await writeFile(file, text);
    await chmod(file, 0o755);
  }
}
