/**
 * A daemon that may open few files, and others that hold connections: those who ask are answered all the
 * same.
 */

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { addressOf } from '../e2e/accounts.ts';
import { until } from '../e2e/ask.ts';
import { Server } from '../e2e/server.ts';

const limit = 1024;
const path = '/v1/check?owner=alice&subject=size:all';
/** Opens so many connections that say nothing, or the beginning of a request. */
async function hold(t: Test, count: number, open: () => Socket, beginning = ''): Promise<readonly Socket[]> {
  const sockets = Array.from({ length: count }, () => {
    const socket = open();
    socket.on('error', () => {});
    t.teardown(() => socket.destroy());
    if (beginning !== '') socket.write(beginning);
    return socket;
  });
  // Each was taken, or ended at once to make room.
  await Promise.all(sockets.map(socket => Promise.race([once(socket, 'connect'), once(socket, 'close')])));
  return sockets;
}

function descriptorsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

t.test(`with ${limit} descriptors and three times as many idle connections all are answered`, async t => {
  const server = await Server.open(t, { started: false });
  const daemon = await server.start({ through: ['prlimit', `--nofile=${limit}:${limit}`] });
  const warned = daemon.lines.find(({ msg }) => msg.startsWith(`this process may open ${limit} files`));
  t.match(warned, { level: 40, limit, connections: { gate: Number, http: Number } });
  t.match(warned?.msg, /LimitNOFILE=/);
  const { hostname, port } = new URL(await addressOf(server));
  const http = () => connect(Number(port), hostname);
  const gate = () => connect(server.socket('gate'));
  const half = 'GET /api/v1/version HTTP/1.1\r\nHost: x\r\n';
  for (const [open, beginning] of [
    [http, half],
    [gate, ''],
    [http, ''],
    [gate, 'POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n'],
  ] as const) {
    await hold(t, limit, open, beginning);
    const answers = await Promise.all(Array.from({ length: 50 }, () => server.ask('gate', path)));
    t.strictSame(new Set(answers.map(({ status }) => status)), new Set([200]));
    const version = await fetch(`http://${hostname}:${port}/api/v1/version`);
    t.equal(version.status, 200);
    t.equal((await server.ask('admin', '/api/v1/version')).status, 200);
  }
  t.ok(descriptorsOf(daemon.child.pid ?? 0) < limit - 64, 'some are left for files');
  t.notOk(daemon.lines.some(({ msg }) => msg.startsWith('no file can be opened any more')));
});

t.test('over HTTP, too, a header that does not come ends the connection', async t => {
  const server = await Server.open(t);
  const { hostname, port } = new URL(await addressOf(server));
  const began = performance.now();
  const [socket] = await hold(
    t,
    1,
    () => connect(Number(port), hostname),
    'GET /api/v1/version HTTP/1.1\r\nHo',
  );
  if (socket === undefined) throw new Error('one was asked for');
  let received = '';
  socket.on('data', chunk => {
    received += String(chunk);
  });
  await once(socket, 'close');
  t.match(received, /^HTTP\/1\.1 408 /);
  t.ok(performance.now() - began < 30_000, 'a minute is too long for a header');
});

t.test('where no descriptor is left the log says so, and idle connections make room', async t => {
  const server = await Server.open(t);
  const { daemon } = server;
  const pid = daemon.child.pid ?? 0;
  const held = await hold(t, 200, () => connect(server.socket('gate')));
  await until(() => (descriptorsOf(pid) > 200 ? true : null));
  execFileSync('prlimit', ['--pid', String(pid), `--nofile=${descriptorsOf(pid)}:${limit}`]);
  let isTold = false;
  const told = daemon.logged(/^no file can be opened any more: .*LimitNOFILE=/).finally(() => {
    isTold = true;
  });
  // A thread of its start that ends for want of a file gives back some, so that more may come.
  while (!isTold) await hold(t, limit, () => connect(server.socket('gate')));
  t.match(await told, { level: 50, code: 'EMFILE' });
  await until(() => (held.some(({ destroyed }) => destroyed) ? true : null));
  // Those who wait to be accepted may take what has become free, and one who comes meanwhile is turned away.
  await until(async () => {
    const answer = await server.ask('gate', path).catch(() => null);
    return answer?.status === 200 ? true : null;
  });
});
