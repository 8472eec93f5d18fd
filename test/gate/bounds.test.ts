/** The limits of repositories, pushes and files at the doors where hooks, proxies and programs ask. */

import t, { type Test } from 'tap';
import { routesOf } from '../../src/layout/index.ts';
import type { RuleSubject } from '../../src/quota/index.ts';
import { grouped } from '../quota/grouped.ts';
import { openWorld, type World } from './world.ts';

type Scope = 'file' | 'push' | 'repository';

/** A gate, and a rule for alice that limits something else than all that she has. */
async function openBounded(t: Test, per: Scope, limitBytes: number, subject: RuleSubject = 'size:all') {
  const world = await openWorld(t);
  world.walk('/srv/git/alice/app.git', 'alice', 500);
  world.walk('/srv/git/alice/site.git', 'alice', 1500);
  await grouped(world.ledger, ['alice'], [{ name: 'bound', limitBytes, subjects: [subject], per }]);
  return world;
}

async function checked({ ask }: Pick<World, 'ask'>, query: string): Promise<object> {
  const { status, text } = await ask(`/v1/check?${query}`);
  return { status, ...JSON.parse(text) };
}

t.test('a check by path is about the repository there', async t => {
  const world = await openBounded(t, 'repository', 1000);
  t.match(await checked(world, 'path=/srv/git/alice/app.git'), { status: 200 });
  t.match(await checked(world, 'path=/srv/git/alice/site.git/refs'), {
    status: 413,
    per: 'repository',
    unit: 'alice/site',
    used: 1500,
    limit: 1000,
    message: 'Repository alice/site is too large: it has 1.5 kB of 1 kB.',
  });
  t.match(await checked(world, 'owner=alice&subject=size:repos:private'), { status: 200 });
  world.walk('/srv/git/alice/app.git/lfs', 'alice', 600, { leaf: 'size:git:lfs' });
  t.match(await checked(world, 'path=/srv/git/alice/app.git/lfs'), { status: 413, unit: 'alice/app' });
  const reserved = await world.ask('/v1/reservations?path=/srv/git/alice/site.git&size=1', {
    method: 'POST',
  });
  t.equal(reserved.status, 413);
});

t.test('a repository that another host walks is not judged by what is known here', async t => {
  const world = await openBounded(t, 'repository', 1000);
  const place = { owner: 'alice', leaf: 'size:repos:private', bytes: null, exists: true } as const;
  world.told.locate = async path => ({ ...place, path, isElsewhere: path.startsWith('/srv/other') });
  t.match(await checked(world, 'path=/srv/other/alice/site.git'), { status: 200 });
  t.match(await checked(world, 'path=/srv/git/alice/new.git'), { status: 200 });
});

t.test('a check that says its size is about what comes', async t => {
  const asked = 'owner=alice&subject=size:assets:packages:all';
  const ofPush = await openBounded(t, 'push', 1000);
  t.match(await checked(ofPush, `${asked}&size=1000`), { status: 200 });
  t.match(await checked(ofPush, `${asked}&size=1001`), { status: 413, per: 'push', used: 1001 });
  t.match(await checked(ofPush, asked), { status: 200 }, 'of an unknown size');
  t.strictSame(ofPush.told.unasked, ['push size:assets:packages:all']);
  t.match(await checked(ofPush, 'path=/srv/git/alice/app.git&size=1001'), { status: 413, per: 'push' });
  const ofFile = await openBounded(t, 'file', 1000);
  t.match(await checked(ofFile, `${asked}&size=1001`), { status: 413, per: 'file', used: 1001, limit: 1000 });
  t.match(await checked(ofFile, `${asked}&size=1000`), { status: 200 });
  t.match(
    await checked(ofFile, 'path=/srv/git/alice/app.git&size=1001'),
    { status: 200 },
    'a push of many files',
  );
  const reserved = (size: number) => ofFile.ask(`/v1/reservations?${asked}&size=${size}`, { method: 'POST' });
  t.equal((await reserved(1001)).status, 413);
  t.equal((await reserved(1000)).status, 201);
});

/** Asks as a proxy does; gives the status. */
function proxied({ ask, told }: World) {
  told.uploads = { ...told.uploads, routes: routesOf(['gitea', 'verdaccio'], '/', true) };
  return async (method: string, uri: string, length?: number) => {
    const headers = {
      'X-Original-URI': uri,
      'X-Original-Method': method,
      ...(length === undefined ? {} : { 'X-Original-Content-Length': String(length) }),
    };
    return (await ask('/v1/forward-auth', { headers })).status;
  };
}

