/** The worker's connection to the daemon: again and again, and never in the way of its other work. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createSocket } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import t, { type Test } from 'tap';
import type { Fields } from '../../../src/bounded/index.ts';
import { DaemonConnection } from '../../../src/git/worker/connection.ts';
import { until } from '../../e2e/ask.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

function socketFor(t: Test): string {
  return join(temporaryFolder(t), 'trusted.sock');
}

/** A connection to this socket, and what it says. */
function open(t: Test, socketPath: string) {
  const faults: (string | null)[] = [];
  const taken: Fields[] = [];
  const counts = { connected: 0 };
  const connection = new DaemonConnection({
    socketPath,
    connected: () => {
      counts.connected += 1;
    },
    take: message => taken.push(message),
    answer: async () => ({}),
    fault: why => faults.push(why),
  });
  t.teardown(() => connection.close());
  connection.start();
  return { connection, faults, taken, counts };
}

/** A daemon that takes workers; `sockets` are their connections. */
async function daemon(t: Test, socketPath: string) {
  const sockets: Duplex[] = [];
  const server = createServer();
  server.on('upgrade', (_, socket) => {
    socket.on('error', () => {});
    sockets.push(socket);
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: softquota-worker\r\n\r\n{"a":',
    );
    socket.write('1}\n{"b":2}\n');
  });
  server.listen(socketPath);
  await once(server, 'listening');
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  };
  t.teardown(() => (server.listening ? close() : undefined));
  return { sockets, close };
}

t.test('a worker connects as soon as the daemon is there, and again when it comes back', async t => {
  const socketPath = socketFor(t);
  const { connection, faults, taken, counts } = open(t, socketPath);
  await until(async () => (faults.length > 0 ? true : null));
  t.match(faults, [/ENOENT/]);
  t.notOk(connection.send({ report: {} }));
  const first = await daemon(t, socketPath);
  await until(async () => (taken.length >= 2 ? true : null));
  t.same(taken.slice(0, 2), [{ a: 1 }, { b: 2 }], 'whole lines, whatever the pieces');
  t.equal(faults.at(-1), null);
  t.ok(connection.send({ report: {} }));
  t.notOk(connection.send({ report: 'x'.repeat(1024 * 1024) }), 'the daemon takes no longer line');
  await first.close();
  await until(async () => (connection.isOpen ? null : true));
  await daemon(t, socketPath);
  await until(async () => (counts.connected === 2 ? true : null));
});

t.test('a daemon that refuses is believed, and asked later and later', async t => {
  const socketPath = socketFor(t);
  const { sockets } = await daemon(t, socketPath);
  const { faults } = open(t, socketPath);
  await until(async () => (sockets.length > 0 ? true : null));
  sockets[0]?.end('{"refused":"the worker is of another version than the daemon: x"}\n');
  await until(async () => (faults.some(fault => fault?.includes('another version')) ? true : null));
  t.match(faults.at(-1), /another version than the daemon/);
});

t.test('an older daemon is named as one', async t => {
  const socketPath = socketFor(t);
  const server = createServer((_, response) => response.writeHead(405).end());
  server.listen(socketPath);
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { faults } = open(t, socketPath);
  await until(async () => (faults.length > 0 ? true : null));
  t.match(faults, ['the daemon is of another version: it answers with 405']);
});

t.test('it ends at once, also where nobody answers', async t => {
  const socketPath = socketFor(t);
  const server = createSocket(() => {});
  server.listen(socketPath);
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { connection } = open(t, socketPath);
  const begun = performance.now();
  await connection.close();
  t.ok(performance.now() - begun < 2000);
});
