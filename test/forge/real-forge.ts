/**
 * A real Gitea or Forgejo in a folder of a test's own: built once, run on loopback, and driven by its API.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chownSync, closeSync, openSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { must, plainEnvironment, type Run, run } from '../e2e/run.ts';
import { freePort } from '../e2e/transports.ts';

const script = fileURLToPath(new URL('../../scripts/real-forge', import.meta.url));
const startMs = 300_000;

export const admin = { name: 'root-admin', password: 'a-password-of-the-test' };

export type ForgeKind = 'gitea' | 'forgejo';

export interface RealForgeOptions {
  readonly kind?: ForgeKind;
  readonly version?: string;
  /** Its working directory; not there yet. */
  readonly folder: string;
  /** The lines of `[database]`; a SQLite file as the forge makes it unless given. */
  readonly database?: string;
  /** More sections of its app.ini. */
  readonly more?: string;
  /** The user who runs it; the tester unless given. */
  readonly uid?: number;
}

/** An answer that may be a refusal. */
export interface ForgeAnswer {
  readonly status: number;
  readonly text: string;
}

export class RealForge {
  readonly kind: ForgeKind;
  readonly folder: string;
  readonly config: string;
  readonly url: string;
  readonly runUser: string;
  readonly #uid: number;
  readonly #env: Readonly<Record<string, string>>;
  #program = '';
  #child: ChildProcess | null = null;

  private constructor({ kind = 'gitea', folder, uid }: RealForgeOptions, port: number) {
    this.kind = kind;
    this.folder = folder;
    this.config = join(folder, 'app.ini');
    this.url = `http://127.0.0.1:${port}`;
    const own = userInfo();
    this.#uid = uid ?? own.uid;
    // One that the system does not know has the name that its environment says.
    this.runUser = this.#uid === own.uid ? own.username : 'git';
    // It writes git's global configuration. As root, git would put a file in place of /dev/null.
    const git = { GIT_CONFIG_GLOBAL: join(folder, 'gitconfig') };
    const places = { HOME: folder, GITEA_WORK_DIR: folder, FORGEJO_WORK_DIR: folder };
    this.#env = { ...plainEnvironment, USER: this.runUser, ...places, ...git };
  }

