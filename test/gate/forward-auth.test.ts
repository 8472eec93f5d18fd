/** Answers to a reverse proxy about the requests that it lets through, or does not. */

import t, { type Test } from 'tap';
import { routesOf } from '../../src/layout/index.ts';
import { grouped } from '../quota/grouped.ts';
import { type Asked, openWorld } from './world.ts';

/** A gate that a proxy before Gitea asks. */
async function open(t: Test, changed: Parameters<typeof openWorld>[1] = {}) {
  const world = await openWorld(t, changed);
  world.told.uploads = { ...world.told.uploads, routes: routesOf(['gitea'], '/', true) };
  return world;
}

const packageUrl = '/api/packages/alice/generic/tool/1.0/file';
const pushUrl = '/alice/App.git/info/refs?service=git-receive-pack';

function asking(uri: string, method = 'PUT', more: Asked = {}): Asked {
  return { ...more, headers: { 'X-Original-URI': uri, 'X-Original-Method': method, ...more.headers } };
}

t.test('an upload over the limit is refused in the form that all clients show, and is on record', async t => {
  const world = await open(t, { totalBytes: 1_000_000 });
  const { ask, told, walk } = world;
  walk('/srv/git/alice/app.git', 'alice', 900_000);
  const allowed = await ask('/v1/forward-auth', asking(packageUrl));
  t.match(allowed, { status: 200, text: '' });
  t.match(allowed.headers, { 'x-softquota-decision': 'allowed', 'cache-control': 'no-store' });

  walk('/srv/git/alice/app.git', 'alice', 1_200_000);
  told.contact = 'https://git.example/quota';
  const { status, phrase, headers, text } = await ask('/v1/forward-auth', asking(packageUrl));
  const words = 'Quota exceeded: alice uses 1.2 MB of 1 MB (120 %).';
  t.equal(status, 403);
  t.equal(phrase, words);
  t.match(headers, {
    'content-type': 'application/json',
    'x-quota-message': words,
    'x-softquota-decision': 'refused',
    'cache-control': 'no-store',
  });
  const message = `${words} To ask for more space: https://git.example/quota`;
  t.strictSame(JSON.parse(text), { message, error: message, errors: [{ code: 'DENIED', message }] });
  t.match(told.refused, [{ owner: 'alice', subject: 'size:assets:packages:all', mode: 'enforce' }]);

  for (const [uri, method] of [
    [packageUrl, 'GET'],
    [packageUrl, 'DELETE'],
    ['/alice/app/issues/1', 'POST'],
    ['/api/packages/bob/generic/tool/1.0/file', 'PUT'],
    ['/alice/app.git/git-receive-pack', 'POST'],
  ] as const) {
    t.match(
      await ask('/v1/forward-auth', asking(uri, method)),
      { status: 200, text: '' },
      `${method} ${uri}`,
    );
  }
  t.equal(told.refused.length, 1);
  for (const method of ['HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'])
    t.equal((await ask('/v1/forward-auth', asking(packageUrl, 'PUT', { method }))).status, 403, method);
});

t.test('for a proxy that passes no answer on, the page of a refusal is never taken for success', async t => {
  const { ask, told, walk } = await open(t, { totalBytes: 1_000_000 });
  walk('/srv/git/alice/app.git', 'alice', 1_200_000);
  const page = () => ask('/v1/forward-auth/refusal', asking(packageUrl));
  t.match(await page(), { status: 403, phrase: /^Quota exceeded: alice/ });
  t.same(told.refused, [], 'it was on record before');
  walk('/srv/git/alice/app.git', 'alice', 1);
  t.match(await page(), { status: 403, phrase: /no longer, by the quota/ }, '503 would be repeated');
  t.match(await ask('/v1/forward-auth/refusal', asking('/alice/app', 'GET')), {
    status: 403,
    phrase: /^This request is refused, and not/,
  });
});

t.test('a push is refused early with lines that git shows', async t => {
  const world = await open(t, { totalBytes: 1_000_000 });
  world.walk('/srv/git/alice/app.git', 'alice', 1_200_000);
  const { status, headers, text } = await world.ask('/v1/forward-auth', asking(pushUrl, 'GET'));
  t.equal(status, 403);
  t.equal(headers['content-type'], 'text/plain; charset=utf-8');
  t.match(
    text,
    /^Quota exceeded: alice uses 1\.2 MB of 1 MB \(120 %\)\.\n[\s\S]*Nothing from this upload was stored/,
  );
  t.match(await world.ask('/v1/forward-auth', asking(pushUrl.replace('receive', 'upload'), 'GET')), {
    status: 200,
  });
});

