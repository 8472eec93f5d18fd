/**
 * A git server under quota: a folder with app.ini, bare repositories and their hooks, and the daemon on it.
 *
 * Nothing is faked: the daemon is `softquota serve`, the hooks are put in by `softquota hooks install`,
 * and git itself runs them.
 */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Test } from 'tap';
import { leaves } from '../../src/quota/index.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { type Answer, ask, type Question, until } from './ask.ts';
import { Clone } from './clone.ts';
import { softquota, wordsOf } from './commands.ts';
import { Daemon, type DaemonOptions, type Ending, type LogLine } from './daemon.ts';
import { must, type Run, type RunOptions, run } from './run.ts';

/** Sections with their keys; null leaves a key out. */
export type Ini = Readonly<Record<string, Readonly<Record<string, string | null>>>>;

export interface ServerOptions {
  readonly ini?: Ini;
  /** `OWNER/NAME` of the repositories to begin with; their hooks are installed. */
  readonly repositories?: readonly string[];
  /** False leaves the daemon to be started later. */
  readonly started?: boolean;
}

export class Server {
  readonly folder: string;
  readonly config: string;
  #ini: Ini;
  #daemon: Daemon | null = null;

  private constructor(folder: string, ini: Ini) {
    this.folder = folder;
    this.config = join(folder, 'app.ini');
    this.#ini = ini;
  }

  static async open(
    t: Test,
    { ini = {}, repositories = [], started = true }: ServerOptions = {},
  ): Promise<Server> {
    // A short name: what the sockets are called by has at most 107 bytes.
    const folder = temporaryFolder(t);
    const server = new Server(folder, merge(beginning(folder), ini));
    t.teardown(async () => {
      await server.#daemon?.end();
      const { stdout: left } = await run('find', ['-H', join(folder, 'git'), '-name', 'softquota*']);
      if (left !== '') throw new Error(`nothing of softquota's is kept in repositories, but ${left}`);
    });
    for (const name of ['data', 'git', 'lfs', 'attachments']) await mkdir(join(folder, name));
    await server.configure({});
    for (const name of repositories) await server.repository(name);
    if (repositories.length > 0) await server.installHooks();
    if (started) await server.start();
    return server;
  }

