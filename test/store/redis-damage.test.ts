/** Values in Redis that this softquota did not write: refused by name, and left as they are. */

import { Redis } from 'ioredis';
import t from 'tap';
import { openRedisStore } from '../../src/store/index.ts';
import { event, share } from './records.ts';
import { measuringKeys, placeIn, policyKeys, questions } from './redis-places.ts';
import { startSingle } from './redis-servers.ts';
import { documentsOf, opened, position, put, rule, sharesOf, tell } from './shared-place.ts';

t.setTimeout(300_000);

t.test('what a newer softquota keeps is not touched', async t => {
  const { address, servers } = await startSingle(t);
  const place = placeIn(address);
  const store = await opened(t, place);
  await store.replace({ owners: [], documents: [rule('a')] }, null, [position(1)], []);
  // Daemons that were there before: each finds out by its own question.
  const policyQuestions = ['state', 'policy', 'commit', 'replace'];
  const unaware = await Promise.all(
    policyQuestions.map(async name => [name, await opened(t, place)] as const),
  );
  await servers[0].cli('hset', `${place.prefix}:policy`, 'schema', '4');
  await store.state().catch(() => undefined);
  const refused = { code: 'store_refused', message: /newer softquota.*schema 4/ };
  await t.rejects(openRedisStore({ address, prefix: place.prefix }), refused);
  for (const [name, store] of unaware) {
    await t.rejects(questions[name]?.(store) ?? Promise.resolve(), refused, `${name}, at the first look`);
  }
  for (const [name, ask] of Object.entries(questions)) await t.rejects(ask(store), refused, name);
  await servers[0].cli('hset', `${place.prefix}:policy`, 'schema', '3');
  t.strictSame(await documentsOf(store), [rule('a')], 'once it is as before it is read again');
});

t.test('what another program keeps under the prefix is not touched', async t => {
  const { address, servers } = await startSingle(t);
  for (const name of [...policyKeys, ...measuringKeys, 'usage:one', 'usage:one:changes']) {
    const place = placeIn(address);
    const store = await opened(t, place);
    const key = `${place.prefix}:${name}`;
    await servers[0].cli('set', key, 'mine');
    const refused = { code: 'store_refused', message: new RegExp(`the key .*:${name} `) };
    if (!name.startsWith('usage:')) {
      await t.rejects(openRedisStore({ address, prefix: place.prefix }), refused, key);
    }
    const asked = Object.values(questions).map(ask => ask(store).catch((error: unknown) => error));
    const faults = (await Promise.all(asked)).filter(answer => answer instanceof Error && 'code' in answer);
    t.ok(
      faults.some(({ code }) => code === 'store_refused'),
      key,
    );
    t.equal(await servers[0].cli('get', key), 'mine');
  }
});

t.test('a value that softquota did not write is refused by its key, not guessed', async t => {
  const { address } = await startSingle(t);
  const admin = new Redis(address);
  t.teardown(() => admin.disconnect());
  const damages: Readonly<Record<string, readonly [question: string, key: string, ...fields: string[]]>> = {
    'an owner that is no JSON': ['policy', 'owners', 'a', '{'],
    'an owner without a number': ['policy', 'owners', 'a', '{"name":"a","type":"user","since":1}'],
    'an owner under no name': ['policy', 'owners', 'a b', '{"id":1,"name":"a","type":"user","since":1}'],
    'a document under no name': ['policy', 'documents', 'rule/a b', '{}'],
    'a version that is none': ['state', 'policy', 'version', 'x'],
    'half an event': ['events', 'events', 'e', 'x'],
    'a usage of no owner': ['usage', 'usage:one', 'a b', 'units=1'],
    'a usage of nothing': ['usage', 'usage:one', 'a', 'x'],
    'a usage below 0': ['usage', 'usage:one', 'a', 'git:lfs=-1 units=1'],
    'a usage that is no number': ['usage', 'usage:one', 'a', 'git:lfs=1e3 units=1'],
    'a usage of no kind of data': ['usage', 'usage:one', 'a', 'all=1 units=1'],
    'largest units that are none': ['largestUnits', 'usage:one:largest', 'a', '[{}]'],
    'a level of nobody': ['levels', 'levels', 'x', 'x'],
    'a host that is none': ['hosts', 'hosts', 'x', '{}'],
  };
  for (const [what, [question, name, ...fields]] of Object.entries(damages)) {
    const place = placeIn(address);
    const store = await opened(t, place);
    await put(store, [rule('r')]);
    await store.write({ events: [event('e', 1)] });
    await admin.hset(`${place.prefix}:${name}`, ...fields);
    const refused = { code: 'store_refused', message: new RegExp(`${place.prefix}:${name} `) };
    await t.rejects(questions[question]?.(store) ?? Promise.resolve(), refused, what);
  }
});

t.test('prefixes keep stores apart, and what cannot be one is refused', async t => {
  const { address } = await startSingle(t);
  const prefixes = ['-', '_', 'soft', 'soft-quota', 'soft-quota_2', 'A', 'a', '0'];
  const stores = await Promise.all(prefixes.map(prefix => opened(t, placeIn(address, prefix))));
  await Promise.all(
    stores.map(async (store, at) => {
      await put(store, [rule(`${at}`)]);
      await tell(store, 'one', [share('a', 'one', { units: at })]);
    }),
  );
  for (const [at, store] of stores.entries()) {
    t.strictSame(await documentsOf(store), [rule(`${at}`)]);
    t.strictSame(await sharesOf(store, 'one'), [share('a', 'one', { units: at })]);
  }
  for (const prefix of ['', 'a b', 'a{b}', 'a:b', 'é', 'a\n']) {
    await t.rejects(openRedisStore({ address, prefix }), { code: 'configuration' }, JSON.stringify(prefix));
  }
});

t.test('an address that is none is refused without being shown', async t => {
  for (const address of ['http://:geheim@a', 'redis://:geheim%@a', 'redis://', '', `redis://a:geheim@[::1`]) {
    const fault: unknown = await openRedisStore({ address, prefix: 'a' }).catch((error: unknown) => error);
    t.match(fault, { code: 'configuration' }, address);
    t.notMatch(String(fault), /geheim/);
  }
});