t.test('a proxy is told of the repository that an address names', async t => {
  const status = proxied(await openBounded(t, 'repository', 1000));
  const git = (name: string) => status('GET', `/alice/${name}.git/info/refs?service=git-receive-pack`);
  t.strictSame([await git('app'), await git('Site'), await git('new')], [200, 403, 200]);
  const lfs = (name: string) => status('PUT', `/alice/${name}.git/info/lfs/objects/0a/7`);
  t.strictSame([await lfs('app'), await lfs('site')], [200, 403]);
  t.equal(await status('POST', '/alice/site/issues/attachments', 10), 200, 'these are not of the repository');
});

t.test('strangers learn the figures of public repositories alone', async t => {
  const world = await openBounded(t, 'repository', 1000);
  proxied(world);
  const said = async (name: string) => {
    const headers = {
      'X-Original-URI': `/alice/${name}.git/info/refs?service=git-receive-pack`,
      'X-Original-Method': 'GET',
    };
    const { status, phrase, text } = await world.ask('/v1/forward-auth', { headers });
    t.equal(status, 403);
    return `${phrase} ${text}`;
  };
  const hidden = await said('site');
  t.match(hidden, 'This upload is refused by the quota.');
  t.notMatch(hidden, /alice|site|1\.5 kB/);
  world.walk('/srv/git/alice/site.git', 'alice', 1500, { leaf: 'size:repos:public' });
  t.match(await said('site'), 'Repository alice/site is too large: it has 1.5 kB of 1 kB.');
});

t.test('a file below its limit passes a proxy, in whatever form it is sent', async t => {
  const status = proxied(await openBounded(t, 'file', 9000));
  const both = async (method: string, uri: string, length: number) => [
    await status(method, uri, length),
    await status(method, uri, length + 1),
  ];
  t.strictSame(await both('PUT', '/api/packages/alice/generic/a/1/b', 9000), [200, 403]);
  const npm = 256 * 1024 + 12_001;
  t.strictSame(await both('PUT', '/api/packages/alice/npm/a', npm), [200, 403], 'base64');
  t.strictSame(await both('PUT', '/@alice/tool', npm), [200, 403], 'base64');
  const layer = '/v2/alice/tool/blobs/uploads/5c0f?_state=a';
  t.strictSame(await both('PATCH', layer, 9000), [200, 403], 'a layer');
  t.strictSame(await both('PUT', layer, 9000), [200, 403], 'a layer at once');
  for (const uri of ['/api/packages/alice/pypi', '/alice/app/issues/attachments', '/alice/app/upload-file']) {
    t.strictSame(await both('POST', uri, 9000 + 4096), [200, 403], `${uri}: a form`);
  }
  t.equal(await status('PUT', '/alice/app.git/info/lfs/objects/0a/9001'), 403);
  t.equal(await status('PUT', '/api/packages/alice/generic/a/1/b'), 200, 'nobody says how large it is');
  t.equal(await status('POST', '/v2/alice/tool/blobs/uploads/', 0), 200);
  t.equal(await status('POST', '/api/v1/orgs/alice/repos', 9001), 200, 'the body is no file');
});

t.test('a layer of a container image is asked about when it comes', async t => {
  const world = await openBounded(t, 'file', 9000);
  const { told } = world;
  const status = proxied(world);
  const layer = '/v2/alice/tool/blobs/uploads/5c0f?_state=a';
  t.equal(await status('POST', '/v2/alice/tool/blobs/uploads/', 0), 200);
  t.equal(await status('PATCH', layer, 9000), 200);
  t.equal(await status('PUT', layer, 0), 200);
  t.strictSame(told.unasked, [], 'its sizes are known');
  t.equal(await status('PATCH', layer), 200);
  t.strictSame(told.unasked, ['file size:assets:packages:all'], 'nobody says how large it is');
});

t.test('a push by a proxy is all that a request declares', async t => {
  const status = proxied(await openBounded(t, 'push', 9000));
  t.equal(await status('POST', '/api/packages/alice/pypi', 9000), 200);
  t.equal(await status('POST', '/api/packages/alice/pypi', 9001), 403);
});
