/**
 * Connections of a server: who makes room for whom, how many there may be, and what is told where no
 * descriptor is left.
 */

import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import {
  type ConnectionLimits,
  Connections,
  connectionShares,
  enoughDescriptors,
  openFilesLimit,
  usualShares,
  watchDescriptors,
} from '../../src/service/index.ts';
import { served } from '../served.ts';

const question = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const beginning = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf';

/** A server that answers when it is told to. */
async function open(t: Test, limits: ConnectionLimits) {
  const server = createServer();
  const connections = new Connections(server, limits);
  const asked: ServerResponse[] = [];
  server.on('request', (_, response) => asked.push(response));
  const port = await served(t, server);
  const from = async (localAddress: string, sent = ''): Promise<Socket> => {
    const isRequest = sent === '' ? once(server, 'connection') : once(server, 'request');
    const socket = connect({ host: '127.0.0.1', port, localAddress });
    socket.on('error', () => {});
    t.teardown(() => socket.destroy());
    await once(socket, 'connect');
    if (sent !== '') socket.write(sent);
    await isRequest;
    return socket;
  };
  return { from, asked, connections };
}

const peerOf = ({ remoteAddress }: Socket) =>
  remoteAddress === '127.0.0.1' ? null : (remoteAddress ?? null);

t.test('who has more than one may have makes room, and nobody else does', async t => {
  const { from } = await open(t, { most: 10, ofOne: { most: 2, peerOf } });
  const other = await from('127.0.0.3');
  const [first, second] = [await from('127.0.0.2'), await from('127.0.0.2')];
  const ended = once(first, 'close');
  await from('127.0.0.2');
  await ended;
  const proxies = [await from('127.0.0.1'), await from('127.0.0.1'), await from('127.0.0.1')];
  const secondEnded = once(second, 'close');
  await from('127.0.0.2');
  await secondEnded;
  for (const socket of [other, ...proxies]) t.equal(socket.readyState, 'open');
});

t.test('a body that does not come to its end keeps no place; one that came whole does', async t => {
  const { from, asked } = await open(t, { most: 2 });
  const slow = await from('127.0.0.1', beginning);
  const whole = await from('127.0.0.1', question);
  const ended = once(slow, 'close');
  const third = await from('127.0.0.1');
  await ended;
  const thirdEnded = once(third, 'close');
  await from('127.0.0.1');
  await thirdEnded;
  t.equal(whole.readyState, 'open');
  asked.at(-1)?.end('yes');
  const [answer] = await once(whole, 'data');
  t.match(String(answer), /^HTTP\/1\.1 200 /);
});

t.test('to make room, a quarter of those without a request are ended, the longest first', async t => {
  const { from, connections } = await open(t, { most: 100 });
  const asking = await from('127.0.0.1', question);
  const silent: Socket[] = [];
  for (let n = 0; n < 8; n++) silent.push(await from('127.0.0.1'));
  const ended = silent.slice(0, 2).map(socket => once(socket, 'close'));
  connections.makeRoom();
  await Promise.all(ended);
  t.strictSame(
    [asking, ...silent.slice(2)].map(({ readyState }) => readyState),
    Array(7).fill('open'),
  );
});

t.test('the limit is what the system says of this process, as far as it says it', async t => {
  const limit = openFilesLimit();
  t.ok(limit !== null && limit > 100, String(limit));
  const folder = t.testdir();
  const saying = (text: string) => {
    const file = join(folder, 'limits');
    writeFileSync(file, text);
    return openFilesLimit(file);
  };
  const line = (soft: string) =>
    `Max processes  5  5  processes\nMax open files            ${soft}  4096  files\n`;
  t.equal(saying(line('1024')), 1024);
  t.equal(saying(line('unlimited')), null);
  t.equal(saying('nothing of that'), null);
  t.equal(openFilesLimit(join(folder, 'nowhere')), null);
});

t.test('all servers leave descriptors for all else, and the gate has more than all others', async t => {
  t.strictSame(connectionShares(null), usualShares);
  t.strictSame(connectionShares(enoughDescriptors), usualShares);
  for (const limit of [128, 256, 1024, 4096, enoughDescriptors - 1]) {
    const { gate, trusted, http, admin } = connectionShares(limit);
    t.ok(gate + trusted + http + admin <= limit - Math.min(limit / 2, 256), `${limit}`);
    t.ok(gate >= trusted + http + admin - 3, `${limit}: ${gate}`);
    t.ok(Math.min(gate, trusted, http, admin) >= 1, `${limit}`);
  }
});

t.test('where a file can be opened, nobody is told anything', async t => {
  const told: string[] = [];
  const unwatch = watchDescriptors({
    exhausted: code => told.push(code),
    makeRoom: () => told.push('room'),
    everyMs: 1,
  });
  for (let turns = 0; turns < 20; turns++) await new Promise(resolve => setTimeout(resolve, 1));
  unwatch();
  t.strictSame(told, []);
});
