/** The batch endpoint of an LFS server, with the quota in front. */

import type { IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { lfsBatchRoutes } from '../../src/layout/index.ts';
import { grouped } from '../quota/grouped.ts';
import { served } from '../served.ts';
import { type Answer, openWorld, type World } from './world.ts';

interface Upstream {
  readonly url: URL;
  readonly asked: { readonly url: string; readonly headers: IncomingHttpHeaders; readonly body: string }[];
  /** Its next answers. */
  status: number;
  answer: string;
}

/** An LFS server that takes one object of a thousand bytes and has another. */
async function openUpstream(t: Test): Promise<Upstream> {
  const port = await served(t, async (request, response) => {
    const body = await text(request);
    upstream.asked.push({ url: request.url ?? '', headers: request.headers, body });
    response.writeHead(upstream.status, { 'Content-Type': 'application/vnd.git-lfs+json', 'X-Own': 'yes' });
    response.end(upstream.answer);
  });
  const taken = { oid: '0a', size: 1000, actions: { upload: { href: 'http://git.example/0a' } } };
  const upstream: Upstream = {
    url: new URL(`http://127.0.0.1:${port}/git/`),
    asked: [],
    status: 200,
    answer: JSON.stringify({ objects: [taken, { oid: '0b', size: 5000 }] }),
  };
  return upstream;
}

async function open(t: Test, settings: Parameters<typeof openWorld>[1] = {}) {
  const upstream = await openUpstream(t);
  const world = await openWorld(t, { totalBytes: 10_000, ...settings });
  world.told.uploads = {
    ...world.told.uploads,
    lfs: { upstream: upstream.url, batchRoutes: lfsBatchRoutes('/'), base: '/' },
  };
  return { ...world, upstream };
}

const body = JSON.stringify({ operation: 'upload', objects: [{ oid: '0a', size: 1000 }] });
const batchPath = '/v1/lfs/alice/app.git/info/lfs/objects/batch';

function batch({ ask }: Pick<World, 'ask'>, path = batchPath, sent: string | Buffer = body): Promise<Answer> {
  const headers = {
    Host: 'git.example',
    Authorization: 'Basic x',
    'Accept-Encoding': 'gzip',
    'Content-Type': 'application/vnd.git-lfs+json',
  };
  return ask(path, { method: 'POST', headers, body: sent });
}

t.test('what is allowed is answered by the server, which hears all that the client said', async t => {
  const world = await open(t);
  const { status, headers, text } = await batch(world);
  t.equal(status, 200);
  t.match(headers, { 'x-own': 'yes', 'content-type': 'application/vnd.git-lfs+json' });
  t.equal(text, world.upstream.answer);
  t.match(world.upstream.asked, [
    {
      url: '/git/alice/app.git/info/lfs/objects/batch',
      headers: { host: 'git.example', authorization: 'Basic x', 'accept-encoding': undefined },
      body,
    },
  ]);
});

t.test('an upload over the limit is refused in the form of git-lfs, and is on record', async t => {
  const world = await open(t);
  const { told, walk } = world;
  walk('/srv/git/alice/app.git', 'alice', 12_000);
  told.contact = 'https://git.example/quota';
  const { status, headers, text } = await batch(world);
  t.equal(status, 507);
  t.equal(headers['content-type'], 'application/vnd.git-lfs+json');
  t.strictSame(JSON.parse(text), {
    message:
      'Quota exceeded: alice uses 12 kB of 10 kB (120 %). To ask for more space: https://git.example/quota',
  });
  t.match(told.refused, [{ owner: 'alice', subject: 'size:git:lfs' }]);

  const sly = '/v1/lfs/bob/../alice/app.git/info/lfs/objects/batch';
  t.equal((await batch(world, sly)).status, 507, 'by another reading it is alice who uploads');
  t.equal((await batch(world, batchPath.replace('alice', 'bob'))).status, 200);

  const { objects } = JSON.parse(world.upstream.answer);
  const odd = [{ oid: 'x', size: -1, error: { code: 422 } }, 'x', { oid: 'y', size: 1e300, actions: null }];
  world.upstream.answer = JSON.stringify({ objects: [...odd, ...objects] });
  t.equal((await batch(world)).status, 507, 'an odd object hides no other');
  world.upstream.answer = JSON.stringify({ objects: [{ ...objects[0], size: -5 }] });
  t.equal((await batch(world)).status, 507, 'whatever its size is');

  world.upstream.answer = JSON.stringify({ objects: [{ oid: '0b', size: 5000 }] });
  t.equal((await batch(world)).status, 200, 'what the server has already is not uploaded');
  world.upstream.status = 401;
  t.equal((await batch(world)).status, 401, 'the server decides who may ask');
});

t.test('where sizes count, those of the objects that the server would take do', async t => {
  const world = await open(t, { precise: true });
  world.walk('/srv/git/alice/app.git', 'alice', 9_000);
  t.equal((await batch(world)).status, 200);
  world.walk('/srv/git/alice/app.git', 'alice', 9_001);
  t.match(await batch(world), {
    status: 507,
    text: /Not enough quota left: alice uses .* and this upload brings 1 kB\./,
  });
});

t.test('where sizes count, the room of what was let through is kept until it is there', async t => {
  const world = await open(t, { precise: true });
  const lfsPath = '/srv/lfs/alice';
  const leaf = 'size:git:lfs';
  world.walk(lfsPath, 'alice', 8_500, { leaf });
  t.equal((await batch(world)).status, 200);
  t.strictSame(world.told.letThrough, [lfsPath], 'it is measured when it may have come');
  t.equal((await batch(world)).status, 200, 'the same object takes its own place');
  const other = { oid: '0c', size: 501, actions: { upload: {} } };
  world.upstream.answer = JSON.stringify({ objects: [other] });
  t.equal((await batch(world)).status, 507);
  world.upstream.answer = JSON.stringify({ objects: [{ ...other, size: 500 }] });
  t.equal((await batch(world)).status, 200);
  world.walk(lfsPath, 'alice', 9_500, { leaf });
  t.match(await world.ask('/v1/check?owner=alice&subject=size:git:lfs&size=500'), { status: 413 });
  world.walk(lfsPath, 'alice', 9_600, { leaf });
  const { text } = await world.ask('/v1/check?owner=alice&subject=size:git:lfs');
  t.match(JSON.parse(text), { used: 10_000, reserved: 400 }, 'what has come counts once');
});

t.test('of a batch with several readings, the refused one leaves nothing reserved for others', async t => {
  const world = await open(t, { precise: true });
  world.walk('/srv/lfs/bob', 'bob', 10_000, { leaf: 'size:git:lfs' });
  const { status } = await batch(world, '/v1/lfs/alice/../bob/app.git/info/lfs/objects/batch');
  const { text } = await world.ask('/v1/check?owner=alice&subject=size:git:lfs');
  t.strictSame([status, JSON.parse(text).reserved], [507, undefined]);
});

t.test('a batch is known at its own address, in each spelling, also below a path', async t => {
  const world = await open(t);
  const { told, upstream } = world;
  const path = '/alice/app.git/info/lfs/objects/batch';
  for (const spelled of [path, `${path}/`, path.replaceAll('/', '//'), path.replace('batch', '%62atch')])
    t.equal((await batch(world, spelled)).status, 200, spelled);
  t.equal((await world.ask(path)).status, 404, 'nobody asks by GET');

  told.uploads = {
    ...told.uploads,
    lfs: { ...told.uploads.lfs, batchRoutes: lfsBatchRoutes('/gi t'), base: '/gi t' },
  };
  upstream.asked.length = 0;
  for (const prefix of ['', '/gi%20t', '//%67i%20t']) {
    t.equal((await batch(world, prefix + path)).status, 200, prefix);
    t.equal((await batch(world, `/v1/lfs${prefix}${path}`)).status, 200, prefix);
  }
  t.strictSame(new Set(upstream.asked.map(({ url }) => url)), new Set([`/git${path}`]));
  world.walk('/srv/git/alice/app.git', 'alice', 12_000);
  t.match(await batch(world, `/gi%20t${path}`), { status: 507, text: /alice uses/ });
});

t.test('in report mode everything passes', async t => {
  const world = await open(t, { mode: 'report' });
  world.walk('/srv/git/alice/app.git', 'alice', 12_000);
  t.equal((await batch(world)).status, 200);
  t.match(world.told.refused, [{ mode: 'report' }]);
});

t.test('what cannot be served is told in the form of git-lfs', async t => {
  const world = await open(t);
  t.match(await batch(world, '/v1/lfs/alice/app.git/info/lfs/locks'), { status: 404, text: /only POST to/ });
  t.match(await batch(world, batchPath, Buffer.alloc(128 * 1024 + 1)), {
    status: 400,
    text: /the body has more than 131072 bytes/,
  });
  const { lfs } = world.told.uploads;
  world.told.uploads = { ...world.told.uploads, lfs: { ...lfs, upstream: new URL('http://127.0.0.1:1/') } };
  t.match(await batch(world), { status: 502, text: /the LFS server does not answer: .*ECONNREFUSED/ });
  world.told.uploads = { ...world.told.uploads, lfs: { ...lfs, upstream: null } };
  t.match(await batch(world), { status: 404, text: /\[lfs\] UPSTREAM is not set/ });
  world.told.uploads = { ...world.told.uploads, lfs };
  world.upstream.answer = 'no JSON';
  t.match(await batch(world), { status: 200, text: 'no JSON' }, "a strange answer is the client's matter");
});

t.test('an upload that would keep checks waiting is refused, whatever the quota is', async t => {
  const world = await open(t);
  const { upstream } = world;
  const objectsOf = (count: number, action: string, href: string) =>
    Array.from({ length: count }, (_, at) => ({ oid: String(at), actions: { [action]: { href } } }));
  const ask = (operation: string, asked: number, answered: number, href = '') => {
    upstream.answer = JSON.stringify({ objects: objectsOf(answered, operation, href) });
    const objects = Array.from({ length: asked }, (_, at) => ({ oid: String(at), size: 1 }));
    return batch(world, batchPath, JSON.stringify({ operation, objects }));
  };
  t.equal((await ask('upload', 1000, 1000, 'http://git.example/'.padEnd(4000, '0'))).status, 200);
  const tooMany = { status: 400, text: /the batch has more than 1000 objects to upload/ };
  t.match(await ask('upload', 1001, 1), tooMany);
  t.equal(upstream.asked.length, 1, 'and the server is not asked');
  t.match(await ask('upload', 1, 1001), tooMany);
  t.match(await ask('upload', 1000, 1000, ''.padEnd(5000, '0')), { status: 502, text: /is too long/ });
  t.equal((await ask('download', 1200, 1200)).status, 200);
});

t.test('a batch is held to the limits of a repository, of all that comes, and of each object', async t => {
  const world = await open(t, { totalBytes: 1_000_000 });
  const { ledger, upstream } = world;
  world.walk('/srv/git/alice/app.git', 'alice', 5000);
  await grouped(
    ledger,
    ['alice'],
    [
      { name: 'each', limitBytes: 6000, subjects: ['size:all'], per: 'repository' },
      { name: 'push', limitBytes: 2000, subjects: ['size:all'], per: 'push' },
      { name: 'file', limitBytes: 1500, subjects: ['size:git:all'], per: 'file' },
    ],
  );
  const answer = async (...sizes: number[]) => {
    const objects = sizes.map((size, at) => ({ oid: `0${at}`, size, actions: { upload: {} } }));
    upstream.answer = JSON.stringify({ objects });
    const { status, text } = await batch(world);
    return { status, text };
  };
  t.match(await answer(1000, 1000), { status: 200 });
  t.match(await answer(1000, 1001), {
    status: 507,
    text: /This upload brings 2\.001 kB; an upload may bring 2 kB/,
  });
  t.match(await answer(100, 1501, 7), {
    status: 507,
    text: /The file with the object id 01 has 1\.501 kB; a file may have 1\.5 kB/,
  });
  world.walk('/srv/git/alice/app.git', 'alice', 6001);
  t.match(await answer(1), { status: 507, text: /Repository alice\/app is too large/ });
  t.match(await batch(world, '/v1/lfs/alice/more/app.git/info/lfs/objects/batch'), { status: 200 });
});
