/** What the shared store does when Redis is away, full, emptied, read-only, fallen back, or holds what it should not. */

import { once } from 'node:events';
import { Redis } from 'ioredis';
import t, { type Test } from 'tap';
import { openRedisStore, type SharedStore } from '../../src/store/index.ts';
import { freePort } from '../e2e/transports.ts';
import { event, owner, share } from './records.ts';
import { comes, type Server, startCluster, startSentinels, startSingle } from './redis-servers.ts';
import { opened, position, rule, type SharedPlace } from './shared-contract.ts';

t.setTimeout(300_000);

let prefixes = 0;

function placeIn(address: string, prefix = `place-${++prefixes}`): SharedPlace {
  return { prefix, open: settings => openRedisStore({ address, prefix, ...settings }) };
}

/** Everything that a store is asked. */
const questions: Readonly<Record<string, (store: SharedStore) => Promise<unknown>>> = {
  load: store => store.load(),
  events: store => store.events({ limit: 1 }),
  levels: store => store.levels(),
  'write of policy': store => store.write({ documents: [rule('r')] }),
  'write of events': store => store.write({ events: [event('e', 1)] }),
  'write of shares': store => store.write({ shares: [share('a', 'one')] }),
  state: store => store.state(),
  policy: store => store.policy(),
  govern: store => store.govern({}, position(1), position(2)),
  replace: store => store.replace({ owners: [], documents: [] }, null, position(1), []),
  enroll: store => store.enroll([owner('a')]),
  changesAfter: store => store.changesAfter(0, 1),
  sharesOf: store => store.sharesOf(['a']),
  claim: store => store.claim({ host: 'a', token: 'a', life: 'a', version: '1' }),
  release: store => store.release({ host: 'a', token: 'a', life: 'a', version: '1' }),
  hosts: store => store.hosts(),
  forgetHost: store => store.forgetHost('never there'),
  advice: store => store.advice(),
};

/** All at once, each within two seconds. */
async function allAway(t: Test, store: SharedStore): Promise<void> {
  const started = performance.now();
  await Promise.all(
    Object.entries(questions).map(([name, ask]) => t.rejects(ask(store), { code: 'store_away' }, name)),
  );
  t.ok(performance.now() - started < 2000, 'within two seconds');
}

/** Resolves when the store answers again, by itself. */
async function isBack(store: SharedStore): Promise<void> {
  await comes('the store', () => succeeds(store.state()));
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
  const started = performance.now();
  const store = await opened(t, placeIn(`redis://127.0.0.1:${server.port}`), { log });
  t.ok(performance.now() - started < 2000);
  await allAway(t, store);
  const asked = performance.now();
  await t.rejects(store.state(), { code: 'store_away', message: /ECONNREFUSED/ });
  t.ok(performance.now() - asked < 200, 'nobody waits for what is known to be away');
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
  servers[0].halt();
  await allAway(t, store);
  servers[0].go();
  await isBack(store);
  await store.enroll([owner('a')]);
});

t.test('closing ends within two seconds while Redis hangs', async t => {
  const { address, servers } = await startSingle(t);
  const store = await opened(t, placeIn(address));
  servers[0].halt();
  const write = t.rejects(store.write({ documents: [rule('r')] }), { code: 'store_away' });
  const started = performance.now();
  await store.close();
  t.ok(performance.now() - started < 2000);
  await write;
  servers[0].go();
});

t.test('a Redis that has become a replica takes nothing, until it is a master again', async t => {
  const { address, servers } = await startSingle(t);
  const store = await opened(t, placeIn(address));
  const other = await startSingle(t);
  await servers[0].cli('replicaof', '127.0.0.1', String(other.servers[0].port));
  await t.rejects(store.write({ documents: [rule('r')] }), { code: 'store_away' });
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
  await t.rejects(store.govern(change, position(1), position(2)), {
    code: 'store_away',
    message: /memory is full/,
  });
  await t.rejects(store.write({ shares: [share('a', 'one')] }), { code: 'store_away' });
  t.strictSame((await store.load()).documents, [rule('a')], 'what is there is still read');
  await servers[0].cli('config', 'set', 'maxmemory', '0');
  t.equal(await store.govern(change, position(1), position(2)), 'kept');
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
  t.strictSame(await store.state(), { position: null, supersedes: [], lastChange: 0 });
});