t.test('of a repository its own kind is asked about; of one that is not known yet, both', async t => {
  const world = await open(t);
  const { ask, told, walk } = world;
  walk('/srv/git/alice/app.git', 'alice', 1000, { leaf: 'size:repos:private' });
  walk('/srv/git/alice/site.git', 'alice', 1000, { leaf: 'size:repos:public' });
  await grouped(world.ledger, ['alice'], [{ name: 'r', limitBytes: 1, subjects: ['size:repos:public'] }]);
  const status = async (name: string) =>
    (await ask('/v1/forward-auth', asking(`/alice/${name}.git/info/refs?service=git-receive-pack`, 'GET')))
      .status;
  t.strictSame([await status('App'), await status('Site'), await status('new')], [200, 403, 200]);
  t.strictSame(told.letThrough, ['/srv/git/alice/app.git'], 'what was let through is measured soon');
});

t.test('where an upload of LFS objects is let through, their store is measured soon', async t => {
  const { ask, told, walk } = await open(t, { totalBytes: 1_000_000 });
  walk('/srv/lfs/alice/app', 'alice', 1000, { leaf: 'size:git:lfs' });
  const put = asking(`/alice/app.git/info/lfs/objects/${'0a'.repeat(32)}/300`);
  t.equal((await ask('/v1/forward-auth', put)).status, 200);
  t.strictSame(told.letThrough, ['/srv/lfs/alice/app']);
  walk('/srv/lfs/alice/app', 'alice', 1_200_000, { leaf: 'size:git:lfs' });
  t.equal((await ask('/v1/forward-auth', put)).status, 403);
  t.equal(told.letThrough.length, 1, 'but not after a refusal');
});

t.test('in report mode nothing is refused, and it is on record all the same', async t => {
  const { ask, told, walk } = await open(t, { totalBytes: 1000, mode: 'report' });
  walk('/srv/git/alice/app.git', 'alice', 1200);
  t.match(await ask('/v1/forward-auth', asking(packageUrl)), { status: 200, text: '' });
  t.match(told.refused, [{ owner: 'alice', mode: 'report' }]);
});

t.test('the size in an address counts where sizes count', async t => {
  const { ask, walk } = await open(t, { totalBytes: 1000, precise: true });
  walk('/srv/git/alice/app.git', 'alice', 500);
  const put = (size: number) =>
    ask('/v1/forward-auth', asking(`/alice/app.git/info/lfs/objects/0a1b/${size}`));
  t.match(
    [await put(500), await put(501)],
    [{ status: 200 }, { status: 403, phrase: /^Not enough quota left/ }],
  );
});

t.test('the length that the proxy passes on counts, and its room is kept', async t => {
  const { ask, walk } = await open(t, { totalBytes: 1000, precise: true });
  walk('/srv/packages/alice', 'alice', 500, { leaf: 'size:assets:packages:all' });
  const put = async (length: string, url = packageUrl) => {
    const { headers } = asking(url);
    return ask('/v1/forward-auth', { headers: { ...headers, 'X-Original-Content-Length': length } });
  };
  t.match(await put('501'), { status: 403, phrase: /alice uses .* and this upload brings 501 B\./ });
  t.equal((await put('400')).status, 200);
  t.equal((await put('400')).status, 200, 'a client that was asked for its password sends it again');
  t.equal((await put('200', `${packageUrl}-other`)).status, 403);
  t.equal((await put('100', `${packageUrl}-other`)).status, 200);
  t.equal((await put('many', `${packageUrl}-third`)).status, 200, 'no length');
  walk('/srv/packages/alice', 'alice', 1000, { leaf: 'size:assets:packages:all' });
  const { text } = await ask('/v1/check?owner=alice&subject=size:all');
  t.match(JSON.parse(text), { used: 1000, reserved: undefined });
  const oid = 'a'.repeat(64);
  const lfs = async (size: number) =>
    (await ask('/v1/forward-auth', asking(`/bob/app.git/info/lfs/objects/${oid}/${size}`))).status;
  t.strictSame(
    [await lfs(600), await lfs(600)],
    [200, 200],
    'an object has one place, however often it is sent',
  );
});

