/**
 * Uploads through a real proxy, configured as docs/uploads.md has it: what is refused reaches no forge, every
 * client says why, and without a daemon everything goes on.
 */

import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Test } from 'tap';
import { z } from 'zod';
import { served } from '../served.ts';
import { until } from './ask.ts';
import { Clone } from './clone.ts';
import { counted } from './count.ts';
import { type Around, proxies } from './proxies.ts';
import { identity, type Run, run } from './run.ts';
import { type Ini, Server } from './server.ts';
import { freePort, transports } from './transports.ts';

const limit = 1_000_000;
export const exceededWords = 'Quota exceeded: alice uses 1.2 MB of 1 MB (120 %).';

/** A forge: takes packages and LFS objects, keeps the locks of files, and counts what comes. */
class Forge {
  readonly came: {
    readonly method: string;
    readonly url: string;
    readonly bytes: number;
    /** User whom the proxy says that it has let in. */
    readonly user: string | undefined;
  }[] = [];
  /** The path below which clients see it. */
  base = '';
  #git = '';
  readonly #objects = new Map<string, Buffer>();
  readonly #locks: { readonly id: string; readonly path: string; readonly locked_at: string }[] = [];

  static async open(t: Test, server: Server): Promise<{ readonly forge: Forge; readonly port: number }> {
    const forge = new Forge();
    const { url } = await transports.http(t, server);
    forge.#git = url(join(server.folder, 'git'));
    const web = createServer({ maxHeaderSize: 65_536 }, (request, response) => {
      forge.#take(request, response).catch(() => response.destroy());
    });
    return { forge, port: await served(t, web) };
  }

