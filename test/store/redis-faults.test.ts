/** Behaviour of the shared store when Redis is away, hangs, is full, read-only, or emptied. */

import { once } from 'node:events';
import { Redis } from 'ioredis';
import t, { type Test } from 'tap';
import type { SharedStore } from '../../src/store/index.ts';
import { unnote } from '../../src/store/redis/share-scripts.ts';
import { freePort } from '../e2e/transports.ts';
import { ownTime } from '../own-time.ts';
import { commit } from './commit.ts';
import { event, owner, share } from './records.ts';
import { isBack, placeIn, questions, succeeds } from './redis-places.ts';
import { comes, startSingle } from './redis-servers.ts';
import { opened, position, rule } from './shared-place.ts';

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
  store.follow(() => told.dispatchEvent(new Event('told')));
  const back = once(told, 'told');
  await server.start();
  await back;
  await isBack(store);
  await store.write({ documents: [rule('r')] });
  t.equal((await store.load()).documents.length, 1);
  t.strictSame(warnings.length, 2, 'the log says once that it is away, and that it is back');
});

t.test('a Redis that is killed comes back with what was acknowledged', async t => {
  const { address, servers } = await startSingle(t, '--appendfsync', 'always');
  const store = await opened(t, placeIn(address));
  await store.replace({ owners: [owner('a')], documents: [rule('r')] }, null, position(1), []);
  await store.write({ shares: [share('a', 'one')] });
  await servers[0].end('SIGKILL');
  await allAway(t, store);
  await servers[0].start();
  await isBack(store);
  const { owners, documents, shares } = await store.load();
  t.strictSame(
    { owners, documents, shares },
    {
      owners: [owner('a')],
      documents: [rule('r')],
      shares: [share('a', 'one')],
    },
  );
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
  await store.enroll([owner('a')]);
});

t.test('closing ends within two seconds while Redis hangs', async t => {
  const { address, servers } = await startSingle(t);
  const store = await opened(t, placeIn(address));
  servers[0].halt();
  const write = t.rejects(store.write({ documents: [rule('r')] }), { code: 'store_away' });
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
  await t.rejects(store.write({ documents: [rule('r')] }), { code: 'store_away' });
  await comes('another connection', async () => ![before, undefined].includes(await connections()));
  await comes('the advice', async () => {
    const advice = await store.advice().catch(() => []);
    return advice.some(({ code }) => code === 'replica_written');
  });
  await servers[0].cli('replicaof', 'no', 'one');
  await comes('the store', () => succeeds(store.write({ documents: [rule('r')] })));
  t.equal((await store.load()).documents.length, 1);
});

t.test('a Redis whose memory is full takes nothing, and nothing by halves', async t => {
  const { address, servers } = await startSingle(t);
  const store = await opened(t, placeIn(address));
  await store.replace({ owners: [], documents: [rule('a')] }, null, position(1), []);
  await servers[0].cli('config', 'set', 'maxmemory', '1');
  const change = { documents: [rule('b')], goneDocuments: [rule('a')], events: [event('e', 1)] };
  await t.rejects(commit(store, change, position(1), position(2)), {
    code: 'store_away',
    message: /memory is full/,
  });
  await t.rejects(store.write({ shares: [share('a', 'one')] }), { code: 'store_away' });
  t.strictSame((await store.load()).documents, [rule('a')], 'what is there is still read');
  await servers[0].cli('config', 'set', 'maxmemory', '0');
  t.equal(await commit(store, change, position(1), position(2)), 'kept');
});

t.test('a server that has forgotten its scripts is given them again', async t => {
  const { address, servers } = await startSingle(t);
  const store = await opened(t, placeIn(address));
  await store.write({ documents: [rule('a')], shares: [share('a', 'one')] });
  await servers[0].cli('script', 'flush');
  await store.write({ documents: [rule('b')], shares: [share('b', 'one')] });
  const { documents, shares } = await store.load();
  t.strictSame([documents.length, shares.length], [2, 2]);
});