t.test('of an address with several readings, the refused one leaves nothing reserved for others', async t => {
  const { ask, walk } = await open(t, { totalBytes: 1000, precise: true });
  walk('/srv/packages/alice', 'alice', 0, { leaf: 'size:assets:packages:all' });
  walk('/srv/packages/bob', 'bob', 1000, { leaf: 'size:assets:packages:all' });
  const put = async (url: string) => {
    const { headers } = asking(url);
    return (await ask('/v1/forward-auth', { headers: { ...headers, 'X-Original-Content-Length': '400' } }))
      .status;
  };
  const reserved = async () =>
    JSON.parse((await ask('/v1/check?owner=alice&subject=size:all')).text).reserved;
  const both = '/api/packages/alice/../bob/generic/tool/1.0/file';
  t.strictSame([await put(both), await reserved()], [403, undefined]);
  walk('/srv/packages/bob', 'bob', 0, { leaf: 'size:assets:packages:all' });
  t.strictSame([await put(both), await reserved()], [200, 400]);
});

t.test('only the headers of one family count, and without them ON_ERROR does', async t => {
  const { ask, askTrusted, told, walk } = await open(t, { totalBytes: 1000 });
  walk('/srv/git/alice/app.git', 'alice', 1200);
  const forwarded = { headers: { 'X-Forwarded-Uri': packageUrl, 'X-Forwarded-Method': 'PUT' } };
  t.equal((await ask('/v1/forward-auth', forwarded)).status, 200, 'the other family');
  t.match(told.notUnderstood, [
    /the proxy sends no x-original-uri or no x-original-method; \[gate\] HEADERS/,
  ]);
  told.uploads = { ...told.uploads, onError: 'deny' };
  t.match(await ask('/v1/forward-auth', forwarded), {
    status: 403,
    phrase: /^The quota cannot be asked: the proxy/,
  });
  told.uploads = { ...told.uploads, onError: 'allow', headers: 'forwarded' };
  t.equal((await askTrusted('/v1/forward-auth', forwarded)).status, 403);
  t.equal((await ask('/v1/forward-auth', asking(packageUrl))).status, 200);
});

t.test('a name in other letters reaches the header as it is, and the phrase without them', async t => {
  const { ask, walk } = await open(t, { totalBytes: 1000 });
  walk('/srv/git/jörg/app.git', 'jörg', 1200);
  const { phrase, headers } = await ask('/v1/forward-auth', asking('/api/packages/j%C3%B6rg/generic/x'));
  t.equal(phrase, 'Quota exceeded: j?rg uses 1.2 kB of 1 kB (120 %).');
  t.match(Buffer.from(String(headers['x-quota-message']), 'latin1').toString(), /: jörg uses/);
});

t.test('an address of 25 kB, twice, and long cookies are read', async t => {
  const { ask, walk } = await open(t, { totalBytes: 1000 });
  walk('/srv/git/alice/app.git', 'alice', 1200);
  const { headers } = asking(`${packageUrl}?${'x'.repeat(25_000)}`);
  const long = { headers: { ...headers, Referer: 'y'.repeat(25_000) } };
  t.equal((await ask('/v1/forward-auth', long)).status, 403);
});

t.test('a body is not read, however long it is', async t => {
  const { ask } = await open(t);
  const body = Buffer.alloc(1_000_000);
  t.equal((await ask('/v1/forward-auth', asking(packageUrl, 'PUT', { method: 'POST', body }))).status, 200);
});

t.test(
  'strangers learn no figures of an owner whose page they may not see, nor of one who does not exist',
  async t => {
    const world = await open(t, { totalBytes: 0 });
    const { ask, told, walk } = world;
    told.contact = 'https://git.example/quota';
    walk('/srv/git/alice/app.git', 'alice', 900_000);
    const words = 'This upload is refused by the quota.';
    const isHidden = async (uri: string, method?: string) => {
      const { status, phrase, headers, text } = await ask('/v1/forward-auth', asking(uri, method));
      t.equal(status, 403);
      t.equal(phrase, words);
      t.equal(headers['x-quota-message'], words);
      t.match(text, words);
      t.notMatch(text, /alice|nobody|900|kB/);
    };
    t.match(
      (await ask('/v1/forward-auth', asking(packageUrl))).text,
      /alice/,
      'who is known to all is named',
    );
    await isHidden('/api/packages/nobody/generic/tool/1.0/file');
    told.showsFigures = false;
    await isHidden(packageUrl);
    await isHidden(pushUrl, 'GET');
    t.match(told.refused.at(-1), { owner: 'alice' }, 'the record has all of it');
  },
);
