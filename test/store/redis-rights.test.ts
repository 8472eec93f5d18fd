/** Access to Redis, the rights that a role needs, and what its administrator should change. */

import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import t from 'tap';
import { openRedisStore } from '../../src/store/index.ts';
import { until } from '../e2e/ask.ts';
import { Passage } from '../e2e/passage.ts';
import { event, owner, share } from './records.ts';
import { measuringKeys, placeIn, policyKeys, questions } from './redis-places.ts';
import { startSentinels, startSingle } from './redis-servers.ts';
import { commit, documentsOf, opened, position, put, rule, sharesOf, tell } from './shared-place.ts';

t.setTimeout(300_000);

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
  t.strictSame((await store.policy()).policy.owners, []);
});

t.test('an address with TLS of a server without it is told as that', async t => {
  const { address } = await startSingle(t);
  const store = await opened(t, placeIn(address.replace('redis:', 'rediss:')));
  await t.rejects(store.policy(), { code: 'store_away', message: /rediss:\/\/ needs the tls-port/ });
});

t.test('who measures only needs no right to change the policy', async t => {
  const { address, servers } = await startSingle(t);
  const place = placeIn(address);
  const keys = `~${place.prefix}:*`;
  const commands =
    '+info +type +exists +time +eval +evalsha +hget +hmget +hgetall +hscan +hlen +hexists +hset +hdel +hincrby ' +
    '+zadd +zrem +zcard +zrange +zrangebyscore +zrevrangebyscore +zremrangebyrank +get +set +del +unlink ' +
    '+publish +subscribe';
  const onlyRead = policyKeys.map(name => `%R~${place.prefix}:${name}`).join(' ');
  const written = [...measuringKeys, 'usage:*', 'alive:*', 'task:*']
    .map(name => `~${place.prefix}:${name}`)
    .join(' ');
  const user = (name: string, rights: string) =>
    servers[0].cli(
      'acl',
      'setuser',
      name,
      'on',
      '>x',
      `&${place.prefix}:news`,
      `&${place.prefix}:said`,
      ...rights.split(' '),
    );
  await user('measures', `${onlyRead} ${written} ${commands}`);
  await user('administers', `${keys} ${commands} +rename +pexpire +persist +wait`);
  const as = (name: string) => placeIn(address.replace('redis://', `redis://${name}:x@`), place.prefix);
  const administering = await opened(t, as('administers'));
  await administering.replace({ owners: [], documents: [rule('r')] }, null, [position(1)], []);
  await commit(administering, { documents: [rule('s')] }, position(1), position(2));

  const measuring = await opened(t, as('measures'));
  const claim = { host: 'one', token: 'a', life: 'a', version: '1', begins: 'sure' } as const;
  t.equal(await measuring.claim(claim), 'kept');
  const told = new EventTarget();
  measuring.follow({ changed: () => told.dispatchEvent(new Event('told')), said: () => {} });
  await once(told, 'told');
  t.equal(await tell(measuring, 'one', [share('a', 'one')], ['b']), 'kept');
  await measuring.write({ events: [event('e', 1)], levels: [{ ownerId: 1, text: '' }], goneEventsBefore: 0 });
  t.strictSame([(await documentsOf(measuring)).length, (await sharesOf(measuring, 'one')).length], [2, 1]);
  t.match(await measuring.policySince({ version: 1 }), { change: { documents: [rule('s')] } });
  t.equal((await measuring.usageAfter('one', -1)).shares.length, 2);
  t.equal((await measuring.largestUnits('a', ['one'])).size, 1);
  t.equal(await measuring.takeTask('tell', 'one'), false, 'it could not write what it decides');
  t.equal(await administering.takeTask('tell', 'two'), true);
  t.equal((await measuring.hosts()).length, 1);
  await measuring.say('{}');
  await measuring.release(claim);
  await measuring.forgetHost('one');
  await measuring.advice();
  await administering.writeVolatile({ documents: [{ kind: 'session', key: 'a', text: '{}' }] });
  t.equal((await measuring.volatile()).length, 1);
  t.equal((await measuring.volatileAfter(0))?.length, 1);
  for (const name of ['commit', 'replace', 'writeVolatile']) {
    await t.rejects(questions[name]?.(measuring) ?? Promise.resolve(), { code: 'store_refused' }, name);
  }
  t.strictSame((await administering.state()).position, position(2));
});

