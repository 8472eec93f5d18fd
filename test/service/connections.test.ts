/** Connections of a server: who makes room for whom. */

import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { type ConnectionLimits, Connections } from '../../src/service/index.ts';
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
