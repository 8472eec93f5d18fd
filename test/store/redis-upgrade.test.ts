/** A Redis that an older softquota has used is taken over, once no daemon of that kind runs any more. */

import { Redis } from 'ioredis';
import t, { type Test } from 'tap';
import { openRedisStore } from '../../src/store/index.ts';
import { examineServer } from '../../src/store/redis/examine.ts';
import { redisKeys } from '../../src/store/redis/keys.ts';
import { until } from '../e2e/ask.ts';
import { owner } from './records.ts';
import { startSingle } from './redis-servers.ts';
import { documentsOf, position, rule, sharesOf } from './shared-place.ts';

const prefix = 'softquota';

/** Redis as 0.1 left it: all keys but those of usage begin with the prefix in braces. */
async function usedBefore(t: Test) {
  const { address } = await startSingle(t);
  const admin = new Redis(address);
  t.teardown(() => admin.disconnect());
  const key = (name: string) => `{${prefix}}:${name}`;
  await admin.hset(key('policy'), 'schema', '1', 'generation', 'g', 'version', '7', 'mark', 'm');
  await admin.hset(key('documents'), 'rule/total', '{"limit":1}');
  const { key: _, ...alice } = owner('alice', { id: 5 });
  await admin.hset(key('owners'), 'alice', JSON.stringify(alice));
  await admin.hset(key('levels'), '5', 'high');
  const text = '{"owner":"alice","path":"a/b"}\nof two lines';
  await admin.hset(
    key('events'),
    'e-1',
    `p0001795000000000 kind=refusal owner-id=5 owner-key=alice\n${text}`,
  );
  await admin.hset(key('events'), 'e-2', 'p0001795000000001 kind=policy\n{}');
  await admin.zadd(key('event-places'), 0, 'all p0001795000000000 e-1');
  await admin.zadd(key('measured'), 9, 'alice');
  await admin.hset(`${prefix}:share:{alice}`, 'git1/size:git:lfs', '5', 'git1/about', '{}');
  await admin.xadd(key('log'), '1-0', 'is', 'policy');
  await admin.hset(key('hosts'), 'git1', '{"seenAt":1,"version":"0.1.0"}');
  return { address, admin, key, text };
}

t.test('policy, owners, events and levels of 0.1 go on, and usage is told anew', async t => {
  const { address, admin, key, text } = await usedBefore(t);
  const store = await openRedisStore({ address, prefix });
  t.teardown(() => store.close());
  t.strictSame((await store.state()).position, { generation: 'g', version: 7, mark: 'm' });
  t.strictSame(await documentsOf(store), [rule('total', '{"limit":1}')]);
  t.strictSame((await store.policy()).policy.owners, [owner('alice', { id: 5 })]);
  t.match(await store.policySince({ version: 7 }), { markThere: 'm', versions: [] });
  const event = { id: 'e-1', kind: 'refusal', at: 1_795_000_000_000, ownerId: 5, ownerKey: 'alice', text };
  t.match(await store.events({ limit: 9 }), [{ id: 'e-2', kind: 'policy', ownerId: null }, event]);
  t.strictSame(await store.levels(), [{ ownerId: 5, text: 'high' }]);
  t.strictSame(await sharesOf(store, 'git1'), []);
  t.equal(await admin.hget(key('policy'), 'schema'), '3', 'so that 0.1 does not go on there');
  const left = (await admin.keys('*')).filter(name => name.includes('{')).sort();
  t.strictSame(left, [key('policy')]);
  const again = await openRedisStore({ address, prefix });
  t.strictSame((await again.state()).position?.version, 7, 'once');
  await again.close();
});

t.test('while a daemon of that kind runs nothing is touched', async t => {
  const { address, admin, key } = await usedBefore(t);
  await admin.set(key('alive:git1'), 'token life 1', 'PX', 60_000);
  await t.rejects(openRedisStore({ address, prefix }), {
    code: 'store_refused',
    message: /an older softquota runs on the host git1, .*Stop it on all hosts/,
  });
  t.equal(await admin.hget(key('policy'), 'schema'), '1');
  await admin.del(key('alive:git1'));
  const store = await openRedisStore({ address, prefix });
  t.equal((await store.state()).position?.version, 7);
  await store.close();
});

t.test(
  'what 0.2 keeps goes on, once its last daemon has stopped, and is refused by 0.2 from then on',
  async t => {
    const { address } = await startSingle(t);
    const admin = new Redis(address);
    t.teardown(() => admin.disconnect());
    const before = await openRedisStore({ address, prefix });
    await before.replace({ owners: [owner('alice')], documents: [rule('r')] }, null, [position(1)], []);
    const claim = { host: 'git 1', token: 'a', life: 'a', version: '0.2.0', begins: 'sure' } as const;
    await before.claim(claim);
    await admin.hset(`${prefix}:policy`, 'schema', '2');
    await t.rejects(openRedisStore({ address, prefix }), {
      code: 'store_refused',
      message: /an older softquota runs on the host git 1, .*Stop it on all hosts/,
    });
    t.equal(await admin.hget(`${prefix}:policy`, 'schema'), '2');
    await before.release(claim);
    await before.close();

    const rights = `%R~${prefix}:policy ~${prefix}:hosts ~${prefix}:alive:* -@all +@hash +@sortedset +@string +@connection +eval +evalsha +info +type +exists`;
    await admin.call('acl', 'setuser', 'measures', 'on', '>x', ...rights.split(' '), `%R~${prefix}:*`);
    const measuring = await openRedisStore({ address: address.replace('://', '://measures:x@'), prefix });
    t.teardown(() => measuring.close());
    await t.rejects(measuring.hosts(), {
      code: 'store_away',
      message: /a host that may change the policy has to start first/,
    });
    t.equal(await admin.hget(`${prefix}:policy`, 'schema'), '2');

    const after = await openRedisStore({ address, prefix });
    t.teardown(() => after.close());
    t.strictSame((await after.state()).position, position(1));
    t.strictSame(await documentsOf(after), [rule('r')]);
    t.equal(await admin.hget(`${prefix}:policy`, 'schema'), '3');
    await until(() => measuring.hosts().catch(() => null));
  },
);

t.test('a host of this version that was faster is none of the older kind', async t => {
  const { address } = await startSingle(t);
  const admin = new Redis(address);
  t.teardown(() => admin.disconnect());
  const other = await openRedisStore({ address, prefix });
  t.teardown(() => other.close());
  await other.replace({ owners: [], documents: [rule('r')] }, null, [position(1)], []);
  const hkeys = admin.hkeys.bind(admin);
  admin.hkeys = async (name: string) => {
    await admin.hset(`${prefix}:policy`, 'schema', '3');
    await other.claim({ host: 'git2', token: 'a', life: 'a', version: '0.3.0', begins: 'sure' });
    return hkeys(name);
  };
  await admin.hset(`${prefix}:policy`, 'schema', '2');
  await examineServer(admin, prefix, redisKeys(prefix), address);
  t.equal(await admin.hget(`${prefix}:policy`, 'schema'), '3');
});
