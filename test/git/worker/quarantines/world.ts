/** A bare repository, pushes into it that are broken off, and a worker's job that cleans up behind them. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import { isGroupAlive } from '../../../../src/bounded/index.ts';
import { Quarantines } from '../../../../src/git/worker/quarantines/quarantines.ts';
import { RepositoryWalk } from '../../../../src/git/worker/repository-walk.ts';
import { lookAtQuarantine } from '../../../../src/scan/index.ts';
import { until } from '../../../e2e/ask.ts';
import { plainEnvironment } from '../../../e2e/run.ts';
import { GitWorld } from '../../../hooks/git-world.ts';
import { storage } from '../../../layout/world.ts';
import { noise } from '../../../noise.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';

type QuarantinesOptions = ConstructorParameters<typeof Quarantines>[0];

export class World extends GitWorld {
  readonly quarantines: Quarantines;
  readonly warnings: object[] = [];
  readonly #repositories: RepositoryWalk;
  #files = 0;

  private constructor(folder: string, options: Partial<QuarantinesOptions>) {
    super(folder, 'git/alice/app.git');
    this.#repositories = new RepositoryWalk({
      storages: [storage({ templates: [join(folder, 'git/{owner}/{repo}.git')] })],
      exclude: [],
      everyMs: 60_000,
    });
    this.quarantines = new Quarantines({
      repositories: this.#repositories,
      isAlone: true,
      log: { info: () => {}, warn: details => void this.warnings.push(Object(details)) },
      changed: () => {},
      ...options,
    });
  }

  static async open(t: Test, options: Partial<QuarantinesOptions> = {}): Promise<World> {
    const world = new World(temporaryFolder(t), options);
    t.teardown(async () => {
      await world.#repositories.close();
      await world.quarantines.close();
    });
    await world.make();
    await world.server('config', 'receive.unpackLimit', '1');
    return world;
  }

  /** Commits a file of random bytes; returns the commit. */
  async commit(bytes: number): Promise<string> {
    await writeFile(join(this.work, `file-${++this.#files}`), noise(`${this.#files}`, bytes));
    await this.git('add', '--all');
    await this.git('commit', '-q', '-m', 'x');
    return this.git('rev-parse', 'HEAD');
  }

  /**
   * git's receive-pack, to which the client has sent a part of a push: it waits for the rest in its quarantine.
   * Resolves with that one's name.
   */
  async beginUpload(t: Test, commit: string): Promise<{ readonly name: string; readonly git: ChildProcess }> {
    const before = await this.names();
    const pack = spawn('git', ['pack-objects', '--stdout', '--revs', '-q'], {
      cwd: this.work,
      env: plainEnvironment,
    });
    pack.stdin.end(`${commit}\n`);
    const pieces: Buffer[] = [];
    for await (const piece of pack.stdout) pieces.push(piece);
    const bytes = Buffer.concat(pieces);
    const git = spawn('git', ['receive-pack', this.bare], {
      env: plainEnvironment,
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
    t.teardown(() => end(git));
    git.stdin?.on('error', () => {});
    const order = `${'0'.repeat(40)} ${commit} refs/heads/new\0 report-status`;
    git.stdin?.write(`${(order.length + 4).toString(16).padStart(4, '0')}${order}0000`);
    git.stdin?.write(bytes.subarray(0, -30));
    const name = await until(async () => {
      const found = (await this.names()).find(each => !before.includes(each));
      if (found === undefined) return null;
      const look = lookAtQuarantine(join(this.bare, 'objects', found), 'apparent');
      return look.is === 'seen' && look.quarantine.bytes > 0 ? found : null;
    });
    return { name, git };
  }

  /** Leaves a quarantine behind, as a receive-pack that is killed does. */
  async leave(t: Test, bytes = 50_000): Promise<string> {
    const { name, git } = await this.beginUpload(t, await this.commit(bytes));
    await end(git);
    return name;
  }

  /** Makes a quarantine, and all that is in it, look as if it was written then. */
  async age(name: string, milliseconds: number): Promise<void> {
    const place = join(this.bare, 'objects', name);
    const at = new Date(Date.now() - milliseconds);
    for (const entry of ['', ...(await readdir(place, { recursive: true }))])
      await utimes(join(place, entry), at, at);
  }

  async names(): Promise<readonly string[]> {
    return (await readdir(join(this.bare, 'objects'))).filter(name => name.includes('objdir'));
  }
}

/** Kills a program and all that it started. */
export async function end(program: ChildProcess): Promise<void> {
  if (program.pid === undefined || program.exitCode !== null || program.signalCode !== null) return;
  const ended = once(program, 'exit');
  process.kill(-program.pid, 'SIGKILL');
  await ended;
  await until(async () => (isGroupAlive(program.pid) ? null : true));
}
