/**
 * Beside a real Gitea: whatever is stored, renamed, transferred and deleted there counts rightly a moment
 * later. Only the long run builds one.
 */

import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { until } from '../e2e/ask.ts';
import { must, plainEnvironment } from '../e2e/run.ts';
import { Server } from '../e2e/server.ts';
import { freePort } from '../e2e/transports.ts';
import { startMariadb, startPostgres } from './servers.ts';

const script = fileURLToPath(new URL('../../scripts/real-gitea', import.meta.url));
const admin = { name: 'root-admin', password: 'a-password-of-the-test' };

const startMs = 300_000;

t.setTimeout(3_600_000);

class Gitea {
  readonly #url: string;

  private constructor(url: string) {
    this.#url = url;
  }

  /** In a folder of its own; `database` are the lines of that section. */
  static async start(t: Test, folder: string, database: string): Promise<Gitea> {
    const { HOME, XDG_CACHE_HOME } = process.env;
    const cache = { ...(HOME ? { HOME } : {}), ...(XDG_CACHE_HOME ? { XDG_CACHE_HOME } : {}) };
    const built = (await must(script, [], { env: cache })).trim();
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    await mkdir(folder, { recursive: true });
    const config = join(folder, 'app.ini');
    await writeFile(config, iniOf(folder, built, port, database));
    const program = join(built, 'gitea');
    const own = { HOME: folder, USER: 'root', GITEA_WORK_DIR: folder };
    // Gitea writes git's global configuration. As root, git would put a file in place of /dev/null.
    const env = { ...plainEnvironment, ...own, GIT_CONFIG_GLOBAL: join(folder, 'gitconfig') };
    const log = join(folder, 'log.txt');
    const output = openSync(log, 'a');
    const child = spawn(program, ['web', '--config', config], { env, stdio: ['ignore', output, output] });
    closeSync(output);
    const exited = once(child, 'exit');
    t.teardown(async () => {
      child.kill();
      await exited;
    });
    // It makes two hundred tables first.
    const deadline = performance.now() + startMs;
    while (!(await fetch(`${url}/api/healthz`).catch(() => null))?.ok) {
      if (child.exitCode !== null || performance.now() > deadline) {
        throw new Error(`Gitea does not answer:\n${await readFile(log, 'utf8')}`);
      }
      await Promise.race([exited, setTimeout(100)]);
    }
    const words = ['--admin', '--username', admin.name, '--password', admin.password];
    const rest = ['--email', 'root@git.example', '--must-change-password=false', '--config', config];
    await must(program, ['admin', 'user', 'create', ...words, ...rest], { env });
    return new Gitea(url);
  }

