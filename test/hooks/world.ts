/** A bare repository with the hooks in it, somebody's clone, and a gate to ask. */

import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { defaultSettings } from '../../src/git/hooks/hook.ts';
import { filled, type HookSettings } from '../../src/git/index.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { Gate } from './gate.ts';
import { GitWorld, type Run } from './git-world.ts';

export { type Run, type RunOptions, run } from './git-world.ts';

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

export class World extends GitWorld {
  readonly gate: Gate;
  settings: HookSettings;
  readonly #shell: string;

  private constructor(folder: string, gate: Gate, { bare, shell, format: _, ...settings }: WorldOptions) {
    super(folder, bare ?? 'alice/app.git');
    this.gate = gate;
    this.settings = { ...defaultSettings, client: 'nc', socket: gate.socket, ...settings };
    this.#shell = shell ?? '/bin/sh';
  }

  static async open(t: Test, options: WorldOptions = {}): Promise<World> {
    const folder = temporaryFolder(t);
    const gate = await Gate.open(join(folder, 'gate.sock'));
    const world = new World(folder, gate, options);
    t.teardown(async () => {
      await gate.close();
      const names = await readdir(world.bare, { recursive: true });
      const kept = names.filter(name => /softquota/.test(name) && !name.endsWith('/00-softquota'));
      if (kept.length > 0) throw new Error(`the hooks keep something in the repository: ${kept.join(', ')}`);
    });
    await world.make(options.format);
    await world.install();
    return world;
  }

  /** A new commit on the checked out branch. */
  async commit(text: string): Promise<void> {
    await writeFile(join(this.work, 'file'), text);
    await this.git('add', 'file');
    await this.git('commit', '-q', '-m', 'change');
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
}

export const zeros = '0'.repeat(40);

/** A line of git's that creates a ref. */
export function creates(ref = 'refs/heads/main'): string {
  return `${zeros} ${'1'.repeat(40)} ${ref}\n`;
}