  get daemon(): Daemon {
    if (this.#daemon === null) throw new Error('the daemon was not started');
    return this.#daemon;
  }

  /** The path of a socket: `gate`, `trusted` or `admin`. */
  socket(name: 'gate' | 'trusted' | 'admin'): string {
    return join(this.folder, 'data', `${name}.sock`);
  }

  /** Puts keys into app.ini. */
  async configure(ini: Ini): Promise<void> {
    this.#ini = merge(this.#ini, ini);
    await writeFile(this.config, textOf(this.#ini));
  }

  /** Puts keys into app.ini, and resolves once the daemon goes by them. */
  async reload(ini: Ini = {}): Promise<LogLine> {
    const from = this.daemon.lines.length;
    await this.configure(ini);
    this.daemon.child.kill('SIGHUP');
    return this.daemon.logged(/^the configuration is reloaded/, from);
  }

  /** Resolves once /readyz is 200, unless `ready` is false: then once it answers. */
  async start({
    ready = true,
    ...options
  }: DaemonOptions & { readonly ready?: boolean } = {}): Promise<Daemon> {
    const daemon = new Daemon(this.config, options);
    this.#daemon = daemon;
    await daemon.logged(/^softquota answers/);
    if (ready) await this.ready();
    return daemon;
  }

  /** Starts what starts it when somebody asks. */
  startOnDemand(options: DaemonOptions): Daemon {
    this.#daemon = new Daemon(this.config, options);
    return this.#daemon;
  }

  /** Starts it where it is expected to refuse. */
  async startInVain(options: DaemonOptions = {}): Promise<Ending & { readonly log: string }> {
    const daemon = new Daemon(this.config, options);
    const ending = await daemon.ended;
    return { ...ending, log: daemon.log };
  }

  async ready(): Promise<void> {
    let reasons = '';
    await until(
      async () => {
        reasons = await this.reasons();
        return reasons === '' ? true : null;
      },
      () => `never ready: ${reasons}\n${this.daemon.log}`,
    );
  }

  /** Complaints of /readyz; empty if it answers 200. */
  async reasons(): Promise<string> {
    const { status, text } = await this.ask('gate', '/readyz', { accept: 'text/plain' });
    return status === 200 ? '' : text.trim();
  }

  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Ending> {
    return this.daemon.end(signal);
  }

  ask(socket: 'gate' | 'trusted' | 'admin', path: string, question?: Question): Promise<Answer> {
    return ask(this.socket(socket), path, question);
  }

  /** Calls the administrator's API, which has to succeed; `path` is below /api/v1. */
  async admin(path: string, question: Question = {}) {
    const { status, text } = await this.ask('admin', `/api/v1${path}`, question);
    if (status >= 300) throw new Error(`${path}: ${status} ${text}`);
    return text === '' ? null : JSON.parse(text);
  }

  /** Reports the bytes of a unit of an owner's, as a trusted program does. */
  async reports(
    owner: string,
    bytes: number,
    { subject = 'size:git:lfs', unit = 'store' }: { readonly subject?: string; readonly unit?: string } = {},
  ): Promise<void> {
    const body = { owner, subject, unit, bytes };
    const { status, text } = await this.ask('trusted', '/v1/units', { body });
    if (status !== 200) throw new Error(`a report about ${owner}: ${status} ${text}`);
  }

  /** Bytes that the daemon counts for an owner, all kinds together. */
  async usage(owner: string): Promise<number> {
    const bytes = await this.usageByLeaf(owner);
    return Object.values(bytes).reduce((sum, each) => sum + each, 0);
  }

  /** Bytes that the daemon counts for an owner by leaf; kinds without a byte are left out. */
  async usageByLeaf(owner: string): Promise<Readonly<Record<string, number>>> {
    const { status, text } = await this.ask('trusted', `/v1/usage?owner=${encodeURIComponent(owner)}`);
    if (status !== 200) throw new Error(`usage of ${owner}: ${status} ${text}`);
    const { used } = JSON.parse(text);
    const bytes = leaves.map(leaf => [leaf, Number(leafBytes(used, leaf))] as const);
    return Object.fromEntries(bytes.filter(([, size]) => size > 0));
  }

  /** Resolves once the owner's usage is like this. */
  async usageIs(owner: string, isIt: (bytes: number) => boolean): Promise<number> {
    let last = -1;
    return until(
      async () => {
        last = await this.usage(owner);
        return isIt(last) ? last : null;
      },
      () => `the usage of ${owner} stayed at ${last}\n${this.#daemon?.log}`,
    );
  }

  /** Runs a sweep, and returns its report once it has ended. */
  async scan(order: object = {}): Promise<{ readonly state: string; readonly [field: string]: unknown }> {
    const { id } = await this.admin('/admin/quota/scans', { body: order });
    for (;;) {
      const report = await this.admin(`/admin/quota/scans/${id}`);
      if (!['waiting', 'running'].includes(report.state)) return report;
      await delay(20);
    }
  }

  /** Writes a file into the server's folder, JSON unless it is a text; gives its path. */
  async file(name: string, content: unknown): Promise<string> {
    const path = join(this.folder, name);
    await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
    return path;
  }

  /** A command of softquota's with this server's app.ini: its words, or a line as one types it. */
  softquota(line: string | readonly string[], options: RunOptions = {}): Promise<Run> {
    return softquota(line, { ...options, env: { SOFTQUOTA_CONFIG: this.config, ...options.env } });
  }

  /** Runs a command that has to succeed, with further words; gives what it printed. */
  async done(line: string | readonly string[], ...words: readonly string[]): Promise<string> {
    const whole = words.length === 0 ? line : [...wordsOf(line), ...words];
    const { code, stdout, stderr } = await this.softquota(whole);
    if (code !== 0) throw new Error(`${[line, ...words].join(' ')}: exit ${code}\n${stdout}${stderr}`);
    return stdout;
  }

  /** Does as `done`, with --json. */
  async json(line: string | readonly string[], ...words: readonly string[]) {
    return JSON.parse(await this.done(line, ...words, '--json'));
  }

  async installHooks(...options: readonly string[]): Promise<void> {
    await this.done(['hooks', 'install', ...options, join(this.folder, 'git')]);
  }

  /** Makes a bare repository; gives its path. */
  async repository(name: string, format: 'sha1' | 'sha256' = 'sha1'): Promise<string> {
    const path = this.path(name);
    await must('git', ['init', '-q', '--bare', '-b', 'main', `--object-format=${format}`, path]);
    return path;
  }

  path(name: string): string {
    return join(this.folder, 'git', `${name}.git`);
  }

  /** A working copy of a repository, to which a file of so many bytes was pushed, once these count. */
  async filled(name: string, bytes: number): Promise<Clone> {
    const clone = await Clone.of(this, this.path(name));
    await clone.commit(bytes);
    await clone.git('push', '-q', 'origin', 'main');
    await this.usageIs(name.split('/')[0] ?? '', used => used > bytes);
    return clone;
  }
}

function beginning(folder: string): Ini {
  return {
    server: { DATA_PATH: join(folder, 'data'), HTTP_PORT: '0' },
    quota: { ENABLED: 'true' },
    'quota.default': { TOTAL: '1M' },
    'storage.repos': { PATH: `${folder}/git/{owner}/{repo}.git` },
    'storage.lfs': { PATH: `${folder}/lfs/{owner}, ${folder}/git/{owner}/{repo}.git/lfs` },
    'storage.attachments.issues': { PATH: `${folder}/attachments/{owner}` },
    // Only what a test asks for is measured.
    scan: { SCHEDULE: '0 0 1 1 *' },
    hooks: { CONTACT: 'https://git.example/quota' },
  };
}

function merge(ini: Ini, more: Ini): Ini {
  const sections = new Set([...Object.keys(ini), ...Object.keys(more)]);
  return Object.fromEntries([...sections].map(section => [section, { ...ini[section], ...more[section] }]));
}

function textOf(ini: Ini): string {
  return Object.entries(ini)
    .map(([section, keys]) => {
      const lines = Object.entries(keys).flatMap(([key, value]) =>
        value === null ? [] : [`${key} = ${value}`],
      );
      return `[${section}]\n${lines.join('\n')}\n`;
    })
    .join('\n');
}

/** A leaf's bytes in a tree that spells its way: `size:git:lfs` stands at `size.git.LFS`. */
function leafBytes(used: unknown, leaf: string): unknown {
  let at: unknown = used;
  for (const step of leaf.split(':')) {
    const fields: Readonly<Record<string, unknown>> = typeof at === 'object' && at !== null ? { ...at } : {};
    at = fields[step] ?? fields[step.toUpperCase()];
  }
  return at;
}