  /** Number of objects and packages that came. */
  puts(): number {
    return this.came.filter(({ method }) => method === 'PUT').length;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request;
    const body = await text(request.setEncoding('latin1'));
    this.came.push({ method, url, bytes: body.length, user: headers['x-webauth-user']?.toString() });
    if (url.endsWith('/info/lfs/objects/batch')) {
      const wanted = batch.parse(JSON.parse(body));
      const base = `http://${headers.host}${this.base}${url.replace(/\/batch$/, '')}`;
      const objects = wanted.objects.map(({ oid, size }) => ({
        oid,
        size,
        actions: { [wanted.operation]: { href: `${base}/${oid}/${size}` } },
      }));
      response.setHeader('Content-Type', 'application/vnd.git-lfs+json');
      response.end(JSON.stringify({ transfer: 'basic', objects }));
    } else if (/\/info\/lfs\/locks\b/.test(url)) {
      response.setHeader('Content-Type', 'application/vnd.git-lfs+json');
      response.end(JSON.stringify(this.#lock(method, url, body)));
    } else if (/\/info\/lfs\/objects\/\w+\/\d+$/.test(url)) {
      if (method === 'PUT') this.#objects.set(url, Buffer.from(body, 'latin1'));
      response.end(method === 'PUT' ? '{}' : this.#objects.get(url));
    } else if (/\/(?:info\/refs|git-receive-pack|git-upload-pack)/.test(url)) {
      const sent = ['content-type', 'accept', 'git-protocol', 'content-encoding'].flatMap(name =>
        typeof headers[name] === 'string' ? [[name, headers[name]] as const] : [],
      );
      const answer = await fetch(this.#git + url, {
        method,
        headers: Object.fromEntries(sent),
        ...(method === 'POST' ? { body: Buffer.from(body, 'latin1') } : {}),
      });
      response.writeHead(answer.status, { 'Content-Type': answer.headers.get('content-type') ?? '' });
      response.end(Buffer.from(await answer.arrayBuffer()));
    } else if (url.endsWith('-broken')) response.destroy();
    else if (url === '/forbidden') response.writeHead(403).end('{}');
    else response.writeHead(method === 'PUT' ? 201 : 200).end('{}');
  }

  #lock(method: string, url: string, body: string): object {
    if (method === 'GET') return { locks: this.#locks };
    if (url.endsWith('/verify')) return { ours: this.#locks, theirs: [] };
    if (url.endsWith('/unlock')) return { lock: this.#locks.pop() };
    const { path } = z.object({ path: z.string() }).parse(JSON.parse(body));
    const lock = { id: '1', path, locked_at: '2026-11-21T09:14:03Z', owner: { name: 'alice' } };
    this.#locks.push(lock);
    return { lock };
  }
}

/** Go's servers have no phrases of their own. */
const refused = { nginx: `403 ${exceededWords}`, caddy: '403 Forbidden', traefik: '403 Forbidden' } as const;

const batch = z.object({
  operation: z.enum(['upload', 'download']),
  objects: z.array(z.object({ oid: z.string(), size: z.number() })),
});

/** A server with a forge behind a proxy. */
export async function openBehindProxy(
  t: Test,
  name: keyof typeof proxies,
  { gate = {}, around = {} }: { readonly gate?: Ini[string]; readonly around?: Around } = {},
) {
  return (await openForge(t, proxies[name].headers, gate)).behind(t, name, around);
}

/** A server with a forge, before which proxies can be put one after the other. */
export async function openForge(t: Test, headers: 'original' | 'forwarded', gate: Ini[string] = {}) {
  const server = await Server.open(t, {
    ini: {
      'quota.default': { TOTAL: String(limit) },
      gate: { PRESET: 'gitea', HEADERS: headers, PORT: String(await freePort()), ...gate },
    },
    repositories: ['alice/app'],
    started: false,
  });
  const { forge, port: forgePort } = await Forge.open(t, server);
  await server.configure({ lfs: { UPSTREAM: `http://127.0.0.1:${forgePort}/` } });
  await server.start();
  /** Makes alice use so many bytes. */
  const uses = async (bytes: number): Promise<void> => {
    const before = (await server.usageByLeaf('alice'))['size:assets:attachments:issues'] ?? 0;
    const rest = (await server.usage('alice')) - before;
    await server.reports('alice', bytes - rest, { subject: 'size:assets:attachments:issues' });
  };
  const file = join(server.folder, 'upload');
  await writeFile(file, randomBytes(300_000));
  const behind = async (t: Test, name: keyof typeof proxies, around: Around = {}) => {
    const url = `http://127.0.0.1:${await proxies[name].open(t, server, forgePort, around)}`;
    // A proxy may have been tried until it was up.
    forge.came.length = 0;
    forge.base = '';
    /** The status line, the headers and the text that curl got. */
    const curl = async (path: string, ...args: readonly string[]): Promise<string> =>
      (await run('curl', ['-q', '-s', '-i', ...args, url + path])).stdout;
    return { server, forge, url, uses, curl, upload: (path: string) => curl(path, '-T', file) };
  };
  return { server, behind };
}

/** Has the daemon go by these keys until the test ends. */
async function during(t: Test, server: Server, ini: Ini, before: Ini): Promise<void> {
  await server.reload(ini);
  t.teardown(() => server.reload(before));
}

/** Kills the daemon until the test ends. */
export async function kill(t: Test, server: Server): Promise<void> {
  await server.stop('SIGKILL');
  t.teardown(() => server.start());
}

/** A working copy with git-lfs, which pushes to the proxy. */
export async function lfsDesk(server: Server, url: string) {
  const clone = await Clone.of(server, server.path('alice/app'));
  await clone.git('remote', 'set-url', 'origin', `${url}/alice/app.git`);
  for (const setting of ['install --local', 'track *.bin']) await clone.git('lfs', ...setting.split(' '));
  await clone.git('config', 'lfs.locksverify', 'false');
  await clone.git('config', 'lfs.transfer.maxretries', '1');
  return {
    /** Commits a file and pushes its objects. */
    push: async (file: string): Promise<Run> => {
      await writeFile(join(clone.folder, file), randomBytes(200_000));
      await clone.git('add', '-A');
      await clone.git('commit', '-q', '-m', file);
      return tried(clone, ['lfs', 'push', 'origin', 'main']);
    },
  };
}

/** git in a working copy, whatever comes of it. */
function tried({ folder }: Clone, args: readonly string[]): Promise<Run> {
  return run('git', args, { cwd: folder, env: identity });
}

export const packagePath = '/api/packages/alice/generic/tool/1.0/file';
export const bobsPath = packagePath.replace('alice', 'bob');

export const batchPath = '/alice/app.git/info/lfs/objects/batch';
/** Arguments of curl that ask an LFS server for nothing. */
export const emptyBatch = [
  '-H',
  'Content-Type: application/vnd.git-lfs+json',
  '-d',
  '{"operation":"download","objects":[]}',
];

type Behind = Awaited<ReturnType<typeof openBehindProxy>>;

/**
 * A proxy that asks for a password, and tells the forge whom it let in, does so for the LFS batch as well.
 */
export async function holdsForBatch(t: Test, { curl, forge }: Pick<Behind, 'curl' | 'forge'>): Promise<void> {
  const spoofed = ['-H', 'X-WEBAUTH-USER: root'];
  for (const path of [batchPath, `${batchPath}/`])
    t.match(await curl(path, ...emptyBatch, ...spoofed), / 401 /);
  t.same(forge.came, []);
  t.match(await curl(batchPath, ...emptyBatch, ...spoofed, '-u', 'alice:secret'), / 200 /);
  t.match(forge.came, [{ url: batchPath, user: 'alice' }]);
}

/** A proxy that takes the path `/git` off refuses uploads, and passes LFS on. Gives a copy with git-lfs. */
export async function worksBelow(
  t: Test,
  server: Server,
  open: () => Promise<Pick<Behind, 'forge' | 'upload' | 'url' | 'uses'>>,
) {
  await during(t, server, { gate: { BASE: '/git' } }, { gate: { BASE: '/' } });
  const { forge, url, uses, upload } = await open();
  t.match(await upload(`/git${packagePath}`), exceededWords);
  forge.base = '/git';
  const desk = await lfsDesk(server, `${url}/git`);
  t.match((await desk.push('a.bin')).stderr, exceededWords);
  t.equal(forge.puts(), 0);
  await uses(900_000);
  t.match(await desk.push('b.bin'), { code: 0 });
  t.ok(forge.puts() > 0);
  t.same(
    forge.came.filter(({ url }) => url.startsWith('/git/')),
    [],
  );
  return desk;
}

/** Checks that hold behind each proxy, as tests of this one. */
export async function testProxy(t: Test, name: keyof typeof proxies): Promise<void> {
  const { server, behind } = await openForge(t, proxies[name].headers);
  t.test(`${name}: packages are refused before their first byte, and the client is told why`, async t => {
    const { forge, uses, curl, upload, url } = await behind(t, name);
    await uses(900_000);
    t.match(await upload(packagePath), /^HTTP\/1\.1 (?:100[\s\S]*HTTP\/1\.1 )?201/);
    t.match(forge.came, [{ method: 'PUT', url: packagePath, bytes: 300_000 }]);

    await uses(1_200_000);
    forge.came.length = 0;
    const answer = await upload(packagePath);
    t.match(answer, refused[name]);
    t.match(answer, `"message":"${exceededWords} To ask for more space: https://git.example/quota"`);
    t.same(forge.came, [], 'not one byte came');
    t.match(await curl(packagePath, '-X', 'DELETE'), /^HTTP\/1\.1 200/);
    t.match(await curl(packagePath), /^HTTP\/1\.1 200/);
    t.match(await upload(bobsPath), / 201 /);

    const tool = join(server.folder, 'tool');
    await mkdir(tool);
    await writeFile(join(tool, 'package.json'), JSON.stringify({ name: 'tool', version: '1.0.0' }));
    const registry = `${url}/api/packages/alice/npm/`;
    await writeFile(
      join(tool, '.npmrc'),
      `registry=${registry}\n${registry.replace('http:', '')}:_authToken=x\nfetch-retries=0\nupdate-notifier=false\n`,
    );
    const npm = await run('npm', ['publish', '--cache', join(server.folder, 'npm')], { cwd: tool });
    t.not(npm.code, 0);
    t.match(npm.stderr, exceededWords, 'npm says who, how much, of what');
  });

  t.test(`${name}: git lfs push sends no object over the limit, and says why once`, async t => {
    const { forge, uses, url } = await behind(t, name);
    const desk = await lfsDesk(server, url);
    await uses(900_000);
    t.match(await desk.push('a.bin'), { code: 0 });
    t.equal(forge.puts(), 1);

    await uses(1_200_000);
    forge.came.length = 0;
    const answer = await desk.push('b.bin');
    t.not(answer.code, 0);
    t.equal(answer.stderr.split(exceededWords).length, 2, answer.stderr);
    t.notMatch(answer.stderr, 'Authorization error');
    t.equal(forge.puts(), 0, 'and no object is sent');
    t.equal(forge.came.filter(({ url }) => url.endsWith('/batch')).length, 1, 'the server is asked once');

    await kill(t, server);
    t.match(await desk.push('c.bin'), { code: 0 }, 'without a daemon the server is asked alone');
  });

  t.test(`${name}: with EARLY a push is refused before it sends anything`, async t => {
    const { forge, uses, url } = await behind(t, name);
    await during(t, server, { gate: { EARLY: 'true' } }, { gate: { EARLY: 'false' } });
    const clone = await Clone.of(server, server.path('alice/app'));
    await uses(500_000);
    await clone.commit(1000);
    await clone.git('remote', 'set-url', 'origin', `${url}/alice/app.git`);
    t.match(await clone.push(), { code: 0 });
    await until(async () => {
      const stored = await counted(server.path('alice/app'));
      return (await server.usageByLeaf('alice'))['size:repos:private'] === stored ? true : null;
    });
    await uses(1_200_000);
    await clone.commit(100_000);
    forge.came.length = 0;
    const push = await clone.push();
    t.equal(push.code, 128);
    t.match(push.stderr, `remote: ${exceededWords}`);
    t.same(forge.came, [], 'nothing came to the server');
    t.match(await tried(clone, ['ls-remote', 'origin']), { code: 0 }, 'reading goes on');
  });

  t.test(`${name}: with PRECISE sizes count where they are known`, async t => {
    const { forge, uses, upload } = await behind(t, name);
    await during(t, server, { quota: { PRECISE: 'true' } }, { quota: { PRECISE: 'false' } });
    await uses(800_000);
    const tooMuch =
      /Not enough quota left: alice uses 800 kB of 1 MB \(80 %\), and this upload brings 300 kB\./;
    if (proxies[name].passesLength) {
      t.match(await upload(packagePath), tooMuch);
      t.equal(forge.puts(), 0);
      await uses(600_000);
      t.match(await upload(packagePath), / 201 /);
      return;
    }
    const objectPath = (size: number) => `/alice/app.git/info/lfs/objects/${'0a'.repeat(32)}/${size}`;
    t.match(await upload(objectPath(300_000)), tooMuch);
    t.equal(forge.puts(), 0);
    t.match(await upload(objectPath(100_000)), / 200 | 201 /);
    t.match(await upload(packagePath), / 201 /, 'its length is not known');
  });
}
