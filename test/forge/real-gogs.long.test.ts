/**
 * Beside a real Gogs: whatever is stored, renamed, transferred and deleted there counts rightly a moment later, and
 * its pushes are asked about. It runs the program that SOFTQUOTA_GOGS names; nothing of it is built here.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { chown, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { must, plainEnvironment, type Run, run } from '../e2e/run.ts';
import { Server } from '../e2e/server.ts';
import { freePort } from '../e2e/transports.ts';
import { isFound, startBeside } from './counting.ts';
import { admin } from './real-forge.ts';

const program = process.env.SOFTQUOTA_GOGS;
/** The user who runs it; no user of the system. */
const uid = 42_424;
const startMs = 60_000;

t.setTimeout(1_800_000);

/** One in a folder of its own, with the session of its administrator in a browser's way: its API is small. */
class Gogs {
  readonly folder: string;
  readonly config: string;
  readonly #url: string;
  readonly #program: string;
  #cookies = new Map<string, string>();

  private constructor(folder: string, url: string, program: string) {
    this.folder = folder;
    this.config = join(folder, 'custom/conf/app.ini');
    this.#url = url;
    this.#program = program;
  }

  static async start(t: Test, folder: string, program: string): Promise<Gogs> {
    const port = await freePort();
    const gogs = new Gogs(folder, `http://127.0.0.1:${port}`, program);
    await mkdir(join(folder, 'custom/conf'), { recursive: true });
    await writeFile(gogs.config, iniOf(folder, port));
    await must('chown', ['-R', `${uid}:${uid}`, folder]);
    const log = join(folder, 'log.txt');
    const output = openSync(log, 'a');
    const [command, args] = gogs.#asItself('web');
    const child = spawn(command, args, { env: gogs.env, stdio: ['ignore', output, output] });
    closeSync(output);
    const exited = once(child, 'exit');
    t.teardown(async () => {
      child.kill();
      await exited;
    });
    await gogs.#answers(child, log);
    const words = ['admin', 'create-user', '--admin', '--name', admin.name, '--password', admin.password];
    await gogs.command(...words, '--email', 'root@git.example');
    await gogs.post('/user/login', { user_name: admin.name, password: admin.password });
    return gogs;
  }

  get env(): Readonly<Record<string, string>> {
    const own = { HOME: this.folder, USER: 'git', GOGS_WORK_DIR: this.folder };
    return { ...plainEnvironment, ...own, GIT_CONFIG_GLOBAL: join(this.folder, '.gitconfig') };
  }

  get repositories(): string {
    return join(this.folder, 'gogs-repositories');
  }

