/**
 * A policy that a shared store has lost is written again by whoever knows it, with its owners and its
 * events.
 */

import t, { type Test } from 'tap';
import { until } from '../e2e/ask.ts';
import { walk } from '../ledger/world.ts';
import { owner } from '../store/records.ts';
import { succeeds } from '../store/redis-places.ts';
import { comes, startSingle } from '../store/redis-servers.ts';
import { put } from '../store/shared-place.ts';
import { knowsRule, makeRule, member, prefix, sharedStore } from './world.ts';

/** A store with two hosts, and what brings back what it held when this was called. */
async function world(t: Test, settleMs = 0) {
  const { address, servers } = await startSingle(t);
  const [redis] = servers;
  const store = await sharedStore(t, address);
  const one = await member(t, { address, host: 'one', settleMs });
  const two = await member(t, { address, host: 'two', settleMs });
  const copied = ['policy', 'documents', 'owners', 'changes', 'events', 'events:times'];
  const saved = async () => {
    for (const key of copied) await redis.cli('copy', `${prefix}:${key}`, `${prefix}:old-${key}`, 'replace');
    return async () => {
      for (const key of copied) {
        await redis.cli('del', `${prefix}:${key}`);
        await redis.cli('copy', `${prefix}:old-${key}`, `${prefix}:${key}`);
      }
      // The restart makes it look like another server that took its place.
      await redis.end();
      await redis.start();
      await comes('the store', () => succeeds(store.state()));
    };
  };
  return { address, store, one, two, saved };
}

t.test('owners who went stay away, and what was told is told again', async t => {
  const { store, one, two, saved } = await world(t);
  await put(store, [], [owner('gone', { id: 11 }), owner('before', { id: 12 }), owner('stays', { id: 13 })]);
  await one.fleet.catchUp();
  await makeRule(one, 'kept');
  const fallBack = await saved();
  await one.ledger.documents.transact(transaction => transaction.deleteOwner('gone'));
  await one.ledger.documents.transact(transaction => transaction.renameOwner('before', 'after', () => false));
  await makeRule(one, 'lost');
  await two.fleet.catchUp();
  const ids = async () => (await store.events({ limit: 99 })).map(({ id }) => id).sort();
  const told = await ids();
  await fallBack();
  t.not((await ids()).length, told.length);
  // The one that did not make the changes comes first.
  await comes('two', () => succeeds(two.fleet.catchUp()));
  const { policy, state } = await store.policy();
  t.strictSame(policy.owners.map(({ key, id }) => `${key} ${id}`).sort(), ['after 12', 'stays 13']);
  t.strictSame(policy.documents.map(({ key }) => key).sort(), ['kept', 'lost']);
  t.strictSame(state.position, one.ledger.documents.position, 'it stands where it stood');
  await comes('one', () => succeeds(one.fleet.catchUp()));
  for (const each of [one, two]) {
    t.equal(each.fleet.state.divergence, null);
    t.ok(knowsRule(each, 'lost') && knowsRule(each, 'kept'));
    t.equal(each.ledger.documents.owners.named('gone'), undefined);
  }
  await until(async () => ((await ids()).join() === told.join() ? true : null));
  await makeRule(two, 'next');
  await one.fleet.catchUp();
  t.ok(knowsRule(one, 'next'));
});

t.test('a host that was started again writes what it knew when it ended', async t => {
  const { address, one, two, saved } = await world(t);
  await makeRule(one, 'kept');
  const fallBack = await saved();
  await makeRule(one, 'lost');
  await two.close();
  await one.close();
  await fallBack();
  const again = await member(t, { address, host: 'one', directory: one.directory });
  t.equal(again.fleet.state.divergence, null);
  const other = await member(t, { address, host: 'two', directory: two.directory });
  for (const each of [again, other]) t.ok(knowsRule(each, 'lost'));
});

t.test('on a server just met nobody rules before those who know more could say so', async t => {
  const settleMs = 1000;
  const { address, one, saved } = await world(t, settleMs);
  await makeRule(one, 'kept');
  const fallBack = await saved();
  await makeRule(one, 'lost');
  // It knows the policy as it was before, and comes to a store that fell back.
  await fallBack();
  const late = await member(t, { address, host: 'late', settleMs });
  t.notOk(knowsRule(late, 'lost'));
  const ruling = makeRule(late, 'more');
  await comes('one', () => succeeds(one.fleet.catchUp()));
  await ruling;
  await one.fleet.catchUp();
  for (const each of [one, late]) {
    t.equal(each.fleet.state.divergence, null);
    t.ok(knowsRule(each, 'lost') && knowsRule(each, 'more'));
  }
});

t.test('owners that a host put there under the same version are taken by the others', async t => {
  const { address, servers } = await startSingle(t);
  const [redis] = servers;
  const one = await member(t, { address, host: 'one' });
  const two = await member(t, { address, host: 'two' });
  await makeRule(one, 'first');
  await two.fleet.catchUp();
  // A host that writes lost changes again, and knows more owners than these had, does so.
  const alice = { id: 4711, name: 'alice', type: 'user', since: 1 };
  await redis.cli('hset', `${prefix}:owners`, 'alice', JSON.stringify(alice));
  walk(two.ledger, 'alice/app', 5);
  t.not(two.ledger.documents.owners.byKey('alice')?.id, 4711);
  await makeRule(two, 'second');
  t.equal(two.ledger.documents.owners.byKey('alice')?.id, 4711);
  await one.fleet.catchUp();
  t.ok(knowsRule(one, 'second'));
});
