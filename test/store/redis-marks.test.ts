/** A Cluster that loses what one of its servers had is noticed by every host that said something. */

import t from 'tap';
import { redisKeys, slotOf } from '../../src/store/redis/keys.ts';
import { markTags } from '../../src/store/redis/marks.ts';
import { placeIn } from './redis-places.ts';
import { startCluster } from './redis-servers.ts';
import { opened } from './shared-place.ts';

t.setTimeout(300_000);

t.test('the slot of a key is the one that a Cluster names', async t => {
  const { servers } = await startCluster(t);
  const { policy, news, share, alive, mark, staged } = redisKeys('place');
  const odd = ['a', '{', '{}a', '{a', 'a}{b}', '{a}{b}', '{{a}}', '123456789', 'é', '😀', ''];
  const keys = [policy, news, share('alice'), share('odd {} é'), alive('one'), staged('a', 'spare'), ...odd];
  keys.push(...markTags, ...markTags.map(mark));
  for (const key of keys) {
    t.equal(slotOf(key), Number(await servers[0].cli('cluster', 'keyslot', key)), JSON.stringify(key));
  }
  t.equal(slotOf(policy), slotOf(alive('one')), 'what scripts change together lies in one slot');
});

t.test('a server of a Cluster that loses its data takes marks of every host with it', async t => {
  const { address, servers } = await startCluster(t);
  const place = placeIn(address);
  const store = await opened(t, place);
  const odd = 'odd\ud800 name/{}';

  const slots = await Promise.all(
    markTags.map(async tag =>
      Number(await servers[0].cli('cluster', 'keyslot', `${place.prefix}:mark:{${tag}}`)),
    ),
  );
  t.strictSame(
    slots.map(slot => Math.floor(slot / 256)),
    Array.from({ length: 64 }, (_, part) => part),
    'there is a mark in each 256 slots',
  );

  t.notOk(await store.isMarked('one', 'first'));
  for (const host of ['one', odd]) await store.mark(host, 'first');
  t.strictSame([await store.isMarked('one', 'first'), await store.isMarked(odd, 'first')], [true, true]);
  t.notOk(await store.isMarked('one', 'second'), 'another mark is none');
  for (const master of servers.slice(0, 3)) {
    await master.cli('flushall');
    t.strictSame([await store.isMarked('one', 'first'), await store.isMarked(odd, 'first')], [false, false]);
    await store.mark('one', 'first');
    t.ok(await store.isMarked('one', 'first'));
    t.notOk(await store.isMarked(odd, 'first'), 'one host does not tell for another');
    await store.mark(odd, 'first');
  }
  await store.claim({ host: odd, token: 'a', life: 'a', version: '1', isHeld: true });
  await store.release({ host: odd, token: 'a', life: 'a', version: '1' });
  await store.forgetHost(odd);
  t.notOk(await store.isMarked(odd, 'first'), 'one that is forgotten leaves none');
  t.ok(await store.isMarked('one', 'first'));
});
