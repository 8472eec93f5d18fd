/**
 * Servers of other people behind the documented proxies: an upload over the limit is refused before its first
 * byte, and the client says who uses how much of what. Reading is never asked about.
 */

import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FileStore } from '@tus/file-store';
import { Server as TusServer } from '@tus/server';
import t, { type Test } from 'tap';
import { Upload } from 'tus-js-client';
import { served } from '../served.ts';
import { iniOf, readGuide } from './guide.ts';
import { proxies } from './proxies.ts';
import { plainEnvironment, type Run, run } from './run.ts';
import { type Ini, Server } from './server.ts';
import { freePort, isUp, startNginx } from './transports.ts';

t.setTimeout(600_000);

/** Starts it in a folder; gives its port once it answers. */
type OpenUploadServer = (t: Test, folder: string) => Promise<number>;

/** A program that serves HTTP on a port; it is ended with the test. */
async function started(t: Test, port: number, command: string, args: readonly string[], folder: string) {
  const child = spawn(command, args, {
    cwd: folder,
    env: { ...plainEnvironment, HOME: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const answers = () =>
    fetch(`http://127.0.0.1:${port}/`).then(
      () => true as const,
      () => null,
    );
  await isUp(t, command, child, answers);
}

/** Verdaccio: npm packages. Everybody may publish who signs up. */
const openVerdaccio: OpenUploadServer = async (t, folder) => {
  await mkdir(folder);
  const port = await freePort();
  const settings = `
storage: ${folder}/storage
auth: { htpasswd: { file: ${folder}/htpasswd } }
uplinks: {}
packages: { '@*/*': { access: $all, publish: $authenticated } }
log: { type: stdout, format: pretty, level: warn }
`;
  await writeFile(join(folder, 'config.yaml'), settings);
  const program = fileURLToPath(new URL('../node_modules/verdaccio/bin/verdaccio', import.meta.url));
  const args = [program, '--config', join(folder, 'config.yaml'), '--listen', `127.0.0.1:${port}`];
  await started(t, port, process.execPath, args, folder);
  return port;
};

/** Debian's docker-registry: container images. */
const openDistribution: OpenUploadServer = async (t, folder) => {
  await mkdir(folder);
  const port = await freePort();
  const settings = `
version: 0.1
log: { level: error }
storage: { filesystem: { rootdirectory: ${folder}/storage }, delete: { enabled: true } }
http: { addr: '127.0.0.1:${port}' }
`;
  await writeFile(join(folder, 'config.yml'), settings);
  await started(t, port, 'docker-registry', ['serve', join(folder, 'config.yml')], folder);
  return port;
};

/** A tus server that keeps the uploads of each owner apart: `/files/OWNER`. */
const openTus: OpenUploadServer = async (t, folder) => {
  await mkdir(folder);
  const servers = new Map<string, TusServer>();
  const web = createServer((request, response) => {
    const [, , owner = ''] = (request.url ?? '').split('/');
    const directory = join(folder, owner.replaceAll(/\W/g, '_'));
    const server =
      servers.get(owner) ??
      new TusServer({
        path: `/files/${owner}`,
        datastore: new FileStore({ directory }),
        relativeLocation: true,
      });
    servers.set(owner, server);
    void server.handle(request, response);
  });
  return served(t, web);
};

const media = 'application/vnd.oci.image';

/** Writes it as an OCI layout with the tag `1`; the layer has so many random bytes, and no meaning. */
async function writeImage(folder: string, layerBytes: number): Promise<void> {
  const blobs = join(folder, 'blobs/sha256');
  await mkdir(blobs, { recursive: true });
  const blob = async (mediaType: string, content: Buffer) => {
    const digest = createHash('sha256').update(content).digest('hex');
    await writeFile(join(blobs, digest), content);
    return { mediaType, digest: `sha256:${digest}`, size: content.length };
  };
  const json = (mediaType: string, value: object) => blob(mediaType, Buffer.from(JSON.stringify(value)));
  const layer = await blob(`${media}.layer.v1.tar`, randomBytes(layerBytes));
  const config = await json(`${media}.config.v1+json`, {
    architecture: 'amd64',
    os: 'linux',
    rootfs: { type: 'layers', diff_ids: [layer.digest] },
  });
  const mediaType = `${media}.manifest.v1+json`;
  const manifest = await json(mediaType, { schemaVersion: 2, mediaType, config, layers: [layer] });
  const manifests = [{ ...manifest, annotations: { 'org.opencontainers.image.ref.name': '1' } }];
  await writeFile(join(folder, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests }));
  await writeFile(join(folder, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
}

async function curl(...args: readonly string[]): Promise<string> {
  return (await run('curl', ['-q', '-s', '-S', '-i', ...args])).stdout;
}

const words = 'Quota exceeded: alice uses 1.2 MB of 1 MB (120 %).';

/** The server behind nginx, with a quota of 1 MB. */
async function open(t: Test, openServer: OpenUploadServer, ini: Ini) {
  const server = await Server.open(t, { ini });
  const folder = join(server.folder, 'uploads');
  const port = await proxies.nginx.open(t, server, await openServer(t, folder));
  /** Makes alice use so many bytes. */
  const uses = (bytes: number) =>
    server.reports('alice', bytes, { subject: 'size:assets:attachments:issues' });
  return { server, folder, port, url: `http://127.0.0.1:${port}`, uses };
}

/** All files below a directory, as often as they are there. */
async function files(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name));
}

t.test('Verdaccio: npm publish is refused and says why, npm install is never asked', async t => {
  const { server, folder, port, url, uses } = await open(t, openVerdaccio, { gate: { PRESET: 'verdaccio' } });
  const signUp = await fetch(`${url}/-/user/org.couchdb.user:alice`, {
    method: 'PUT',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: 'alice', password: 'correct horse' }),
  });
  const { token } = JSON.parse(await signUp.text());
  const npm = async (directory: string, ...args: readonly string[]): Promise<Run> => {
    const lines = [`registry=${url}/`, `//127.0.0.1:${port}/:_authToken=${token}`, 'fetch-retries=0'];
    await writeFile(join(directory, '.npmrc'), `${lines.join('\n')}\nupdate-notifier=false\naudit=false\n`);
    return run('npm', [...args, '--cache', join(server.folder, 'npm')], { cwd: directory });
  };
  const publish = async (version: string): Promise<Run> => {
    const directory = join(server.folder, `tool-${version}`);
    await mkdir(directory);
    await writeFile(join(directory, 'package.json'), JSON.stringify({ name: '@alice/tool', version }));
    return npm(directory, 'publish');
  };
  t.match(await publish('1.0.0'), { code: 0 });
  await uses(1_200_000);
  const before = await files(join(folder, 'storage'));
  const refused = await publish('1.1.0');
  t.not(refused.code, 0);
  t.match(refused.stderr, words);
  t.same(await files(join(folder, 'storage')), before, 'nothing was stored');

  const user = join(server.folder, 'user');
  await mkdir(user);
  await writeFile(join(user, 'package.json'), '{}');
  t.match(await npm(user, 'install', '@alice/tool'), { code: 0 });
  t.match(
    await npm(user, 'dist-tag', 'add', '@alice/tool@1.0.0', 'old'),
    { code: 0 },
    'a tag stores nothing',
  );
  t.match(await npm(user, 'unpublish', '@alice/tool', '--force'), { code: 0 }, 'she may make room');
  await uses(900_000);
  t.match(await publish('2.0.0'), { code: 0 });
});