  async #answers(child: ChildProcess, log: string): Promise<void> {
    const deadline = performance.now() + startMs;
    while (!(await fetch(this.#url).catch(() => null))?.ok) {
      if (child.exitCode !== null || performance.now() > deadline)
        throw new Error(`Gogs does not answer:\n${await readFile(log, 'utf8')}`);
      await setTimeout(100);
    }
  }

  #asItself(...words: readonly string[]): [string, readonly string[]] {
    const user = ['--reuid', String(uid), '--regid', String(uid), '--clear-groups', '--'];
    return ['setpriv', [...user, this.#program, ...words, '--config', this.config]];
  }

  command(...words: readonly string[]): Promise<string> {
    const [command, args] = this.#asItself(...words);
    return must(command, args, { env: this.env });
  }

  /** Asks the API, or for LFS, as the administrator. */
  async ask(
    method: string,
    path: string,
    body?: object,
    { name, password } = admin,
    type = 'application/json',
  ): Promise<string> {
    const credentials = Buffer.from(`${name}:${password}`).toString('base64');
    const response = await fetch(this.#url + path, {
      method,
      headers: { Authorization: `Basic ${credentials}`, 'Content-Type': type, Accept: type },
      ...(body === undefined
        ? {}
        : { body: Buffer.isBuffer(body) ? new Uint8Array(body) : JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text;
  }

  /** Sends a form as its pages do. */
  async post(path: string, fields: Readonly<Record<string, string | Blob>>): Promise<string> {
    await this.#fetch(path, {});
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    const response = await this.#fetch(path, { method: 'POST', body: form });
    const text = await response.text();
    if (response.status >= 400 || text.includes('class="ui negative message"'))
      throw new Error(`POST ${path}: ${response.status} ${text.slice(0, 5000)}`);
    return text;
  }

  async #fetch(path: string, init: RequestInit): Promise<Response> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const token = decodeURIComponent(this.#cookies.get('_csrf') ?? '');
    const headers = { Cookie: cookie, 'X-CSRF-Token': token };
    const response = await fetch(this.#url + path, { ...init, headers, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';');
      const at = pair.indexOf('=');
      this.#cookies.set(pair.slice(0, at), pair.slice(at + 1));
    }
    return response;
  }

  async lfs(repository: string, content: Buffer): Promise<void> {
    const oid = createHash('sha256').update(content).digest('hex');
    const path = `/${repository}.git/info/lfs/objects/basic/${oid}`;
    const owner = { name: ownerOf(repository), password: admin.password };
    await this.ask('PUT', path, content, owner, 'application/octet-stream');
  }

  /** Uploads a file for an issue or a release that is then made; gives its name there. */
  async upload(kind: 'issues' | 'releases', content: Buffer): Promise<string> {
    const file = new Blob([new Uint8Array(content)]);
    return JSON.parse(await this.post(`/${kind}/attachments`, { file })).uuid;
  }

  push(work: string, repository: string): Promise<Run> {
    const url = new URL(`${this.#url}/${repository}.git`);
    url.username = ownerOf(repository);
    url.password = admin.password;
    return run('git', ['-C', work, 'push', '-q', url.href, 'HEAD:master']);
  }
}

/** User who may write there, which the administrator may not. */
function ownerOf(repository: string): string {
  return repository.slice(0, repository.indexOf('/'));
}

function iniOf(folder: string, port: number): string {
  return `RUN_USER = git
RUN_MODE = prod
[server]
EXTERNAL_URL = http://127.0.0.1:${port}/
DOMAIN = 127.0.0.1
HTTP_ADDR = 127.0.0.1
HTTP_PORT = ${port}
DISABLE_SSH = true
OFFLINE_MODE = true
[repository]
ROOT = ${folder}/gogs-repositories
[database]
TYPE = sqlite3
PATH = data/gogs.db
[attachment]
ALLOWED_TYPES = */*
[security]
INSTALL_LOCK = true
SECRET_KEY = ${randomBytes(16).toString('hex')}
[log]
MODE = console
LEVEL = Info
`;
}

if (program === undefined) t.pass('SOFTQUOTA_GOGS names no Gogs');
else {
  t.test('what a real Gogs stores counts at once, for whom it belongs to', t => countsAtOnce(t, program));
}

async function countsAtOnce(t: Test, program: string): Promise<void> {
  const server = await Server.open(t, { started: false });
  await must('chmod', ['711', server.folder, join(server.folder, 'data')]);
  const folder = join(server.folder, 'gogs');
  const gogs = await Gogs.start(t, folder, program);
  for (const username of ['Alice', 'bob']) {
    const { password } = admin;
    await gogs.ask('POST', '/api/v1/admin/users', { username, password, email: `${username}@git.example` });
  }
  const more = { auto_init: true, readme: 'Default' };
  for (const name of ['app', 'other']) {
    await gogs.ask('POST', '/api/v1/admin/users/Alice/repos', { name, ...more });
  }
  const content = randomBytes(50_000);
  await gogs.lfs('Alice/app', content);

  await isFound(t, server, 'gogs', folder, gogs.repositories, content.length);
  await server.configure({ server: { SOCKET_MODE: '0666' } });
  const { comes, has } = await startBeside(t, server, 'gogs', gogs.config, gogs.repositories);
  await gogs.lfs('Alice/other', content);
  await gogs.lfs('Alice/other', randomBytes(7));
  await comes('an object in two repositories counts once', has('Alice', 'size:git:lfs', 50_007));
  const issue = { title: 'it fails', content: 'x', files: await gogs.upload('issues', randomBytes(300)) };
  await gogs.post('/Alice/app/issues/new', issue);
  await comes('an attachment counts', has('Alice', 'size:assets:attachments:issues', 300));
  const release = { tag_name: 'v1', tag_target: 'master', title: 'v1' };
  const files = await gogs.upload('releases', randomBytes(2000));
  await gogs.post('/Alice/app/releases/new', { ...release, files });
  await comes('a file of a release counts', has('Alice', 'size:assets:attachments:releases', 2000));

  // Its users rename themselves.
  await gogs.post('/user/settings', { name: 'boss' });
  await comes('a renamed user is known', async () =>
    (await server.ask('admin', '/api/v1/admin/users/boss')).text.includes('"boss"'),
  );
  await gogs.post('/user/settings', { name: admin.name });
  const transfer = { action: 'transfer', repo_name: 'app', new_owner_name: 'bob' };
  await gogs.post('/Alice/app/settings', transfer);
  await comes('a transferred repository takes its objects along', has('bob', 'size:git:lfs', 50_000));
  await comes('and its files', has('bob', 'size:assets:attachments:releases', 2000));
  t.ok(await has('Alice', 'size:git:lfs', 50_007)(), 'the other repository still has them');
  await gogs.post('/bob/app/settings', { action: 'delete', repo_name: 'app' });
  await comes('a deleted repository counts no more', has('bob', 'size:git:lfs', undefined));

  await asks(t, server, gogs);
}

/** Hooks in Gogs: those of new repositories by the template, and all after "resync". */
async function asks(t: Test, server: Server, gogs: Gogs): Promise<void> {
  const installed = await server.softquota(['hooks', 'install', gogs.repositories]);
  t.match(installed.stdout, /git config --global init\.templateDir /);
  const template = join(gogs.repositories, '.softquota/template');
  const place = join(gogs.folder, '.gitconfig');
  await must('git', ['config', '--file', place, 'init.templateDir', template]);
  await chown(place, uid, uid);
  await gogs.ask('POST', '/api/v1/admin/users/Alice/repos', { name: 'new' });
  const unit = { owner: 'Alice', subject: 'size:assets:artifacts', unit: 'x', bytes: 2_000_000 };
  t.equal((await server.ask('trusted', '/v1/units', { body: unit })).status, 200);
  const work = join(server.folder, 'work');
  await must('git', ['init', '-q', work]);
  await must('git', ['-C', work, 'commit', '-q', '--allow-empty', '-m', 'x']);
  const isRefused = async (repository: string) => {
    const { code, stderr } = await gogs.push(work, repository);
    t.match({ code, stderr }, { code: 1, stderr: /Quota exceeded: Alice uses/ }, repository);
  };
  await isRefused('Alice/new');
  await gogs.command('admin', 'resync-hooks');
  await isRefused('Alice/new');
  t.equal((await gogs.push(work, 'bob/none')).code === 0, false, 'and Gogs goes on deciding for itself');
}
