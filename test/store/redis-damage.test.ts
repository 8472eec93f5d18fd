/** Values in Redis that this softquota did not write: refused by name, and left as they are. */

import { Redis } from 'ioredis';
import t from 'tap';
import { openRedisStore } from '../../src/store/index.ts';
import { event, share } from './records.ts';
import { placeIn, questions, usageKeys } from './redis-places.ts';
import { startSingle } from './redis-servers.ts';
import { opened, position, rule } from './shared-place.ts';

t.setTimeout(300_000);

t.test('what a newer softquota keeps is not touched', async t => {
  const { address, servers } = await startSingle(t);
  const place = placeIn(address);
  const store = await opened(t, place);
  await store.replace({ owners: [], documents: [rule('a')] }, null, position(1), []);
  // Daemons that were there before: each finds out by its own question.
  const policyQuestions = ['state', 'policy', 'load', 'changesAfter', 'commit', 'replace', 'write of policy'];
  const unaware = await Promise.all(
    policyQuestions.map(async name => [name, await opened(t, place)] as const),
  );
  await servers[0].cli('hset', `{${place.prefix}}:policy`, 'schema', '2');
  await store.state().catch(() => undefined);
  const refused = { code: 'store_refused', message: /newer softquota.*schema 2/ };
  await t.rejects(openRedisStore({ address, prefix: place.prefix }), refused);
  for (const [name, store] of unaware) {
    await t.rejects(questions[name]?.(store) ?? Promise.resolve(), refused, `${name}, at the first look`);
  }
  for (const [name, ask] of Object.entries(questions)) await t.rejects(ask(store), refused, name);
  await servers[0].cli('hset', `{${place.prefix}}:policy`, 'schema', '1');
  t.strictSame((await store.load()).documents, [rule('a')], 'once it is as before it is read again');
});

t.test('what another program keeps under the prefix is not touched', async t => {
  const { address, servers } = await startSingle(t);
  for (const name of ['policy', 'documents', 'volatile', 'walkers', ...usageKeys]) {
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

t.test('an address that is none is refused without being shown', async t => {
  for (const address of ['http://:geheim@a', 'redis://:geheim%@a', 'redis://', '', `redis://a:geheim@[::1`]) {
    const fault: unknown = await openRedisStore({ address, prefix: 'a' }).catch((error: unknown) => error);
    t.match(fault, { code: 'configuration' }, address);
    t.notMatch(String(fault), /geheim/);
  }
});
