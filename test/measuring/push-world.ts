/** A repository that real git pushes into, measured as the daemon does, whose hooks ask the test. */

import { execFile, execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { basename, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import { type Config, loadConfig } from '../../src/config/index.ts';
import type { PushWorker } from '../../src/gate/index.ts';
import type { Ledger } from '../../src/ledger/index.ts';
import { Measuring } from '../../src/measuring/index.ts';
import type { PushClock } from '../../src/measuring/pushes.ts';
import { World as LedgerWorld, repos, silentLog } from '../ledger/world.ts';
import { gitEnvironment } from '../scan/git-ground.ts';
import { independentCount, temporary } from '../scan/world.ts';

const run = promisify(execFile);

/** Answer to pre-receive: go on, or refuse before the push is counted, or by a hook that comes later. */
export type HookAnswer = 'go on' | 'refuse' | 'refuse later';

export interface PushWorldOptions {
  readonly clock?: PushClock;
  /** Settings of the repository, as `key=value`. */
  readonly config?: readonly string[];
  /** The hooks ask, unless told otherwise. */
  readonly hasHooks?: boolean;
  readonly accepted?: () => Promise<void>;
  readonly missingKeys?: () => readonly string[];
  readonly pushWorker?: Pick<PushWorker, 'isHere' | 'largeFiles' | 'quarantine'>;
}

export class PushWorld {
  readonly repository: string;
  readonly config: Config;
  readonly ledger: Ledger;
  readonly measuring: Measuring;
  /** The repositories into which the worker is asked to look again, and those that are doubted. */
  readonly looks: readonly string[];
  readonly doubts: readonly string[];
  /** Called in pre-receive, before the push is counted. */
  answer: () => HookAnswer | Promise<HookAnswer> = () => 'go on';
  /** Called once the push is counted, before the hook ends. */
  onCounted: (bytes: number) => void = () => {};
  readonly #works = new Map<string, string>();
  readonly #t: Test;

  private constructor(
    t: Test,
    repository: string,
    config: Config,
    ledger: Ledger,
    measuring: Measuring,
    looks: readonly string[],
    doubts: readonly string[],
  ) {
    this.#t = t;
    this.repository = repository;
    this.config = config;
    this.ledger = ledger;
    this.measuring = measuring;
    this.looks = looks;
    this.doubts = doubts;
  }

  static async open(t: Test, options: PushWorldOptions = {}): Promise<PushWorld> {
    const { clock, config: settings = [], hasHooks = true, pushWorker = null } = options;
    const { accepted = async () => {}, missingKeys = () => [] } = options;
    const folder = temporary(t);
    const repository = join(folder, 'srv/alice/a.git');
    mkdirSync(repository, { recursive: true });
    execFileSync('git', ['init', '-q', '--bare', '-b', 'main', repository], { env: gitEnvironment });
    for (const each of ['gc.auto=0', 'receive.autogc=false', ...settings]) {
      const [key = '', value = ''] = each.split('=');
      execFileSync('git', ['-C', repository, 'config', key, value], { env: gitEnvironment });
    }
    const file = join(folder, 'app.ini');
    const data = join(folder, 'data');
    mkdirSync(data);
    writeFileSync(
      file,
      `[server]\nDATA_PATH = ${data}\n[storage.repos]\nPATH = ${folder}/srv/{owner}/{repo}.git\n`,
    );
    const loaded = loadConfig({ file, env: {}, cwd: folder, uid: 0 });
    if (!loaded.ok) throw new Error('the configuration is refused');
    const ledgers = new LedgerWorld(t, { directory: data });
    const ledger = await ledgers.open();
    const nothing = () => {};
    const looks: string[] = [];
    const doubts: string[] = [];
    const measuring = new Measuring({
      config: loaded.config,
      ledger,
      // Only what is logged by the methods of this one.
      log: silentLog as never,
      fleet: null,
      visibility: null,
      inherited: () => {},
      sweepDue: () => {},
      repositories: {
        changed: nothing,
        mayHaveChanged: path => looks.push(path),
        resized: path => doubts.push(path),
        appeared: nothing,
      },
      pushWorker,
      onFullChanged: nothing,
      missingKeys,
      accepted,
      ...(clock === undefined ? {} : { clock }),
    });
    t.teardown(() => measuring.close());
    const world = new PushWorld(t, repository, loaded.config, ledger, measuring, looks, doubts);
    if (hasHooks) await world.#serve(join(folder, 'hooks.sock'));
    await world.sweep();
    return world;
  }

  /** Bytes that the ledger counts for the repository. */
  get bytes(): number {
    return this.ledger.units.unit(this.repository)?.bytes ?? 0;
  }

  /** Bytes on the disk, without quarantines and what git has not finished. */
  get onDisk(): number {
    const { repository } = this;
    const unfinished = '-name tmp_objdir-* -prune -o -name tmp_* -o -name .tmp-* -o'.split(' ');
    return independentCount(repository, ...unfinished).bytes;
  }

  async sweep(kind: 'sweep' | 'verify' = 'sweep') {
    const sweep = this.measuring.scanner.sweep({ kind });
    await sweep.done;
    return sweep.drift;
  }

  /** Resolves once no push is under way or waits for a walk. */
  async noPushes(): Promise<void> {
    await this.until(
      () => this.pushBytes === 0 && this.measuring.pushes.listed(this.repository).length === 0,
    );
  }

  /** Bytes that count beside the last walk. */
  get pushBytes(): number {
    return this.measuring.pushes.bytesOf(this.repository);
  }

  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await new Promise(resolve => setTimeout(resolve, 5));
  }

  /** Resolves once the figure is exact, after one sweep and the walks that follow by themselves. */
  async quiet(): Promise<void> {
    await this.sweep();
    await this.until(() => this.bytes === this.onDisk);
  }

  /** Walks until a walk is believed; it takes ten seconds since git has changed something. */
  async settled(): Promise<void> {
    while (this.bytes !== this.onDisk) await this.measuring.scanner.measureSoon(this.repository);
  }

  async git(...args: readonly string[]): Promise<string> {
    return (await run('git', ['-C', this.repository, ...args], { env: gitEnvironment })).stdout;
  }

  /** Pushes a commit with a file of so many random bytes; false: it was refused. */
  async push(bytes: number, branch = 'main'): Promise<boolean> {
    const work = await this.#workOf(branch);
    writeFileSync(join(work, randomBytes(6).toString('hex')), randomBytes(bytes));
    const git = (...args: readonly string[]) => run('git', ['-C', work, ...args], { env: gitEnvironment });
    await git('add', '-A');
    await git('commit', '-q', '-m', 'more');
    try {
      await git('push', '-q', '--force', 'origin', `HEAD:refs/heads/${branch}`);
      return true;
    } catch {
      await git('reset', '-q', '--hard', 'HEAD~1').catch(() => {});
      return false;
    }
  }

  async #workOf(branch: string): Promise<string> {
    const known = this.#works.get(branch);
    if (known !== undefined) return known;
    const work = temporary(this.#t);
    this.#works.set(branch, work);
    await run('git', ['clone', '-q', this.repository, work], { env: gitEnvironment });
    return work;
  }

  async #serve(socket: string): Promise<void> {
    const server = createServer((request, response) => {
      void (async () => {
        const { pathname, searchParams } = new URL(request.url ?? '/', 'http://hook');
        const lines = await text(request);
        if (pathname === '/post') this.measuring.pushes.arrived(this.repository, lines);
        response.end(pathname === '/post' ? '' : await this.#asked(searchParams.get('q') ?? '', lines));
      })();
    }).listen(socket);
    this.#t.teardown(() => server.close());
    const ask = (what: string) => `curl -s --unix-socket ${socket} --data-binary @- 'http://hook/${what}'`;
    this.hook('pre-receive', `test "$(${ask("pre?q='$GIT_QUARANTINE_PATH'")})" = 'go on'`);
    this.hook('post-receive', ask('post'));
  }

  /** Lets the push with this quarantine go on; gives what is in it, and null where there is none. */
  async begin(name: string, lines = ''): Promise<number | null> {
    const { pushes } = this.measuring;
    const look = await pushes.look(this.repository, name, 10_000);
    if (look.is !== 'seen') return null;
    const { quarantine } = look;
    const unit = { path: this.repository, owner: 'alice', leaf: repos, bytes: this.bytes };
    pushes.begin({ unit, quarantine, name, lines });
    // At once: whoever follows the ledger looks at its figures in the next turn.
    this.onCounted(quarantine.bytes);
    return quarantine.bytes;
  }

  async #asked(path: string, lines: string): Promise<string> {
    const name = basename(path);
    const answer = await this.answer();
    if (answer === 'refuse') return answer;
    const bytes = await this.begin(name, lines);
    // `git gc --prune=now` removes quarantines of pushes under way, which then fail.
    return bytes === null ? 'refuse' : answer;
  }

  hook(name: string, line: string): void {
    const path = join(this.repository, 'hooks', name);
    writeFileSync(path, `#!/bin/sh\n${line}\n`);
    chmodSync(path, 0o755);
  }
}