  static async start(t: Test, options: RealForgeOptions): Promise<RealForge> {
    const port = await freePort();
    const forge = new RealForge(options, port);
    const { folder } = forge;
    await mkdir(folder, { recursive: true });
    let built = await builtForge(forge.kind, options.version);
    if (forge.#uid !== process.getuid?.()) {
      // Others may not search the way to the cache.
      const reachable = join(folder, 'built');
      await mkdir(reachable);
      await must('mount', ['--bind', built, reachable]);
      t.teardown(() => must('umount', ['-l', reachable]));
      built = reachable;
    }
    const { database = 'DB_TYPE = sqlite3', more = '' } = options;
    await writeFile(forge.config, iniOf(forge, { built, port, database, more }));
    if (forge.#uid !== process.getuid?.()) {
      for (const place of [folder, forge.config]) chownSync(place, forge.#uid, forge.#uid);
    }
    t.teardown(() => forge.stop());
    forge.#program = join(built, 'program');
    await forge.#start();
    const words = ['--admin', '--username', admin.name, '--password', admin.password];
    const rest = ['--email', 'root@git.example', '--must-change-password=false'];
    await forge.command('admin', 'user', 'create', ...words, ...rest);
    return forge;
  }

  /** The directory of its repositories. */
  get repositories(): string {
    return join(this.folder, 'data', `${this.kind}-repositories`);
  }

  async #start(): Promise<void> {
    const log = join(this.folder, 'log.txt');
    const output = openSync(log, 'a');
    const [command, args] = this.#asItself('web');
    const child = spawn(command, args, { env: this.#env, stdio: ['ignore', output, output] });
    this.#child = child;
    closeSync(output);
    const exited = once(child, 'exit');
    // It makes two hundred tables first.
    const deadline = performance.now() + startMs;
    while (!(await fetch(`${this.url}/api/healthz`).catch(() => null))?.ok) {
      if (child.exitCode !== null || performance.now() > deadline) {
        throw new Error(`${this.kind} does not answer:\n${await readFile(log, 'utf8')}`);
      }
      await Promise.race([exited, setTimeout(100)]);
    }
  }

  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill();
    await exited;
  }

  /** Starts it again, as another version if one is given. */
  async restart(version?: string): Promise<void> {
    await this.stop();
    if (version !== undefined) {
      const built = await builtForge(this.kind, version);
      this.#program = join(built, 'program');
      const ini = await readFile(this.config, 'utf8');
      const source = `STATIC_ROOT_PATH = ${join(built, 'source')}`;
      await writeFile(this.config, ini.replace(/^STATIC_ROOT_PATH = .*$/m, source));
    }
    await this.#start();
  }

  /** Runs one of its commands. */
  command(...words: readonly string[]): Promise<string> {
    const [command, args] = this.#asItself(...words);
    return must(command, args, { env: this.#env });
  }

  #asItself(...words: readonly string[]): [string, readonly string[]] {
    const args = [...words, '--config', this.config];
    if (this.#uid === process.getuid?.()) return [this.#program, args];
    const user = ['--reuid', String(this.#uid), '--regid', String(this.#uid), '--clear-groups'];
    return ['setpriv', [...user, '--', this.#program, ...args]];
  }

  /** Asks as the administrator; rejects where that is refused. */
  async ask(method: string, path: string, body?: object): Promise<unknown> {
    const { status, text } = await this.tried(method, path, body);
    if (status >= 400) throw new Error(`${method} ${path}: ${status} ${text}`);
    return text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : null;
  }

  /** Sends a request whose refusal is an answer, too. */
  async tried(method: string, path: string, body?: object, user = admin): Promise<ForgeAnswer> {
    const isJson = body !== undefined && !Buffer.isBuffer(body) && !(body instanceof FormData);
    const type = path.includes('/info/lfs/') ? 'application/vnd.git-lfs+json' : 'application/json';
    const credentials = Buffer.from(`${user.name}:${user.password}`).toString('base64');
    const response = await fetch(path.startsWith('http') ? path : this.url + path, {
      method,
      headers: {
        Authorization: `Basic ${credentials}`,
        ...(isJson ? { 'Content-Type': type, Accept: type } : {}),
      },
      ...(body === undefined ? {} : { body: bodyOf(body) }),
    });
    return { status: response.status, text: await response.text() };
  }

  async user(username: string): Promise<{ readonly name: string; readonly password: string }> {
    const password = randomBytes(12).toString('hex');
    const email = `${username}@git.example`;
    const more = { must_change_password: false };
    await this.ask('POST', '/api/v1/admin/users', { username, password, email, ...more });
    return { name: username, password };
  }

  async lfs(repository: string, content: Buffer): Promise<void> {
    const oid = createHash('sha256').update(content).digest('hex');
    const object = { oid, size: content.length };
    const batch = { operation: 'upload', transfers: ['basic'], objects: [object] };
    await this.ask('POST', `/${repository}.git/info/lfs/objects/batch`, batch);
    await this.ask('PUT', `/${repository}.git/info/lfs/objects/${oid}/${content.length}`, content);
  }

  async attach(path: string, content: Buffer): Promise<void> {
    const form = new FormData();
    form.set('attachment', new Blob([new Uint8Array(content)]), 'file.txt');
    await this.ask('POST', path, form);
  }

  /** Pushes what HEAD of a work tree is. */
  push(work: string, repository: string, refs: string, options: readonly string[] = []): Promise<Run> {
    return this.pushTo(this.remote(repository), work, refs, options);
  }

  pushTo(remote: string, work: string, refs: string, options: readonly string[] = []): Promise<Run> {
    return run('git', ['-C', work, 'push', '-q', ...options, remote, refs]);
  }

  /** Address at which the forge's administrator finds a repository. */
  remote(repository: string): string {
    const url = new URL(`${this.url}/${repository}.git`);
    url.username = admin.name;
    url.password = admin.password;
    return url.href;
  }
}

/** The directory of a built forge, as scripts/real-forge gives it. */
export async function builtForge(
  kind: ForgeKind | 'gitaly' | 'git' | 'git-lfs-transfer',
  version?: string,
): Promise<string> {
  const { HOME, XDG_CACHE_HOME } = process.env;
  const env = { ...(HOME ? { HOME } : {}), ...(XDG_CACHE_HOME ? { XDG_CACHE_HOME } : {}) };
  return (await must(script, version === undefined ? [kind] : [kind, version], { env })).trim();
}

function bodyOf(body: object): string | Uint8Array<ArrayBuffer> | FormData {
  if (body instanceof FormData) return body;
  return Buffer.isBuffer(body) ? new Uint8Array(body) : JSON.stringify(body);
}

interface Written {
  readonly built: string;
  readonly port: number;
  readonly database: string;
  readonly more: string;
}

function iniOf({ folder, url, runUser }: RealForge, { built, port, database, more }: Written): string {
  return `RUN_USER = ${runUser}
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
WORK_PATH = ${folder}
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = ${port}
ROOT_URL = ${url}/
STATIC_ROOT_PATH = ${join(built, 'source')}
LFS_START_SERVER = true
DISABLE_SSH = true
OFFLINE_MODE = true
[database]
${database}
[attachment]
ALLOWED_TYPES = */*
[security]
INSTALL_LOCK = true
INTERNAL_TOKEN = ${randomBytes(32).toString('hex')}
SECRET_KEY = ${randomBytes(16).toString('hex')}
PASSWORD_HASH_ALGO = pbkdf2
[session]
PROVIDER = memory
[log]
LEVEL = Warn
${more}
`;
}

export function idOf(answer: unknown): number {
  if (typeof answer === 'object' && answer !== null && 'id' in answer) return Number(answer.id);
  throw new Error('there is no id');
}
