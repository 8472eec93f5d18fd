/** The lines for Caddy inside what administrators have around them: nothing gets wider by them. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import t, { type Test } from 'tap';
import { served } from '../served.ts';
import {
  batchPath,
  bobsPath,
  emptyBatch,
  exceededWords,
  holdsForBatch,
  openForge,
  packagePath,
  worksBelow,
} from './behind-proxy.ts';
import type { Around } from './proxies.ts';

t.setTimeout(300_000);

const { server, behind } = await openForge(t, 'forwarded');

/** Alice over her limit, behind Caddy. */
async function open(t: Test, around: Around) {
  const opened = await behind(t, 'caddy', around);
  await opened.uses(1_200_000);
  return opened;
}

/** `secret`, by bcrypt. */
const hash = '$2a$14$UhGe1A2ITjiKN0FPEyQWkuBZgi4mCDBchGfhBq54uiABkGpoWRj7m';

for (const order of ['as Caddy sorts them', 'in a route'] as const) {
  t.test(`a sign-in service that is away lets nobody in, lines ${order}`, async t => {
    let answer = 200;
    const signIn = createServer((_request, response) => response.writeHead(answer).end());
    const port = await served(t, signIn);
    const { forge, curl, upload } = await open(t, {
      server: `forward_auth 127.0.0.1:${port} {\nuri /sign-in\n}`,
      isInRoute: order === 'in a route',
    });
    t.match(await upload(bobsPath), / 201 /);
    t.match(await upload(packagePath), exceededWords);
    answer = 401;
    forge.came.length = 0;
    t.notMatch(await upload(packagePath), exceededWords, 'nor told of anybody');
    const ask = async () => [
      await upload(bobsPath),
      await curl('/alice/app'),
      await curl(batchPath, ...emptyBatch),
    ];
    for (const refused of await ask()) t.match(refused, / 401 /);
    const closed = once(signIn, 'close');
    signIn.closeAllConnections();
    signIn.close();
    await closed;
    for (const refused of await ask()) t.match(refused, / 502 /);
    t.same(forge.came, []);
  });
}

t.test('no client leads a request to the gate itself', async t => {
  const { forge, curl } = await open(t, {});
  const sly = ['-H', 'X-Softquota-Batch: yes'];
  for (const path of ['/v1/check?owner=alice&subject=size:all', '/v1/usage?owner=alice', '/healthz']) {
    t.match(await curl(path, ...sly), /\{\}$/, path);
    t.match(await curl(path, ...sly, '-d', 'x'), /\{\}$/, path);
  }
  t.equal(forge.came.length, 6);
});

t.test('what the forge breaks off reaches it once', async t => {
  const { forge, curl } = await open(t, {});
  t.match(await curl(`${bobsPath}-broken`, '-X', 'POST', '-d', 'x'), / 502 /);
  t.equal(forge.came.length, 1);
});

t.test('passwords and cleaned headers hold for the LFS batch as well', async t => {
  const server = `basicauth {\nalice ${hash}\n}`;
  await holdsForBatch(t, await open(t, { server, location: 'header_up X-WEBAUTH-USER {http.auth.user.id}' }));
});

t.test('below a path that Caddy takes off, uploads are refused and LFS works', async t => {
  await worksBelow(t, server, () => open(t, { isBelow: '/git' }));
});
