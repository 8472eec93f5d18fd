/**
 * Replicas: who must have a change before it is acknowledged, and takes the place of a master that is lost.
 */

import { once } from 'node:events';
import t, { type Test } from 'tap';
import { ownTime } from '../own-time.ts';
import { owner, share } from './records.ts';
import { placeIn, succeeds } from './redis-places.ts';
import { comes, type Server, startSentinels, startSingle } from './redis-servers.ts';
import {
  commit,
  documentsOf,
  opened,
  position,
  put,
  rule,
  type SharedPlace,
  sharesOf,
  tell,
} from './shared-place.ts';

t.setTimeout(300_000);

/** Loses a master that had a change acknowledged by a replica, and goes on at the replica. */
async function survives(t: Test, place: SharedPlace, lost: Server): Promise<void> {
  const careful = await opened(t, place, { waitReplicas: 1 });
  const store = await opened(t, place);
  await careful.replace({ owners: [owner('a')], documents: [rule('r')] }, null, [position(1)], []);
  t.equal(await commit(careful, { documents: [rule('s')] }, position(1), position(2)), 'kept');
  const told = new EventTarget();
  const first = once(told, 'told');
  store.follow({ changed: () => told.dispatchEvent(new Event('told')), said: () => {} });
  await first;
  const again = once(told, 'told');
  await lost.end('SIGKILL');
  const killed = performance.now();
  await comes('a change', () => succeeds(put(store, [rule('after')])));
  t.comment(`took a change again after ${Math.round(performance.now() - killed)} ms`);
  await again;
  await comes('all of it', () => succeeds(store.policy()));
  const documents = (await documentsOf(store)).map(({ key }) => key).toSorted();
  t.strictSame(documents, ['after', 'r', 's']);
  const shares = Array.from({ length: 50 }, (_, at) => share(`owner-${at}`, 'one'));
  t.equal(await tell(store, 'one', shares), 'kept');
  t.equal((await sharesOf(store, 'one')).length, 50);
}

t.test('a change that too few replicas would have is not made', async t => {
  const { address, servers } = await startSingle(t);
  const place = placeIn(address);
  const store = await opened(t, place, { waitReplicas: 1 });
  const few = { code: 'store_away', message: /only 0 of 1 replicas.*nothing was changed/ };
  await t.rejects(store.replace({ owners: [], documents: [] }, null, [position(1)], []), few);
  t.strictSame((await store.state()).position, null);
  t.ok((await store.advice()).some(({ code }) => code === 'not_durable_enough'));
  const replica = await startSingle(t, '--replicaof', '127.0.0.1', String(servers[0].port));
  await comes('the replica', async () =>
    (await servers[0].cli('info', 'replication')).includes('state=online'),
  );
  t.equal(await store.replace({ owners: [], documents: [] }, null, [position(1)], []), 'kept');
  t.equal(await commit(store, { documents: [rule('a')] }, position(1), position(2)), 'kept');
  t.equal(await commit(store, { documents: [rule('a')] }, position(1), position(2)), 'conflict');
  const read = await opened(t, placeIn(replica.address, place.prefix));
  t.strictSame((await read.state()).position, position(2), 'the replica has what was acknowledged');

  // A script that the server has forgotten is not sent after WAIT, which would answer for the change before.
  await servers[0].cli('script', 'flush');
  await comes('the replica with all that was written', async () => {
    const [, had, has] =
      /offset=(\d+).*master_repl_offset:(\d+)/s.exec(await servers[0].cli('info', 'replication')) ?? [];
    return had !== undefined && had === has;
  });
  replica.servers[0].halt();
  const taken = ownTime();
  await t.rejects(commit(store, { documents: [rule('b')] }, position(2), position(3)), {
    code: 'store_away',
    message: /only 0 of 1 replicas.*may be in force all the same/,
  });
  t.ok(taken() < 2000);
  t.strictSame(
    (await store.state()).position,
    position(3),
    'one that has them and does not answer may have more',
  );
  replica.servers[0].go();
  await replica.servers[0].end();
  await comes('the loss of the replica', async () =>
    (await servers[0].cli('info', 'replication')).includes('connected_slaves:0'),
  );
  await t.rejects(commit(store, { documents: [rule('c')] }, position(3), position(4)), few);
  await t.rejects(store.replace({ owners: [], documents: [] }, position(3), [position(4)], []), few);
  t.strictSame((await store.state()).position, position(3));
});

t.test('when the master is lost, the Sentinels name another, and the store goes on there', async t => {
  const watched = await startSentinels(t);
  await survives(t, placeIn(watched.address), await watched.master());
});