  /** Asks as the administrator; rejects where that is refused. */
  async ask(method: string, path: string, body?: object | Buffer | FormData): Promise<unknown> {
    const isJson = body !== undefined && !Buffer.isBuffer(body) && !(body instanceof FormData);
    const credentials = Buffer.from(`${admin.name}:${admin.password}`).toString('base64');
    const response = await fetch(path.startsWith('http') ? path : this.#url + path, {
      method,
      headers: {
        Authorization: `Basic ${credentials}`,
        ...(isJson ? { 'Content-Type': lfsOr(path) } : {}),
        ...(isJson ? { Accept: lfsOr(path) } : {}),
      },
      ...(body === undefined ? {} : { body: bodyOf(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? null : JSON.parse(text.startsWith('{') || text.startsWith('[') ? text : 'null');
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
}

function bodyOf(body: object | Buffer | FormData): string | Uint8Array<ArrayBuffer> | FormData {
  if (body instanceof FormData) return body;
  return Buffer.isBuffer(body) ? new Uint8Array(body) : JSON.stringify(body);
}

function lfsOr(path: string): string {
  return path.includes('/info/lfs/') ? 'application/vnd.git-lfs+json' : 'application/json';
}

function iniOf(folder: string, built: string, port: number, database: string): string {
  return `RUN_USER = root
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
WORK_PATH = ${folder}
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = ${port}
ROOT_URL = http://127.0.0.1:${port}/
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
`;
}

/** The lines of `[database]` by what it is. */
const databases: Readonly<Record<string, (t: Test) => Promise<string>>> = {
  'SQLite, DELETE': async () => 'DB_TYPE = sqlite3\nSQLITE_JOURNAL_MODE = DELETE',
  'SQLite, WAL': async () => 'DB_TYPE = sqlite3\nSQLITE_JOURNAL_MODE = WAL',
  PostgreSQL: async t => {
    const server = await startPostgres(t);
    await server.sql("CREATE ROLE gitea LOGIN PASSWORD 'secret'");
    await server.sql('CREATE DATABASE gitea OWNER gitea');
    return `DB_TYPE = postgres\nHOST = ${server.host}\nNAME = gitea\nUSER = gitea\nPASSWD = secret\nSSL_MODE = disable`;
  },
  MariaDB: async t => {
    const server = await startMariadb(t);
    await server.sql(
      "CREATE DATABASE gitea CHARACTER SET utf8mb4; CREATE USER gitea@'%' IDENTIFIED BY 'secret'",
    );
    await server.sql("GRANT ALL ON gitea.* TO gitea@'%'");
    return `DB_TYPE = mysql\nHOST = ${server.host}\nNAME = gitea\nUSER = gitea\nPASSWD = secret`;
  },
};

for (const [name, database] of Object.entries(databases)) {
  t.test(`what a real Gitea (${name}) stores counts at once, for whom it belongs to`, async t => {
    const server = await Server.open(t, { started: false });
    const folder = join(server.folder, 'gitea');
    const gitea = await Gitea.start(t, folder, await database(t));
    // Gitea makes it with its first repository.
    await mkdir(join(folder, 'data', 'gitea-repositories'), { recursive: true });
    const root = `${folder}/data/gitea-repositories/{owner}`;
    await server.configure({
      forge: { KIND: 'gitea', CONFIG: join(folder, 'app.ini'), POLL: '1s' },
      'storage.repos': { PATH: `${root}/{repo}.git` },
      'storage.wiki': { PATH: `${root}/{repo}.wiki.git` },
      'storage.lfs': { PATH: null },
      'storage.attachments.issues': { PATH: null },
    });
    await server.start();
    const comes = async (what: string, isSo: () => Promise<boolean>) => {
      const start = performance.now();
      await until(
        async () => (await isSo()) || null,
        () => `${what}: it did not come\n${server.daemon.log}`,
      );
      t.pass(`${what}: after ${Math.round(performance.now() - start)} ms`);
    };
    const has = (owner: string, leaf: string, bytes: number | undefined) => async () =>
      (await server.usageByLeaf(owner))[leaf] === bytes;

    for (const username of ['Alice', 'bob']) {
      const password = randomBytes(12).toString('hex');
      await gitea.ask('POST', '/api/v1/admin/users', {
        username,
        password,
        email: `${username}@git.example`,
      });
    }
    for (const name of ['app', 'other']) {
      await gitea.ask('POST', '/api/v1/admin/users/Alice/repos', { name, auto_init: true });
    }
    await comes('a new user is known', async () =>
      (await server.ask('admin', '/api/v1/admin/users/Alice')).text.includes('"Alice"'),
    );

    const content = randomBytes(50_000);
    await gitea.lfs('Alice/app', content);
    await comes('an LFS object counts', has('Alice', 'size:git:lfs', 50_000));
    await gitea.lfs('Alice/other', content);
    await gitea.lfs('Alice/other', randomBytes(7));
    await comes('the same object in another repository counts once', has('Alice', 'size:git:lfs', 50_007));
    await gitea.ask('PUT', '/api/packages/Alice/generic/thing/1.0/file.bin', randomBytes(30_000));
    await comes('a package counts', has('Alice', 'size:assets:packages:all', 30_000));
    const release = await gitea.ask('POST', '/api/v1/repos/Alice/app/releases', { tag_name: 'v1' });
    await gitea.attach(`/api/v1/repos/Alice/app/releases/${idOf(release)}/assets`, randomBytes(2000));
    await comes('a file of a release counts', has('Alice', 'size:assets:attachments:releases', 2000));
    await gitea.ask('POST', '/api/v1/repos/Alice/app/issues', { title: 'it fails' });
    await gitea.attach('/api/v1/repos/Alice/app/issues/1/assets', randomBytes(300));
    await comes('an attachment counts', has('Alice', 'size:assets:attachments:issues', 300));

    await server.scan();
    await comes(
      'repositories are public',
      async () => ((await server.usageByLeaf('Alice'))['size:repos:public'] ?? 0) > 0,
    );
    await gitea.ask('PATCH', '/api/v1/repos/Alice/app', { private: true });
    await gitea.ask('PATCH', '/api/v1/repos/Alice/other', { private: true });
    await comes('and private from now on', has('Alice', 'size:repos:public', undefined));

    await server.ask('admin', '/api/v1/admin/quota/groups', { body: { name: 'friends', rules: [] } });
    await server.ask('admin', '/api/v1/admin/users/Alice/quota/groups', { body: { groups: ['friends'] } });
    await gitea.ask('POST', '/api/v1/admin/users/Alice/rename', { new_username: 'Carol' });
    await comes('a renamed user has everything', has('Carol', 'size:git:lfs', 50_007));
    await comes('and is in the same groups', async () =>
      (await server.ask('admin', '/api/v1/admin/users/Carol/quota')).text.includes('friends'),
    );

    await gitea.ask('POST', '/api/v1/repos/Carol/app/transfer', { new_owner: 'bob' });
    await comes('a transferred repository takes its objects along', has('bob', 'size:git:lfs', 50_000));
    t.ok(await has('Carol', 'size:git:lfs', 50_007)(), 'the other repository still has them');
    await comes('and its attachments', has('Carol', 'size:assets:attachments:issues', undefined));
    await gitea.ask('DELETE', '/api/v1/packages/Carol/generic/thing/1.0');
    await comes('a deleted package counts no more', has('Carol', 'size:assets:packages:all', undefined));
    await gitea.ask('DELETE', '/api/v1/repos/bob/app');
    await comes('nor does a deleted repository', has('bob', 'size:git:lfs', undefined));
  });
}

function idOf(answer: unknown): number {
  if (typeof answer === 'object' && answer !== null && 'id' in answer) return Number(answer.id);
  throw new Error('there is no id');
}