t.test('docker-registry: skopeo is refused before a layer, and says why; pulling is never asked', async t => {
  const { server, folder, port, uses } = await open(t, openDistribution, {
    gate: { PRESET: 'distribution' },
  });
  const skopeo = (...args: readonly string[]): Promise<Run> =>
    run('skopeo', ['--insecure-policy', ...args], { env: { HOME: server.folder } });
  const push = async (name: string, tag: string): Promise<Run> => {
    const image = join(server.folder, `image-${tag}`);
    await writeImage(image, 300_000);
    const to = `docker://127.0.0.1:${port}/${name}:${tag}`;
    return skopeo('copy', '--dest-tls-verify=false', '--retry-times', '0', `oci:${image}:1`, to);
  };
  t.match(await push('alice/app', 'a'), { code: 0 });
  await uses(1_200_000);
  const before = await files(join(folder, 'storage'));
  const refused = await push('alice/app', 'b');
  t.not(refused.code, 0);
  t.match(refused.stderr, words);
  t.same(await files(join(folder, 'storage')), before, 'nothing was stored');
  t.match(await push('bob/app', 'c'), { code: 0 });

  const image = `docker://127.0.0.1:${port}/alice/app:a`;
  const pulled = join(server.folder, 'pulled');
  t.match(await skopeo('copy', '--src-tls-verify=false', image, `dir:${pulled}`), { code: 0 });
  t.match(await skopeo('inspect', '--tls-verify=false', image), { code: 0 });
  t.match(await skopeo('delete', '--tls-verify=false', image), { code: 0 }, 'she may make room');
});

