/**
 * The web UI as it is served: what is a page, what is a file, what is neither, and what browsers are told of
 * each.
 */

import { symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import express, { type NextFunction, type Request, type Response } from 'express';
import t, { type Test } from 'tap';
import { application } from '../../src/api/application.ts';
import type { ApiServices } from '../../src/api/services.ts';
import { swaggerPage } from '../../src/api/swagger.ts';
import { Built } from '../../src/api/web.ts';
import { served as listening } from '../served.ts';
import { type Answer, answerIn, send } from './http.ts';
import { World } from './world.ts';

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <script type="module" src="./assets/app-1a2b.js"></script>
  </head>
  <body><div id="app"></div></body>
</html>
`;

const reader = { Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };

interface Served {
  readonly folder: string;
  get(path: string, headers?: Readonly<Record<string, string>>, method?: string): Promise<Answer>;
}

async function served(
  t: Test,
  baseUrl = 'http://git.example/',
  built?: Record<string, string>,
): Promise<Served> {
  const whole = {
    'index.html': page,
    'licenses.txt': 'MIT',
    assets: {
      'app-1a2b.js': 'plain',
      'app-1a2b.js.br': 'brotli',
      'app-1a2b.js.gz': 'gzip',
      'icon-3c.svg': '<svg/>',
    },
  };
  const folder = t.testdir({ web: built ?? whole, 'secret.txt': 'secret' });
  const port = await listening(
    t,
    application({
      routes: [],
      services: {
        baseUrl: () => baseUrl,
        unforeseen: (error: unknown) => t.fail(String(error)),
      } as unknown as ApiServices,
      trustedProxies: [],
      web: new Built(join(folder, 'web')),
    }),
  );
  const agent = new Agent();
  return {
    folder: join(folder, 'web'),
    get: async (path, headers = {}, method = 'GET') =>
      answerIn(await send({ agent, to: { host: '127.0.0.1', port }, method, path, headers })),
  };
}

t.test('every page is the same document, which is asked for anew each time', async t => {
  const { get } = await served(t);
  for (const path of [
    '/',
    '/mine',
    '/owners/alice',
    '/owners/a%2Fb%20%C3%BC',
    '/rules?sort=name',
    '/sign-in',
  ]) {
    const { status, headers, text } = await get(path);
    t.equal(status, 200, path);
    t.match(headers, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' });
    t.ok(text.includes('<head><base href="/">'), 'it says where it lies before anything is loaded');
  }
  const head = await get('/owners', {}, 'HEAD');
  t.match(head, { status: 200, text: '', headers: { 'content-type': 'text/html; charset=utf-8' } });
});

t.test('a page loads nothing but from here, nothing inline, and is in no frame', async t => {
  const { get } = await served(t);
  const { headers } = await get('/owners');
  t.equal(
    headers['content-security-policy'],
    "default-src 'none';script-src 'self';style-src 'self';img-src 'self' data:;connect-src 'self';form-action 'self';" +
      "base-uri 'self';frame-ancestors 'none';require-trusted-types-for 'script';trusted-types 'none'",
  );
  t.match(headers, { 'x-frame-options': 'DENY', 'x-content-type-options': 'nosniff' });
  for (const path of ['/assets/app-1a2b.js', '/nowhere', '/api/v1/nowhere']) {
    const other = await get(path, reader);
    t.match(other.headers['content-security-policy'], /frame-ancestors 'none'/, path);
    t.notMatch(other.headers['content-security-policy'], /unsafe|\*|https?:/, path);
    t.equal(other.headers['x-frame-options'], 'DENY', path);
  }
});

t.test('files with their content in their names stay for ever, others are asked for anew', async t => {
  const { get } = await served(t);
  t.match(await get('/assets/icon-3c.svg'), {
    status: 200,
    text: '<svg/>',
    headers: { 'content-type': 'image/svg+xml', 'cache-control': 'public, max-age=31536000, immutable' },
  });
  t.match(await get('/licenses.txt'), { status: 200, headers: { 'cache-control': 'no-cache' } });
});

t.test('what was compressed when it was built is sent so to who takes it', async t => {
  const { get } = await served(t);
  const taken = async (accepted: string | null) => {
    const asked = accepted === null ? {} : { 'Accept-Encoding': accepted };
    const { headers, text } = await get('/assets/app-1a2b.js', asked);
    t.equal(headers.vary, 'Accept-Encoding');
    t.equal(headers['content-type'], 'text/javascript; charset=utf-8');
    return [headers['content-encoding'], text];
  };
  t.strictSame(await taken('gzip, deflate, br, zstd'), ['br', 'brotli']);
  t.strictSame(await taken('gzip, deflate'), ['gzip', 'gzip']);
  t.strictSame(await taken('br;q=0, gzip'), ['gzip', 'gzip']);
  t.strictSame(await taken('identity'), [undefined, 'plain']);
  t.strictSame(await taken(null), [undefined, 'plain']);
  t.equal(
    (await get('/assets/icon-3c.svg', { 'Accept-Encoding': 'br' })).headers['content-encoding'],
    undefined,
  );
});

t.test('what is neither page nor file is 404: a page for a browser, JSON for others', async t => {
  const { get, folder } = await served(t);
  symlinkSync('../secret.txt', join(folder, 'linked.txt'));
  const nowhere = [
    '/nowhere',
    '/owners/',
    '/owners/alice/more',
    '/owners/%ff',
    '/index.html',
    '/assets',
    '/assets/',
    '/assets/app-1a2b.js.br',
    '/assets/gone.js',
    '/linked.txt',
    '/../secret.txt',
    '/assets/../../secret.txt',
    '/%2e%2e/secret.txt',
    '/assets/%2e%2e%2f%2e%2e%2fsecret.txt',
    '/..%5csecret.txt',
    '//secret.txt',
    '/assets//app-1a2b.js',
    '/__proto__',
    '/constructor',
  ];
  for (const path of nowhere) {
    const told = await get(path, reader);
    t.match(
      told,
      { status: 404, headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' } },
      path,
    );
    t.match(told.text, '<base href="/">', `${path}: the app, which says that there is no such page`);
    for (const accepted of [{}, { Accept: '*/*' }, { Accept: 'application/json' }]) {
      t.match(await get(path, accepted), { status: 404, json: { message: 'no such address' } }, path);
    }
  }
  t.match(await get('/api/v1/nowhere', reader), { status: 404, json: { message: 'no such address' } });
  t.match(await get('/owners', {}, 'POST'), { status: 405, headers: { allow: 'GET, HEAD' } });
  t.match(await get('/nowhere', {}, 'POST'), { status: 404 });
});

t.test('the icon is at the address at which browsers ask for one, too', async t => {
  const { get } = await served(t);
  t.match(await get('/favicon.ico'), {
    status: 200,
    text: '<svg/>',
    headers: { 'content-type': /^image\/svg\+xml/, 'cache-control': 'no-cache' },
  });
});

t.test('below a path it is served with and without it, and says where it lies', async t => {
  const { get } = await served(t, 'https://git.example/a&b/quota/');
  const pages = ['/a&b/quota/', '/a&b/quota/owners/alice', '/owners/alice', '/'];
  for (const path of pages) {
    t.ok((await get(path)).text.includes('<head><base href="/a&amp;b/quota/">'), path);
  }
  t.match(await get('/a&b/quota/assets/app-1a2b.js'), { status: 200 });
  t.match(await get('/a&b/quota'), { status: 302, headers: { location: '/a&b/quota/' } });
  const told = await get('/a&b/quota/nowhere', reader);
  t.match(told, { status: 404, text: '<base href="/a&amp;b/quota/">' });
});

t.test('before it is built, its pages say how to build it; then no restart is needed', async t => {
  const { get, folder } = await served(t, 'http://git.example/', {});
  const asked = await get('/owners', reader);
  t.match(asked, {
    status: 503,
    text: /<code>npm run build<\/code>/,
    headers: { 'cache-control': 'no-store' },
  });
  t.match(await get('/owners'), { status: 503, json: { message: /npm run build/ } });
  t.match(await get('/nowhere', reader), { status: 404 });
  writeFileSync(join(folder, 'index.html'), page);
  t.match(await get('/owners'), { status: 200, text: /app-1a2b/ });
  writeFileSync(join(folder, 'index.html'), page.replace('1a2b', '5e6f'));
  utimesSync(join(folder, 'index.html'), new Date(), new Date(Date.now() + 5000));
  t.match(await get('/owners'), { status: 200, text: /app-5e6f/ }, 'also when it is built anew');
});

t.test('over ADMIN_SOCKET there are no pages', async t => {
  const world = await World.open(t);
  const agent = new Agent();
  for (const path of ['/', '/owners']) {
    const sent = { agent, to: { socketPath: world.sockets.admin }, method: 'GET', path, headers: reader };
    t.match(await answerIn(await send(sent)), { status: 404, json: { message: 'no such address' } });
  }
});

t.test('a page that is not built says what builds it', async t => {
  const app = express();
  app.use(swaggerPage('/nonexistent'));
  app.use((error: Error, _request: Request, response: Response, _next: NextFunction) => {
    response.status(503).send(error.message);
  });
  const port = await listening(t, app);
  const answer = await fetch(`http://127.0.0.1:${port}/api/swagger`);
  t.equal(answer.status, 503);
  t.match(await answer.text(), /npm run build/);
});