t.test('of an owner whose last share is gone nothing is left', async t => {
  const { address, servers } = await startSingle(t);
  const store = await opened(t, placeIn(address));
  const ownerKeys = Array.from({ length: 600 }, (_, at) => `${at}`);
  await store.write({ shares: ownerKeys.map(ownerKey => share(ownerKey, 'one')) });
  await store.write({ goneShares: ownerKeys.slice(1).map(ownerKey => ({ ownerKey, host: 'one' })) });
  t.equal((await store.load()).shares.length, 1);
  const left = (await servers[0].cli('--scan')).split('\n');
  t.equal(left.length, 3, `the share, the list and the log: ${left.join(' ')}`);
  const [list] = left.filter(key => key.endsWith(':measured'));
  t.equal(await servers[0].cli('zcard', list ?? ''), '1');
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

t.test('what a newer softquota keeps is not touched', async t => {
  const { address, servers } = await startSingle(t);
  const place = placeIn(address);
  const store = await opened(t, place);
  await store.replace({ owners: [], documents: [rule('a')] }, null, position(1), []);
  await servers[0].cli('hset', `{${place.prefix}}:policy`, 'schema', '2');
  const refused = { code: 'store_refused', message: /newer softquota.*schema 2/ };
  await t.rejects(openRedisStore({ address, prefix: place.prefix }), refused);
  for (const name of [
    'state',
    'policy',
    'load',
    'changesAfter',
    'govern',
    'replace',
    'write of policy',
    'enroll',
  ]) {
    await t.rejects(questions[name]?.(store) ?? Promise.resolve(), refused, name);
  }
  await servers[0].cli('hset', `{${place.prefix}}:policy`, 'schema', '1');
  t.strictSame((await store.load()).documents, [rule('a')], 'once it is as before it is read again');
});

t.test('what another program keeps under the prefix is not touched', async t => {
  const { address, servers } = await startSingle(t);
  const names = [
    'policy',
    'documents',
    'owners',
    'events',
    'event-places',
    'levels',
    'measured',
    'log',
    'hosts',
  ];
  for (const name of names) {
    const place = placeIn(address);
    const store = await opened(t, place);
    const key = `{${place.prefix}}:${name}`;
    await servers[0].cli('set', key, 'mine');
    const refused = { code: 'store_refused', message: new RegExp(`the key \\{.*\\}:${name} `) };
    await t.rejects(openRedisStore({ address, prefix: place.prefix }), refused, key);
    const asked = Object.values(questions).map(ask => ask(store).catch((error: unknown) => error));
    const faults = (await Promise.all(asked)).filter(answer => answer instanceof Error && 'code' in answer);
    t.ok(
      faults.some(({ code }) => code === 'store_refused'),
      key,
    );
    t.equal(await servers[0].cli('get', key), 'mine');
  }
  const place = placeIn(address);
  const store = await opened(t, place);
  await servers[0].cli('set', `${place.prefix}:share:{a}`, 'mine');
  await t.rejects(store.write({ shares: [share('a', 'one')] }), {
    code: 'store_refused',
    message: new RegExp(`${place.prefix}:share:\\{a\\}`),
  });
});

t.test('a value that softquota did not write is refused by its key, not guessed', async t => {
  const { address } = await startSingle(t);
  const admin = new Redis(address);
  t.teardown(() => admin.disconnect());
  const damages: Readonly<Record<string, readonly [question: string, key: string, ...fields: string[]]>> = {
    'an owner that is no JSON': ['load', 'owners', 'a', '{'],
    'an owner without a number': ['load', 'owners', 'a', '{"name":"a","type":"user","since":1}'],
    'an owner under no name': ['load', 'owners', 'a b', '{"id":1,"name":"a","type":"user","since":1}'],
    'a document under no name': ['policy', 'documents', 'rule', '{}'],
    'a version that is none': ['state', 'policy', 'version', 'x'],
    'half an event': ['events', 'events', 'e', 'x'],
    'a level of nobody': ['levels', 'levels', 'x', 'x'],
    'a host that is none': ['hosts', 'hosts', 'x', '{}'],
  };
  for (const [what, [question, name, ...fields]] of Object.entries(damages)) {
    const place = placeIn(address);
    const store = await opened(t, place);
    await store.write({ documents: [rule('r')], events: [event('e', 1)] });
    await admin.hset(`{${place.prefix}}:${name}`, ...fields);
    const refused = { code: 'store_refused', message: new RegExp(`\\{${place.prefix}\\}:${name} `) };
    await t.rejects(questions[question]?.(store) ?? Promise.resolve(), refused, what);
  }
  for (const [field, value] of [
    ['one/size:git:lfs', '-1'],
    ['one/size:git:lfs', '1e3'],
    ['one/size:all', '1'],
    ['one/about', '{}'],
    ['two/size:git:lfs', '1'],
  ] as const) {
    const place = placeIn(address);
    const store = await opened(t, place);
    await store.write({ shares: [share('a', 'one')] });
    await admin.hset(`${place.prefix}:share:{a}`, field, value);
    const refused = { code: 'store_refused', message: new RegExp(`${place.prefix}:share:\\{a\\}`) };
    await t.rejects(store.load(), refused, `${field} ${value}`);
  }
});

t.test('prefixes keep stores apart, and what cannot be one is refused', async t => {
  const { address } = await startSingle(t);
  const prefixes = ['-', '_', 'soft', 'soft-quota', 'soft-quota_2', 'A', 'a', '0'];
  const stores = await Promise.all(prefixes.map(prefix => opened(t, placeIn(address, prefix))));
  await Promise.all(
    stores.map((store, at) => store.write({ documents: [rule(`${at}`)], shares: [share('a', `${at}`)] })),
  );
  for (const [at, store] of stores.entries()) {
    const { documents, shares } = await store.load();
    t.strictSame([documents, shares], [[rule(`${at}`)], [share('a', `${at}`)]]);
  }
  for (const prefix of ['', 'a b', 'a{b}', 'a:b', 'é', 'a\n']) {
    await t.rejects(openRedisStore({ address, prefix }), { code: 'configuration' }, JSON.stringify(prefix));
  }
});

t.test(
  'a change that too few replicas have is not acknowledged, and said to be in force perhaps',
  async t => {
    const { address, servers } = await startSingle(t);
    const place = placeIn(address);
    const store = await opened(t, place, { waitReplicas: 1 });
    const started = performance.now();
    await t.rejects(store.replace({ owners: [], documents: [] }, null, position(1), []), {
      code: 'store_away',
      message: /only 0 of 1 replicas.*may be in force all the same/,
    });
    t.ok(performance.now() - started < 2000);
    t.strictSame((await store.state()).position, position(1));
    t.ok((await store.advice()).some(({ code }) => code === 'not_durable_enough'));
    const replica = await startSingle(t, '--replicaof', '127.0.0.1', String(servers[0].port));
    await comes('the replica', async () =>
      (await servers[0].cli('info', 'replication')).includes('state=online'),
    );
    t.equal(await store.govern({ documents: [rule('a')] }, position(1), position(2)), 'kept');
    t.equal(await store.govern({ documents: [rule('a')] }, position(1), position(2)), 'behind');
    const read = await opened(t, placeIn(replica.address, place.prefix));
    t.strictSame((await read.state()).position, position(2), 'the replica has what was acknowledged');
  },
);

t.test('who is not let in is told so', async t => {
  const { address, servers } = await startSingle(t, '--requirepass', 'secret/1');
  const at = `127.0.0.1:${servers[0].port}`;
  for (const wrong of [address, `redis://:wrong@${at}`, `redis://nobody:secret%2F1@${at}`]) {
    await t.rejects(
      openRedisStore({ address: wrong, prefix: 'a' }),
      { code: 'store_refused', message: /HOST/ },
      wrong,
    );
  }
  const store = await opened(t, placeIn(`redis://:secret%2F1@${at}`));
  t.strictSame((await store.load()).owners, []);
});

t.test('who measures only needs no right to change the policy', async t => {
  const { address, servers } = await startSingle(t);
  const place = placeIn(address);
  const keys = `~{${place.prefix}}:* ~${place.prefix}:share:*`;
  const commands =
    '+info +multi +exec +type +exists +time +eval +evalsha +hget +hmget +hgetall +hlen +hexists +hset +hdel +zadd +zrem ' +
    '+zrange +zrangebylex +zrevrangebylex +zscore +xadd +xrange +xrevrange +get +set +del +publish +subscribe';
  const onlyRead = ['policy', 'documents'].map(name => `%R~{${place.prefix}}:${name}`).join(' ');
  const written = ['owners', 'events', 'event-places', 'levels', 'measured', 'log', 'hosts', 'alive:*']
    .map(name => `~{${place.prefix}}:${name}`)
    .join(' ');
  const user = (name: string, rights: string) =>
    servers[0].cli('acl', 'setuser', name, 'on', '>x', `&{${place.prefix}}:news`, ...rights.split(' '));
  await user('measures', `${onlyRead} ${written} ~${place.prefix}:share:* ${commands}`);
  await user('governs', `${keys} ${commands} +unlink +rename +pexpire +persist +wait`);
  const as = (name: string) => placeIn(address.replace('redis://', `redis://${name}:x@`), place.prefix);
  const governing = await opened(t, as('governs'));
  await governing.replace({ owners: [], documents: [rule('r')] }, null, position(1), []);
  await governing.govern({ documents: [rule('s')] }, position(1), position(2));

  const measuring = await opened(t, as('measures'));
  const claim = { host: 'one', token: 'a', life: 'a', version: '1' };
  t.equal(await measuring.claim(claim), true);
  const told = new EventTarget();
  measuring.follow(() => told.dispatchEvent(new Event('told')));
  await once(told, 'told');
  await measuring.enroll([owner('a')]);
  await measuring.write({ shares: [share('a', 'one')], goneShares: [{ ownerKey: 'b', host: 'one' }] });
  await measuring.write({ events: [event('e', 1)], levels: [{ ownerId: 1, text: '' }], goneEventsBefore: 0 });
  const { documents, shares } = await measuring.load();
  t.strictSame([documents.length, shares.length], [2, 1]);
  t.equal((await measuring.changesAfter((await measuring.state()).lastChange, 1))?.length, 0);
  t.equal((await measuring.hosts()).length, 1);
  await measuring.release(claim);
  await measuring.advice();
  for (const name of ['govern', 'replace', 'write of policy']) {
    await t.rejects(questions[name]?.(measuring) ?? Promise.resolve(), { code: 'store_refused' }, name);
  }
  t.strictSame((await governing.state()).position, position(2));
});

t.test('Sentinels that want the password of the store are given it', async t => {
  const { address } = await startSentinels(t, 'p@ss');
  t.match(address, 'redis+sentinel://:p%40ss@');
  const store = await opened(t, placeIn(address));
  await store.write({ documents: [rule('r')] });
  t.equal((await store.load()).documents.length, 1);
});

t.test('advice names what is amiss, and the line that mends it', async t => {
  const settings = ['--appendonly', 'no', '--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'];
  const careless = await opened(t, placeIn((await startSingle(t, ...settings)).address));
  t.strictSame(
    (await careless.advice()).map(({ code, mend }) => [code, mend]),
    [
      ['no_append_only', 'appendonly yes'],
      ['evicts', 'maxmemory-policy noeviction'],
    ],
  );
  const hasty = await opened(t, placeIn((await startSingle(t, '--appendfsync', 'no')).address));
  t.strictSame(
    (await hasty.advice()).map(({ code, mend }) => [code, mend]),
    [['not_durable_enough', 'appendfsync everysec']],
  );
  const { address } = await startSingle(t);
  const careful = await opened(t, placeIn(address));
  t.strictSame(await careful.advice(), []);
  // As from another machine: an address of this one that is none of the loopback's names.
  const open = await opened(t, placeIn(address.replace('127.0.0.1', '0.0.0.0')));
  t.strictSame(
    (await open.advice()).map(({ code }) => code),
    ['no_password'],
  );
});

t.test('an address that is none is refused without being shown', async t => {
  for (const address of ['http://:geheim@a', 'redis://:geheim%@a', 'redis://', '', `redis://a:geheim@[::1`]) {
    const fault: unknown = await openRedisStore({ address, prefix: 'a' }).catch((error: unknown) => error);
    t.match(fault, { code: 'configuration' }, address);
    t.notMatch(String(fault), /geheim/);
  }
});

/** Loses a master that had a change acknowledged by a replica, and goes on at the replica. */
async function survives(t: Test, place: SharedPlace, lost: Server): Promise<void> {
  const careful = await opened(t, place, { waitReplicas: 1 });
  const store = await opened(t, place);
  await careful.replace({ owners: [owner('a')], documents: [rule('r')] }, null, position(1), []);
  t.equal(await careful.govern({ documents: [rule('s')] }, position(1), position(2)), 'kept');
  const told = new EventTarget();
  const first = once(told, 'told');
  store.follow(() => told.dispatchEvent(new Event('told')));
  await first;
  const again = once(told, 'told');
  await lost.end('SIGKILL');
  const killed = performance.now();
  await comes('a change', () => succeeds(store.write({ documents: [rule('after')] })));
  t.comment(`took a change again after ${Math.round(performance.now() - killed)} ms`);
  await again;
  await comes('all of it', () => succeeds(store.load()));
  const documents = (await store.load()).documents.map(({ key }) => key).toSorted();
  t.strictSame(documents, ['after', 'r', 's']);
  await store.enroll([owner('new')]);
  await store.write({ shares: Array.from({ length: 50 }, (_, at) => share(`owner-${at}`, 'one')) });
  t.equal((await store.load()).shares.length, 50);
}

const succeeds = (asked: Promise<unknown>): Promise<boolean> =>
  asked.then(
    () => true,
    () => false,
  );

t.test('when the master is lost, the Sentinels name another, and the store goes on there', async t => {
  const watched = await startSentinels(t);
  await survives(t, placeIn(watched.address), await watched.master());
});

t.test(
  'when a master of a Cluster is lost, its replica takes its place, and the store goes on there',
  async t => {
    const { address, servers } = await startCluster(t);
    const tooMany = await opened(t, placeIn(address), { waitReplicas: 2 });
    await t.rejects(tooMany.write({ documents: [rule('r')] }), {
      code: 'store_away',
      message: /only 1 of 2/,
    });
    const place = placeIn(address);
    const asked = await servers[0].cli('hget', `{${place.prefix}}:policy`, 'schema');
    const [, port] = /MOVED \d+ [\d.]+:(\d+)/.exec(asked) ?? [];
    await survives(t, place, servers.find(server => String(server.port) === port) ?? servers[0]);
  },
);

t.test('a port where something else answers is no Redis', async t => {
  const port = await freePort();
  const store = await opened(t, placeIn(`redis://127.0.0.1:${port}`));
  await t.rejects(store.load(), { code: 'store_away' });
});
