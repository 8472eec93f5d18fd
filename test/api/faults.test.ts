/**
 * Things that are never in an answer or a log: a stack, a secret, leave for a browser to do what an answer
 * never does.
 */

import { renameSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import type { Worker } from 'node:worker_threads';
import t from 'tap';
import { z } from 'zod';
import { application } from '../../src/api/application.ts';
import { route } from '../../src/api/route.ts';
import type { ApiServices } from '../../src/api/services.ts';
import { SoftquotaError } from '../../src/errors.ts';
import { secretKeysOf } from '../../src/identity/index.ts';
import { served } from '../served.ts';
import { messageOf, userOf } from './people.ts';
import { World } from './world.ts';

t.test("a mistake of softquota's own is 500 without a word about it, and the log has all", async t => {
  const mistakes: unknown[] = [
    new TypeError('secret words'),
    new SoftquotaError('internal', 'secret words'),
    Object.assign(new Error('secret words'), { status: 502 }),
    'secret words',
  ];
  const logged: unknown[] = [];
  const routes = mistakes.map((mistake, at) =>
    route('get', `fail${at}`, `/fail/${at}`, {
      tag: 'about',
      summary: 'Fail',
      access: 'anybody',
      answer: { status: 200, description: 'Never', schema: z.string() },
      handle: () => {
        throw mistake;
      },
    }),
  );
  const port = await served(
    t,
    application({
      routes,
      services: {
        baseUrl: () => 'http://git.example/',
        unforeseen: (error: unknown) => logged.push(error),
      } as unknown as ApiServices,
      web: null,
      trustedProxies: [],
    }),
  );
  for (const at of mistakes.keys()) {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/fail/${at}`);
    t.equal(response.status, 500);
    t.strictSame(await response.json(), {
      message: 'internal error; the log of the daemon has details',
      code: 'internal',
      url: 'http://git.example/api/swagger',
    });
  }
  t.strictSame(logged, mistakes);
});

t.test('what is no HTTP is answered with a fault too, and the connection ends', async t => {
  const world = await World.open(t);
  const goodbye = async (sent: string) => {
    const socket = connect(Number(world.url.port), world.url.hostname);
    t.teardown(() => socket.destroy());
    socket.write(sent);
    const [head = '', body = ''] = (await textOf(socket)).split('\r\n\r\n');
    t.match(JSON.parse(body), { message: String, url: `${world.url}api/swagger` });
    t.match(head, `Content-Length: ${body.length}`);
    return head;
  };
  t.match(await goodbye('\u0016\u0003\u0001\r\n\r\n'), /^HTTP\/1\.1 400 Bad Request\r\n/);
  t.match(await goodbye('FROB /api/v1/version HTTP/1.1\r\nHost: a\r\n\r\n'), /^HTTP\/1\.1 400 /);
  t.match(await goodbye(`GET / HTTP/1.1\r\nHost: a\r\nA: ${'x'.repeat(20_000)}\r\n\r\n`), /^HTTP\/1\.1 431 /);
  const both = 'Content-Length: 1\r\nTransfer-Encoding: chunked';
  t.match(await goodbye(`POST /api/v1/version HTTP/1.1\r\nHost: a\r\n${both}\r\n\r\n`), /^HTTP\/1\.1 400 /);
  await world.get('/version');
});

t.test('what was asked before a fault is answered before it', async t => {
  const world = await World.open(t);
  const token = await world.newToken('admin1', ['all']);
  const body = JSON.stringify({ name: 'before', limit: 1, subjects: ['size:all'] });
  const socket = connect(Number(world.url.port), world.url.hostname);
  t.teardown(() => socket.destroy());
  socket.write(
    `POST /api/v1/admin/quota/rules HTTP/1.1\r\nHost: a\r\nAuthorization: token ${token}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}no HTTP\r\n\r\n`,
  );
  const statuses = [...(await textOf(socket)).matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status);
  t.strictSame(statuses, ['201', '400']);
  await world.get('/admin/quota/rules/before');
});

t.test('every answer tells a browser to trust it with nothing', async t => {
  const world = await World.open(t);
  const url = (path: string) => new URL(path, world.url);
  for (const path of [
    'api/v1/version',
    'api/v1/admin/quota/rules',
    'api/v1/nowhere',
    'nowhere',
    'api/swagger',
  ]) {
    const { headers } = await fetch(url(path));
    t.match(Object.fromEntries(headers), {
      'content-security-policy': /default-src 'none'/,
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
    });
    t.notMatch(headers.get('content-security-policy'), /https?:|\*|unsafe-eval/, 'from no other host');
    t.strictSame([headers.get('x-powered-by'), headers.get('strict-transport-security')], [null, null], path);
  }
  t.equal((await fetch(url('api/v1/version'))).headers.get('cache-control'), 'no-store');
  await world.restart({ server: { ROOT_URL: 'https://git.example/' } });
  t.match((await fetch(url('api/v1/version'))).headers.get('strict-transport-security'), /max-age=\d+/);
  await world.restart({ server: { ROOT_URL: 'https://git.example/quota/' } });
  const below = await fetch(url('api/v1/version'));
  t.equal(below.headers.get('strict-transport-security'), null, 'the host is not ours below a path');
});

t.test('no token is ever in the log, nor is a body', async t => {
  const world = await World.open(t, { settings: { log: { LEVEL: 'debug' } } });
  const token = await world.newToken('admin1', ['all']);
  const secret = 'a-secret-nobody-may-read';
  const basic = Buffer.from(`admin1:${token}`).toString('base64');
  for (const authorization of [
    `token ${token}`,
    `Bearer ${token}`,
    `Basic ${basic}`,
    `token ${secret}`,
    secret,
  ]) {
    await world.call('GET', '/admin/quota/rules', { headers: { Authorization: authorization } });
  }
  for (const rawBody of [`{"name":"${secret}"`, `{"name":"x","limit":"${secret}"}`, `${secret}`]) {
    await world.must(422, 'POST', '/admin/quota/rules', { token, rawBody });
  }
  await world.must(404, 'GET', `/admin/users/${secret}`);
  await world.must(422, 'POST', '/admin/users', { body: { username: ' ', password: secret } });
  await world.call('GET', `/admin/quota/rules?token=${token}&access_token=${token}`, { as: 'nobody' });
  const json = await world.post('/users/bob/tokens', { name: 'x', scopes: ['all'] });
  const made = z.object({ sha1: z.string() }).parse(json).sha1;
  await world.restart();
  const log = world.log.join('');
  t.match(log, 'softquota answers');
  for (const each of [token, basic, secret, made]) t.notOk(log.includes(each), each);
});

t.test('who follows the link of a mail while the store is away does not read where it is', async t => {
  const secret = 'a key for secrets of at least 32 characters';
  const threads: Worker[] = [];
  const collect = (thread: Worker) => void threads.push(thread);
  process.on('worker', collect);
  const world = await World.open(t, { settings: { security: { SECRET_KEY: secret } } });
  process.off('worker', collect);
  const { id } = await userOf(world, 'alice');
  const token = secretKeysOf([secret]).seal(String(id), 'unsubscribe from notices');
  const link = new URL(`unsubscribe?${new URLSearchParams({ token })}`, world.url);
  t.equal((await fetch(link)).status, 200);

  // A thread of the store that is started again finds no file.
  const file = join(world.directory, 'data', 'softquota.db');
  renameSync(file, `${file}.aside`);
  await threads.find(({ threadName }) => threadName === 'store')?.terminate();
  const refused = await fetch(link, { method: 'POST' });
  t.equal(refused.status, 503);
  const message = 'the store cannot be written at the moment: try again soon';
  t.equal(messageOf({ json: await refused.json() }), message);
  renameSync(`${file}.aside`, file);
  t.equal((await fetch(link, { method: 'POST' })).status, 200, 'and it works once the store is back');
});
