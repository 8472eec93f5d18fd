/** The open connection of the git user's worker. */

import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { FakeWorker, idleReport } from './fake-worker.ts';
import { ask, openWorld } from './world.ts';

const hooks = {
  repositories: 3,
  unguarded: { count: 1, first: [{ path: '/srv/git/a/b.git', why: 'it is a link' }] },
};
const figures = {
  path: '/srv/git/a/b.git',
  at: 5,
  measured: { object_bytes: 10, reachable_bytes: 7, unreachable_bytes: 3 },
  fault: null,
  collected: { at: 4, freed_bytes: -2, fault: null },
};

t.test('a worker connects on the trusted socket only, and an older one is told so', async t => {
  const { sockets, askTrusted } = await openWorld(t);
  const headers = { Connection: 'Upgrade', Upgrade: 'softquota-worker' };
  t.match(await ask(sockets.gate, '/v1/worker', { headers }), { status: 403 });
  const plain = await askTrusted('/v1/worker', { method: 'POST' });
  t.match(plain, { status: 400, text: /this one is of another version than the daemon/ });
  t.match(await ask(sockets.trusted, '/v1/worker', { headers: { ...headers, Upgrade: 'h2c' } }), {
    status: 400,
  });
  t.match(await ask(sockets.trusted, '/healthz', { headers }), { status: 200 }, 'it is only for a worker');
  const worker = await FakeWorker.connect(t, sockets.trusted);
  t.match(await worker.next('version'), { mark: 'mark' });
});

t.test('reports are taken as they are, many on one connection', async t => {
  const { sockets, told } = await openWorld(t);
  const worker = await FakeWorker.connect(t, sockets.trusted);
  const held = [{ unit: '/srv/git/a/b.git', name: 'tmp_objdir-incoming-abcdef', bytes: 5, since: 7 }];
  worker.report({ hooks, quarantines: { removed: [], held } });
  worker.report({ repositories: [figures], exec_paths: ['/usr/lib/git-core'] });
  await worker.taken();
  t.match(told.workers, [
    { hooks, quarantines: { removed: [], held }, repositories: [] },
    {
      exec_paths: ['/usr/lib/git-core'],
      repositories: [{ ...figures, mark: '', measured: { ...figures.measured, lent: false } }],
    },
  ]);
});

t.test('a worker of another version is told what is not understood, and its connection ends', async t => {
  const { sockets, told } = await openWorld(t);
  const many = Array.from({ length: 501 }, () => ({ ...figures, measured: null, collected: null }));
  for (const [message, why] of [
    [{ report: { ...idleReport, version: 5 } }, /report\.version/],
    [{ report: 5 }, /report/],
    [{ report: { ...idleReport, repositories: many } }, /report\.repositories/],
    [{ result: { id: 'x', value: 5 } }, /result\.value/],
    [{ other: {} }, /of another version: report/],
    ['no JSON\n', /not JSON/],
    [`${'x'.repeat(1024 * 1024 + 1)}\n`, /more than 1048576 bytes/],
  ] as const) {
    const worker = await FakeWorker.connect(t, sockets.trusted);
    worker.send(message);
    t.match(await worker.next('refused'), { refused: why });
    if (!worker.socket.closed) await once(worker.socket, 'close');
  }
  t.same(told.workers, []);
});

t.test('the connection is open as long as both are there, whatever else the socket is asked', async t => {
  const { sockets, trusted, askTrusted } = await openWorld(t, {}, { mostConnections: 3, idleMs: 100 });
  const worker = await FakeWorker.connect(t, sockets.trusted);
  for (let at = 0; at < 10; at++) t.equal((await ask(sockets.trusted, '/healthz')).status, 200);
  trusted.makeRoom();
  t.equal((await askTrusted('/healthz')).status, 200);
  // Longer than a connection may be idle.
  await new Promise(resolve => setTimeout(resolve, 250));
  await worker.taken();
  const ended = once(worker.socket, 'close');
  await trusted.close();
  await ended;
});

const space = { kind: 'space', path: '/srv/a.git', urgent: true, lfs: null } as const;

t.test('a worker takes the place of the one before, until the daemon ends', async t => {
  const { sockets, link } = await openWorld(t);
  await t.rejects(link.ask(space, 60_000), { code: 'not_ready', message: /no worker is connected/ });
  const waiting = link.connection();
  const first = await FakeWorker.connect(t, sockets.trusted);
  await waiting;
  const lost = t.rejects(link.ask(space, 60_000), {
    code: 'not_ready',
    message: /the worker was restarted; ask again/,
  });
  t.match(await first.task(), space);
  const second = await FakeWorker.connect(t, sockets.trusted);
  await lost;
  t.same(await first.next('refused'), { refused: 'another worker has connected' });
  const asked = link.ask(space, 60_000);
  const { id } = await second.task();
  second.send({ result: { id, value: { kept: true } } });
  t.same(await asked, { kept: true });
  t.notOk(link.isHere, 'it has not reported');
  second.report();
  while (!link.isHere) await nextTurn();
  second.socket.destroy();
  while (link.isHere) await nextTurn();
  const again = link.connection();
  link.close();
  await again;
  const late = await FakeWorker.connect(t, sockets.trusted);
  t.same(await late.next('refused'), { refused: 'the daemon stops' });
});

t.test('what changed is told together, and no more than there is room for', async t => {
  const { sockets, link } = await openWorld(t);
  link.tell('/srv/before.git', 'pushed');
  const worker = await FakeWorker.connect(t, sockets.trusted);
  link.tell('/srv/a.git', 'asked');
  link.tell('/srv/b.git', 'asked');
  link.tell('/srv/a.git', 'pushed');
  link.tell('/srv/a.git', 'asked');
  t.same(await worker.next('pushed'), { mark: 'mark', pushed: ['/srv/a.git'], asked: ['/srv/b.git'] });
  for (let at = 0; at < 10_100; at++) link.tell(`/srv/${at}.git`, 'pushed');
  t.match(await worker.next('pushed'), { pushed: { length: 10_000 } });
});
