/** Behaviour of the shared store when Redis is away, hangs, is full, read-only, or emptied. */

import { once } from 'node:events';
import t, { type Test } from 'tap';
import type { SharedStore } from '../../src/store/index.ts';
import { freePort } from '../e2e/transports.ts';
import { ownTime } from '../own-time.ts';
import { event, owner, share } from './records.ts';
import { isBack, placeIn, questions, succeeds } from './redis-places.ts';
import { comes, startSingle } from './redis-servers.ts';
import { commit, documentsOf, opened, position, put, rule, sharesOf, tell } from './shared-place.ts';

t.setTimeout(300_000);

/** All at once, each within two seconds. */
async function allAway(t: Test, store: SharedStore): Promise<void> {
  const taken = ownTime();
  await Promise.all(
    Object.entries(questions).map(([name, ask]) => t.rejects(ask(store), { code: 'store_away' }, name)),
  );
  t.ok(taken() < 2000, 'within two seconds');
}

t.test('a store opens where no Redis is, fails at once then, and is there when Redis is', async t => {
  const { servers } = await startSingle(t);
  const [server] = servers;
  await server.end();
  const warnings: string[] = [];
  const log = {
    warn: (_: object, message: string) => warnings.push(message),
    info: (_: object, message: string) => warnings.push(message),
  };
  const taken = ownTime();
  const store = await opened(t, placeIn(`redis://127.0.0.1:${server.port}`), { log });
  t.ok(taken() < 2000);
  await allAway(t, store);
  const askedFor = ownTime();
  await t.rejects(store.state(), { code: 'store_away', message: /ECONNREFUSED/ });
  t.ok(askedFor() < 200, 'nobody waits for what is known to be away');
  const told = new EventTarget();
  store.follow({ changed: () => told.dispatchEvent(new Event('told')), said: () => {} });
  const back = once(told, 'told');
  await server.start();
  await back;
  await isBack(store);
  await put(store, [rule('r')]);
  t.equal((await documentsOf(store)).length, 1);
  t.strictSame(warnings.length, 2, 'the log says once that it is away, and that it is back');
});

t.test('a Redis that is killed comes back with what was acknowledged', async t => {
  const { address, servers } = await startSingle(t, '--appendfsync', 'always');
  const store = await opened(t, placeIn(address));
  await store.replace({ owners: [owner('a')], documents: [rule('r')] }, null, [position(1)], []);
  await tell(store, 'one', [share('a', 'one')]);
  await servers[0].end('SIGKILL');
  await allAway(t, store);
  await servers[0].start();
  await isBack(store);
  t.strictSame((await store.policy()).policy, { owners: [owner('a')], documents: [rule('r')] });
  t.strictSame(await sharesOf(store, 'one'), [share('a', 'one')]);
});

t.test('a Redis that hangs is given up within two seconds, and found again when it goes on', async t => {
  const { address, servers } = await startSingle(t);
  const store = await opened(t, placeIn(address));
  await store.state();
  const warnings: Error[] = [];
  const warned = (warning: Error) => warnings.push(warning);
  process.on('warning', warned);
  t.teardown(() => process.off('warning', warned));
  servers[0].halt();
  await allAway(t, store);
  t.same(warnings, [], 'the connection is given up once, by however many questions');
  servers[0].go();
  await isBack(store);
  await put(store, [rule('r')]);
});

t.test('closing ends within two seconds while Redis hangs', async t => {
  const { address, servers } = await startSingle(t);
  const store = await opened(t, placeIn(address));
  servers[0].halt();
  const write = t.rejects(store.write({ events: [event('e', 1)] }), { code: 'store_away' });
  const taken = ownTime();
  await store.close();
  t.ok(taken() < 2000);
  await write;
  servers[0].go();
});

t.test('a Redis that has become a replica takes nothing, until it is a master again', async t => {
  const { address, servers } = await startSingle(t);
  const store = await opened(t, placeIn(address));
  const other = await startSingle(t);
  await servers[0].cli('replicaof', '127.0.0.1', String(other.servers[0].port));
  const connections = async () =>
    (await servers[0].cli('client', 'list')).match(/^id=\d+(?=.* name=softquota )/gm)?.join(' ');
  const before = await connections();
  await t.rejects(store.write({ events: [event('e', 1)] }), { code: 'store_away' });
  await comes('another connection', async () => ![before, undefined].includes(await connections()));
  await comes('the advice', async () => {
    const advice = await store.advice().catch(() => []);
    return advice.some(({ code }) => code === 'replica_written');
  });
  await servers[0].cli('replicaof', 'no', 'one');
  await comes('the store', () => succeeds(store.write({ events: [event('e', 1)] })));
  t.equal((await store.events({ limit: 9 })).length, 1);
});

t.test('a Redis whose memory is full takes nothing, and nothing by halves', async t => {
  const { address, servers } = await startSingle(t);
  const store = await opened(t, placeIn(address));
  await store.replace({ owners: [], documents: [rule('a')] }, null, [position(1)], []);
  await servers[0].cli('config', 'set', 'maxmemory', '1');
  const change = { documents: [rule('b')], goneDocuments: [rule('a')], events: [event('e', 1)] };
  await t.rejects(commit(store, change, position(1), position(2)), {
    code: 'store_away',
    message: /memory is full/,
  });
  await t.rejects(tell(store, 'one', [share('a', 'one')]), { code: 'store_away' });
  t.strictSame(await documentsOf(store), [rule('a')], 'what is there is still read');
  await servers[0].cli('config', 'set', 'maxmemory', '0');
  t.equal(await commit(store, change, position(1), position(2)), 'kept');
  t.equal(await tell(store, 'one', [share('a', 'one')]), 'kept', 'what was refused first is taken, too');
});

t.test('a host whose clock is ahead deletes no event early', async t => {
  const { address } = await startSingle(t);
  const store = await opened(t, placeIn(address));
  const hour = 3_600_000;
  const { now } = Date;
  await store.write({ events: [event('old', now() - 3 * hour), event('young', now() - hour)] });
  const prune = () => store.write({ goneEventsBefore: Date.now() - 2 * hour });
  t.teardown(() => {
    Date.now = now;
  });
  Date.now = () => now() + 24 * hour;
  await prune();
  Date.now = now;
  t.match(await store.events({ limit: 9 }), [{ id: 'young' }]);
  t.equal((await store.events({ limit: 9 })).length, 1);
  Date.now = () => now() - 24 * hour;
  await prune();
  t.equal((await store.events({ limit: 9 })).length, 1);
});

t.test('a server that has forgotten its scripts is given them again', async t => {
  const { address, servers } = await startSingle(t);
  const store = await opened(t, placeIn(address));
  await put(store, [rule('a')]);
  await tell(store, 'one', [share('a', 'one')]);
  await servers[0].cli('script', 'flush');
  await put(store, [rule('b')]);
  await tell(store, 'one', [share('b', 'one')]);
  t.strictSame([(await documentsOf(store)).length, (await sharesOf(store, 'one')).length], [2, 2]);
});

t.test('a port where something else answers is no Redis', async t => {
  const port = await freePort();
  const store = await opened(t, placeIn(`redis://127.0.0.1:${port}`));
  await t.rejects(store.policy(), { code: 'store_away' });
});