t.test('a log that was emptied, cut short, or has fallen back has a gap', async t => {
  const { address, servers } = await startSingle(t);
  const place = placeIn(address);
  const store = await opened(t, place);
  const key = `{${place.prefix}}:log`;
  const admin = new Redis(address);
  t.teardown(() => admin.disconnect());
  const enrolled = async (name: string) => {
    await store.enroll([owner(name)]);
    return (await store.state()).lastChange;
  };
  const first = await enrolled('a');
  const before = await admin.dumpBuffer(key);
  const second = await enrolled('b');
  t.equal((await store.changesAfter(first, 9))?.length, 1);

  await admin.restore(key, 0, before ?? '', 'REPLACE');
  t.equal(await store.changesAfter(second, 9), null, 'it has fallen back behind that number');
  await enrolled('c');
  t.equal(await store.changesAfter(second, 9), null, 'and has gone on from there');
  t.equal((await store.changesAfter(first, 9))?.length, 1, 'who was not ahead has missed nothing');

  await admin.xtrim(key, 'MAXLEN', 1);
  t.equal(await store.changesAfter(0, 9), null, 'the first entries are gone');
  await servers[0].cli('flushall');
  t.equal(await store.changesAfter(second, 9), null);
  const { server: _, ...state } = await store.state();
  t.strictSame(state, { position: null, supersedes: [], lastChange: 0 });
});

t.test('of an owner whose last share is gone nothing is left after an hour', async t => {
  const { address, servers } = await startSingle(t);
  const store = await opened(t, placeIn(address));
  const ownerKeys = Array.from({ length: 600 }, (_, at) => `${at}`);
  await store.write({ shares: ownerKeys.map(ownerKey => share(ownerKey, 'one')) });
  await store.write({ goneShares: ownerKeys.slice(1).map(ownerKey => ({ ownerKey, host: 'one' })) });
  t.equal((await store.load()).shares.length, 1);
  const keys = (await servers[0].cli('--scan')).split('\n');
  const ends = await Promise.all(keys.map(async key => Number(await servers[0].cli('pttl', key))));
  const left = keys.filter((_, at) => ends[at] === -1);
  t.equal(left.length, 4, `the share, the list, the log and the order: ${left.join(' ')}`);
  t.ok(ends.every(ms => ms <= 3_600_000));
  const [list] = left.filter(key => key.endsWith(':measured'));
  t.equal(await servers[0].cli('zcard', list ?? ''), '1');

  const [name = '', number = ''] = (
    await servers[0].cli('zrange', list ?? '', '0', '-1', 'withscores')
  ).split('\n');
  const strike = (seen: string) => servers[0].cli('eval', unnote.text, '1', list ?? '', '2', name, seen);
  await strike(String(Number(number) - 1));
  t.equal(await servers[0].cli('zcard', list ?? ''), '1', 'who came again since is not struck off');
  await strike(number);
  t.equal(await servers[0].cli('exists', list ?? ''), '0');
});

t.test('the log does not grow without end', async t => {
  const { address } = await startSingle(t);
  const place = placeIn(address);
  const store = await opened(t, place);
  for (let round = 0; round < 52; round++) {
    const one = (_: unknown, at: number) => store.write({ shares: [share(`${at}`, 'one')] });
    await Promise.all(Array.from({ length: 100 }, one));
  }
  const admin = new Redis(address);
  t.teardown(() => admin.disconnect());
  const length = await admin.xlen(`{${place.prefix}}:log`);
  t.ok(length >= 5000 && length <= 5100, `${length} entries`);
  t.equal(await store.changesAfter(0, 9), null);
});

t.test('a port where something else answers is no Redis', async t => {
  const port = await freePort();
  const store = await opened(t, placeIn(`redis://127.0.0.1:${port}`));
  await t.rejects(store.load(), { code: 'store_away' });
});
