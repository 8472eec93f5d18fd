/**
 * A bare repository whose pushes are judged by a real worker over its connection, and somebody's clone.
 *
 * The hook hands its question to the test, which decides as the daemon does: where the owner is over the
 * limit, what brings something is refused unless the worker finds that it makes the repository smaller.
 */

import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { basename, join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import type { Test } from 'tap';
import { WorkerLink } from '../../../../src/gate/index.ts';
import { Judgements } from '../../../../src/gate/push/judging.ts';
import { findGits, Worker, type WorkerOptions } from '../../../../src/git/index.ts';
import { until } from '../../../e2e/ask.ts';
import { takeWorkers } from '../../../gate/fake-worker.ts';
import { GitWorld } from '../../../hooks/git-world.ts';
import { storage } from '../../../layout/world.ts';
import { noise } from '../../../noise.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';

export type Manner = 'any' | 'less';

const { gits } = await findGits(['git']);

export class World extends GitWorld {
  readonly link: WorkerLink;
  #reported = Promise.withResolvers<void>();
  readonly judgements: Judgements;
  /** Manner of judging pushes that bring something; null: all pass. */
  over: Manner | null = null;
  /** Names of refs that the server hides. */
  hidden: readonly string[] = [];
  /** Milliseconds since a push was asked for, of the 60 s in which it is judged. */
  waitedMs = 0;
  /** Texts for pushers, the last behind. */
  readonly said: string[] = [];
  asked = 0;
  worker: Worker | null = null;
  #hooks: Server | null = null;

  private constructor(folder: string) {
    super(folder, 'git/alice/app.git');
    this.link = new WorkerLink({ mark: () => 'mark', reported: () => this.#reported.resolve() });
    this.judgements = new Judgements({
      link: this.link,
      ownerOf: () => 'alice',
      isRefused: () => this.over !== null,
    });
  }

  static async open(t: Test, options: Partial<WorkerOptions> = {}): Promise<World> {
    const world = new World(temporaryFolder(t));
    t.teardown(async () => {
      world.judgements.close();
      world.link.close();
      await world.worker?.close();
      world.#hooks?.close();
    });
    await world.make();
    await world.#serveHooks();
    await takeWorkers(t, join(world.folder, 'trusted.sock'), world.link);
    await world.startWorker(options);
    return world;
  }

  async startWorker(options: Partial<WorkerOptions> = {}): Promise<void> {
    this.#reported = Promise.withResolvers();
    this.worker = new Worker({
      trustedSocket: join(this.folder, 'trusted.sock'),
      storages: [storage({ templates: [join(this.folder, 'git/{owner}/{repo}.git')] })],
      exclude: [],
      isForge: false,
      hooks: null,
      gits,
      isAlone: true,
      reclaim: null,
      log: { error: () => {}, info: () => {}, warn: () => {} },
      ...options,
    });
    await this.worker.start();
    await this.#reported.promise;
  }

  configure(key: string, value: string): Promise<string> {
    return this.must('git', ['config', '--file', join(this.bare, 'config'), key, value]);
  }

  /** A push that must pass, whatever the limit. */
  async passes(...args: readonly string[]): Promise<void> {
    const { over } = this;
    this.over = null;
    const push = await this.push(args);
    this.over = over;
    if (push.code !== 0) throw new Error(push.stderr);
  }

  /** Text for the last push. */
  get last(): string {
    return this.said.at(-1) ?? '';
  }

  async reachable(bare = this.bare): Promise<number> {
    const args = ['--no-replace-objects', '-C', bare, 'rev-list', '--all', '--objects', '--disk-usage'];
    return Number(await this.must('git', args));
  }

  /** Commits a file of random bytes; with `orphan`, as a history of its own. */
  async add(name: string, bytes: number, { orphan = false } = {}): Promise<void> {
    if (orphan) {
      await this.git('checkout', '-q', '--orphan', name);
      await this.git('rm', '-q', '-r', '--cached', '--ignore-unmatch', '.');
    }
    await writeFile(join(this.work, name), noise(name, bytes));
    await this.git('add', name);
    await this.git('commit', '-q', '-m', name);
  }

  /** Resolves once the push that was judged has ended for the daemon, too. */
  async ended(): Promise<void> {
    await until(() => (this.judgements.isUnderWay(this.bare) ? null : true));
  }

  /** A hook after the one that asks. */
  later(text: string): Promise<void> {
    return this.script(join(this.bare, 'hooks/later'), `#!/bin/sh\n${text}\n`);
  }

  async #serveHooks(): Promise<void> {
    const socket = join(this.folder, 'hook.sock');
    const server = createServer({ allowHalfOpen: true }, connection => void this.#answer(connection));
    this.#hooks = server.listen(socket);
    await once(server, 'listening');
    const hook = [
      '#!/bin/sh',
      `answer=$({ printf '%s\\n%s\\n' "$GIT_QUARANTINE_PATH" "\${GIT_EXEC_PATH-}"; cat; } | nc -N -U ${socket})`,
      'case $answer in yes*) ;; *) printf "%s\\n" "$answer" >&2; exit 1 ;; esac',
      '[ ! -x hooks/later ] || exec hooks/later',
    ];
    await this.script(join(this.bare, 'hooks/pre-receive'), `${hook.join('\n')}\n`);
  }

  async #answer(connection: Socket): Promise<void> {
    connection.on('error', () => {});
    const question = await textOf(connection);
    const [quarantine = '', execPath = '', ...lines] = question.split('\n');
    const words = await this.#decide(basename(quarantine) || null, execPath, lines.join('\n'));
    connection.end(words === null ? 'yes' : `no ${words}`);
  }

  /** Null: it goes on. */
  async #decide(quarantine: string | null, execPath: string, lines: string): Promise<string | null> {
    const isOnlyDeletion = lines.split('\n').every(line => line === '' || / 0+ /.test(line));
    if (this.over === null || isOnlyDeletion) return null;
    const { signal } = new AbortController();
    const { hidden, judgements } = this;
    const task = { path: this.bare, quarantine, lines, manner: this.over, hidden, exec_path: execPath };
    const askedAt = performance.now() - this.waitedMs;
    // A push that brings no object passes, unless it brings back what nothing reaches.
    const objects = await this.run('find', [
      join(this.bare, 'objects', quarantine ?? ''),
      '-type',
      'f',
      ...['!', '-name', 'pack-029d08823bd8a8eab510ad6ac75c823cfd3ed31e.*'],
    ]);
    if (objects.stdout === '' && !(await judgements.bringsBack(task, askedAt, signal))) return null;
    this.asked += 1;
    const { smaller, words } = judgements.isUnderWay(this.bare)
      ? { smaller: false, words: 'another push that makes this repository smaller is under way' }
      : await judgements.judge(task, askedAt, signal);
    this.said.push(words);
    return smaller ? null : words;
  }
}