t.test('docker-registry: a layer that is too large is refused before it comes, and says why', async t => {
  const { server, folder, url, uses } = await open(t, openDistribution, { gate: { PRESET: 'distribution' } });
  /** Begins an upload, and gives the address at which it goes on. */
  const begin = async (): Promise<string> => {
    const said = await curl('-X', 'POST', '-H', 'Content-Length: 0', `${url}/v2/alice/app/blobs/uploads/`);
    const [, path = ''] = /^Location: (?:http:\/\/[^/]+)?(\/\S+)/im.exec(said) ?? [];
    return url + path;
  };
  const put = async (address: string, bytes: number): Promise<string> => {
    const file = join(server.folder, `layer-${bytes}`);
    const content = randomBytes(bytes);
    await writeFile(file, content);
    const digest = createHash('sha256').update(content).digest('hex');
    return curl('-T', file, `${address}&digest=sha256:${digest}`);
  };
  await uses(1000);
  const rules = [
    { name: 'each-file', limit: 1_000_000, per: 'file', subjects: ['size:all'] },
    { name: 'no-other', limit: -1, subjects: ['size:all'] },
  ];
  await server.admin('/admin/quota/groups', { body: { name: 'files', rules } });
  await server.admin('/admin/quota/groups/files/users/alice', { method: 'PUT' });
  t.match(await put(await begin(), 900_000), / 201 Created/);
  const address = await begin();
  const before = await files(join(folder, 'storage'));
  t.match(await put(address, 1_100_000), 'This file has 1.1 MB; a file may have 1 MB');
  t.same(await files(join(folder, 'storage')), before, 'nothing was stored');
  await server.admin('/admin/quota/groups/files/users/alice', { method: 'DELETE' });
  await uses(2_000_000);
  t.match(await put(address, 900_001), / 201 Created/, 'softly: what has begun ends well');
});

/** A section that docs/uploads.md has for servers of one's own. */
async function sectionOf(name: string): Promise<Ini> {
  const blocks = (await readGuide('uploads.md')).filter(({ kind }) => kind === 'ini').map(iniOf);
  const section = blocks.find(block => block[name] !== undefined)?.[name];
  if (section === undefined) throw new Error(`docs/uploads.md has no section ${name}`);
  return { [name]: section };
}

t.test('tus: an upload is refused where it begins, and one that has begun goes on', async t => {
  const { folder, url, uses } = await open(t, openTus, await sectionOf('gate.tus'));
  const content = randomBytes(200_000);
  /** Uploads; a chunk at a time, `onChunk` after each. Resolves with the error. */
  const upload = (owner: string, onChunk: () => Promise<void> = async () => {}): Promise<Error | null> =>
    new Promise(resolve => {
      const sending = new Upload(content, {
        endpoint: `${url}/files/${owner}`,
        chunkSize: 100_000,
        retryDelays: null,
        onError: error => resolve(error),
        onSuccess: () => resolve(null),
        onChunkComplete: (_, sent) => {
          if (sent !== 100_000) return;
          void sending
            .abort()
            .then(onChunk)
            .then(() => sending.start());
        },
      });
      sending.start();
    });
  t.equal(await upload('alice'), null);
  const [first = ''] = (await files(join(folder, 'alice'))).filter(file => !file.endsWith('.json'));
  t.ok((await readFile(first)).equals(content));
  t.equal(await upload('alice', () => uses(1_200_000)), null, 'softly: what has begun ends well');
  const before = await files(folder);
  t.match((await upload('alice'))?.message, words);
  t.same(await files(folder), before, 'nothing was stored');
  t.equal(await upload('bob'), null);
});

t.test('WebDAV: storing and copying are refused, reading and deleting are not', async t => {
  const openDav: OpenUploadServer = async (t, folder) => {
    await mkdir(join(folder, 'dav'), { recursive: true });
    const methods = 'dav_methods PUT DELETE MKCOL COPY MOVE; create_full_put_path on;';
    return startNginx(t, folder, `location / { root ${folder}; ${methods} client_max_body_size 0; }`);
  };
  const ini = await sectionOf('gate.dav');
  const { server, folder, url, uses } = await open(t, openDav, ini);
  const file = join(server.folder, 'file');
  await writeFile(file, randomBytes(300_000));
  const copy = ['-X', 'COPY', '-H', `Destination: ${url}/dav/alice/b`];
  t.match(await curl(`${url}/dav/alice/a`, '-T', file), / 201 Created/);
  t.match(await curl(`${url}/dav/alice/a`, ...copy), /^HTTP\/1\.1 204/);
  await uses(1_200_000);
  const before = await files(join(folder, 'dav'));
  t.match(await curl(`${url}/dav/alice/c`, '-T', file), words);
  t.match(await curl(`${url}/dav/alice/a`, ...copy), words);
  t.same(await files(join(folder, 'dav')), before, 'nothing was stored');
  const got = await fetch(`${url}/dav/alice/a`);
  t.ok(Buffer.from(await got.arrayBuffer()).equals(await readFile(file)));
  t.match(await curl(`${url}/dav/alice/a`, '-X', 'DELETE'), /^HTTP\/1\.1 204/);
});
