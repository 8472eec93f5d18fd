/** The gate at an address: what proxies in containers ask, and nothing else. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import t, { type Test } from 'tap';
import { openGateAt } from '../../src/gate/index.ts';
import { lfsBatchRoutes, routesOf } from '../../src/layout/index.ts';
import { freePort } from '../e2e/transports.ts';
import { openWorld } from './world.ts';

const settings = { host: '[gate] ADDR', port: 'PORT' } as const;

async function open(t: Test, trusted: readonly string[] = [], host = '127.0.0.1') {
  const world = await openWorld(t, { totalBytes: 1000 });
  const { told } = world;
  const lfs = { ...told.uploads.lfs, batchRoutes: lfsBatchRoutes('/') };
  told.uploads = { ...told.uploads, routes: routesOf(['gitea'], '/', false), headers: 'forwarded', lfs };
  world.walk('/srv/git/alice/app.git', 'alice', 1200);
  const port = await freePort();
  const gate = await openGateAt(world.services, { host, port, settings }, trusted);
  t.teardown(() => gate.close());
  return { ...world, port };
}

const upload = {
  headers: { 'X-Forwarded-Method': 'PUT', 'X-Forwarded-Uri': '/api/packages/alice/generic/a/1/f' },
};

t.test('at its address the gate answers proxies, and nothing else of the gate is there', async t => {
  const { port } = await open(t);
  const url = `http://127.0.0.1:${port}`;
  const status = async (path: string, asked: RequestInit = {}) => (await fetch(url + path, asked)).status;
  t.equal(await status('/v1/forward-auth', upload), 403);
  t.equal(await status('/v1/forward-auth/refusal', upload), 403);
  t.equal(await status('/healthz'), 200);
  const batch = { method: 'POST', body: '{"objects":[]}' };
  t.equal(await status('/v1/lfs/alice/app/info/lfs/objects/batch', batch), 404, 'no UPSTREAM');
  t.match(await (await fetch(`${url}/alice/app/info/lfs/objects/batch`, batch)).text(), 'UPSTREAM');
  for (const path of ['/v1/check?owner=alice&subject=size:all', '/v1/changed', '/v1/usage', '/v1/sources/x'])
    t.equal(await status(path), 403, path);
  t.ok([403, 404].includes(await status('/v1/push', { method: 'POST', body: 'x' })), 'no pushes');
  for (const path of ['/', '/readyz', '/v1/nothing']) t.ok([403, 404].includes(await status(path)), path);
});

t.test('only this host and the trusted proxies are answered, and the log says who else asked', async t => {
  const own = Object.values(networkInterfaces()).flat();
  const address = own.find(each => each !== undefined && !each.internal && each.family === 'IPv4')?.address;
  if (address === undefined) return t.pass('this host has no other address');
  const stranger = await open(t, [], '0.0.0.0');
  const refused = await fetch(`http://${address}:${stranger.port}/healthz`);
  t.equal(refused.status, 403);
  t.match(await refused.text(), 'TRUSTED_PROXIES');
  t.match(stranger.told.notUnderstood, [new RegExp(`${address} is not in`)]);
  const trusted = await open(t, [`${address}/32`], '0.0.0.0');
  t.equal((await fetch(`http://${address}:${trusted.port}/healthz`)).status, 200);
});

t.test('a port that is taken is a fault that names the keys, and closing ends connections', async t => {
  const { services } = await openWorld(t);
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo; // as it is of every TCP server that listens
  await t.rejects(openGateAt(services, { host: '127.0.0.1', port, settings }, []), {
    code: 'configuration',
    message: new RegExp(`\\[gate\\] ADDR = 127\\.0\\.0\\.1, PORT = ${port}: nothing can listen there`),
  });
  taken.close();
  await once(taken, 'close');
  const gate = await openGateAt(services, { host: '127.0.0.1', port, settings }, []);
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const ended = once(socket, 'close');
  socket.on('error', () => {});
  await gate.close();
  await ended;
});