t.test('a right to the channel that is missing is told until it is there', async t => {
  const { address, servers } = await startSingle(t);
  await servers[0].cli('acl', 'setuser', 'deaf', 'on', '>x', '~*', 'resetchannels', '+@all');
  const place = placeIn(address.replace('redis://', 'redis://deaf:x@'));
  const store = await opened(t, place);
  store.follow({ changed: () => {}, said: () => {} });
  const told = async () => (await store.advice()).find(({ code }) => code === 'no_messages') ?? null;
  const { message, mend } = await until(told);
  t.match(message, /^changes of other hosts are seen a second later: .*NOPERM.*docs\/redis.md/);
  const [, command = ''] = /^ACL (SETUSER NAME .*) \(NAME/.exec(mend) ?? [];
  await servers[0].cli('acl', ...command.replace('NAME', 'deaf').split(' '));
  await until(async () => (await told()) === null || null);
});

t.test('a right that is missing leaves no half of a policy', async t => {
  const { address, servers } = await startSingle(t);
  const place = placeIn(address);
  const store = await opened(t, place);
  const policy = { owners: [owner('a')], documents: [rule('r')] };
  await store.replace(policy, null, [position(1)], []);
  for (const right of ['unlink', 'rename', 'persist', 'hset']) {
    await servers[0].cli('acl', 'setuser', right, 'on', '>x', '~*', '&*', '+@all', `-${right}`);
    const as = placeIn(address.replace('redis://', `redis://${right}:x@`), place.prefix);
    const hampered = await opened(t, as);
    const others = [
      { owners: [], documents: [] },
      { owners: [owner('b')], documents: [rule('s')] },
    ];
    for (const other of others) {
      await t.rejects(hampered.replace(other, position(1), [position(2)], []), right);
      const { state, policy: kept } = await store.policy();
      t.strictSame([state.position, kept], [position(1), policy], right);
    }
  }
});

t.test('the rights that the manual names are all that a master with replicas needs', async t => {
  const manual = await readFile(new URL('../../docs/redis.md', import.meta.url), 'utf8');
  const [, rights = ''] = /^user softquota on >CHANGE-THIS (.*)$/m.exec(manual) ?? [];
  const { address, servers } = await startSentinels(t);
  const user = ['acl', 'setuser', 'softquota', 'on', '>x', ...rights.split(' ')];
  for (const server of servers) t.equal(await server.cli(...user), 'OK');
  const as = placeIn(address.replace('://', '://softquota:x@'), 'softquota');
  const store = await opened(t, as, { waitReplicas: 1 });
  t.equal(await store.replace({ owners: [], documents: [rule('r')] }, null, [position(1)], []), 'kept');
  t.equal(await commit(store, { documents: [rule('s')] }, position(1), position(2)), 'kept');
  await tell(store, 'one', [share('a', 'one')]);
  t.equal((await documentsOf(store)).length, 2);

  for (const server of servers) await server.cli('acl', 'setuser', 'softquota', '-wait');
  await t.rejects(commit(store, { documents: [rule('t')] }, position(2), position(3)), {
    code: 'store_away',
    message: /the change was made, but only 0 of 1 replicas/,
  });
  t.equal((await documentsOf(store)).length, 3, 'whether replicas acknowledge it changes nothing in it');
});

t.test('Sentinels that want the password of the store are given it', async t => {
  const { address } = await startSentinels(t, 'p@ss');
  t.match(address, 'redis+sentinel://:p%40ss@');
  const store = await opened(t, placeIn(address));
  await put(store, [rule('r')]);
  t.equal((await documentsOf(store)).length, 1);
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
  const { address, servers } = await startSingle(t);
  const passage = await Passage.to(t, servers[0].port);
  const [version = ''] = /(?<=redis_version:)\d+/.exec(await servers[0].cli('info', 'server')) ?? [];
  passage.become({
    does: 'says',
    of: `redis_version:${version}.`,
    instead: `redis_version:${'5'.padStart(version.length, '0')}.`,
  });
  const aged = await opened(t, placeIn(`redis://127.0.0.1:${passage.port}/0`));
  t.match(await aged.advice(), [
    { code: 'too_old', message: /is version 0*5\.\d.*7\.0 and later/, mend: 'update it to 7.0 or later' },
  ]);
  const careful = await opened(t, placeIn(address));
  t.strictSame(await careful.advice(), []);
  const { now } = Date;
  for (const [ms, message] of [
    [5500, /^the clock of this host is \d s ahead of that of Redis at/],
    [-7000, /^the clock of this host is \d s behind that of Redis at/],
  ] as const) {
    t.intercept(Date, 'now', { value: () => now() + ms });
    t.match(await careful.advice(), [{ code: 'clock_differs', message }]);
  }
  t.intercept(Date, 'now', { value: now });
  // An address of this host that is none of the loopback's names looks like another host's.
  const open = await opened(t, placeIn(address.replace('127.0.0.1', '0.0.0.0')));
  t.strictSame(
    (await open.advice()).map(({ code }) => code),
    ['no_password'],
  );
});
