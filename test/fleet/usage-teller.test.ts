/** A host's usage is in the store, whatever becomes of the store, and is told no more than needed. */

import { once } from 'node:events';
import t, { type Test } from 'tap';
import { SoftquotaError } from '../../src/errors.ts';
import type { SharedStore, TellUsage } from '../../src/store/index.ts';
import { until } from '../e2e/ask.ts';
import { repos, walk } from '../ledger/world.ts';
import { startSingle } from '../store/redis-servers.ts';
import { sharesOf } from '../store/shared-place.ts';
import { type Member, member, prefix, sharedStore } from './world.ts';

/** A host whose words to the store are kept. */
async function speaking(t: Test, address: string, directory?: string) {
  const told: TellUsage[] = [];
  const through = (store: SharedStore): SharedStore => ({
    ...store,
    tellUsage: (host, usage) => {
      told.push(usage);
      return store.tellUsage(host, usage);
    },
  });
  const one = await member(t, { address, host: 'one', through, ...(directory ? { directory } : {}) });
  const names = () => told.flatMap(({ usage, gone }) => [...usage.keys(), ...gone]);
  return { one, told, names };
}

const bytesThere = async (store: SharedStore) =>
  (await sharesOf(store, 'one')).map(({ ownerKey, bytes }) => `${ownerKey} ${bytes[repos]}`);

/** Resolves once the store has exactly this of the host. */
const comes = (store: SharedStore, one: Member, wanted: readonly string[]) =>
  until(async () => {
    await one.fleet.catchUp();
    return (await bytesThere(store)).join() === wanted.join() ? true : null;
  });

t.test('changes are told upon the last, and after a restart only what differs', async t => {
  const { address } = await startSingle(t);
  const store = await sharedStore(t, address);
  const { one, told, names } = await speaking(t, address);
  walk(one.ledger, 'alice/app', 100);
  walk(one.ledger, 'bob/app', 7);
  one.fleet.start();
  await comes(store, one, ['alice 100', 'bob 7']);
  walk(one.ledger, 'alice/app', 200);
  await comes(store, one, ['alice 200', 'bob 7']);
  t.equal(told.at(-1)?.usage.size, 1, 'one owner has changed');
  t.match((await store.state()).usage.get('one'), / 1$/);
  await one.close();
  const { position } = await store.state();

  const again = await speaking(t, address, one.directory);
  walk(again.one.ledger, 'bob/app', 8);
  again.one.fleet.start();
  await comes(store, again.one, ['alice 200', 'bob 8']);
  t.strictSame(again.names(), ['bob']);
  t.strictSame((await store.state()).position, position, 'and no owner is put on record again');
  t.ok(names().length >= 3);
});

t.test('a store that lost the usage, or has an older one, is told again', async t => {
  const { address, servers } = await startSingle(t);
  const [redis] = servers;
  const store = await sharedStore(t, address);
  const { one } = await speaking(t, address);
  walk(one.ledger, 'alice/app', 100);
  walk(one.ledger, 'bob/app', 7);
  one.fleet.start();
  await comes(store, one, ['alice 100', 'bob 7']);
  const keys = ['usage', 'usage:one', 'usage:one:changes'];
  for (const key of keys) await redis.cli('copy', `${prefix}:${key}`, `old:${key}`);
  walk(one.ledger, 'alice/app', 200);
  await comes(store, one, ['alice 200', 'bob 7']);
  for (const key of keys) {
    await redis.cli('copy', `old:${key}`, `${prefix}:${key}`, 'replace');
  }
  await comes(store, one, ['alice 200', 'bob 7']);
  await redis.cli('del', `${prefix}:usage`, `${prefix}:usage:one`);
  await comes(store, one, ['alice 200', 'bob 7']);
  await redis.cli('hset', `${prefix}:usage`, 'one', 'another 3');
  walk(one.ledger, 'bob/app', 9);
  await comes(store, one, ['alice 200', 'bob 9']);
});

t.test('a host that lost its own store takes nothing away before its first sweep has ended', async t => {
  const { address } = await startSingle(t);
  const store = await sharedStore(t, address);
  const { one } = await speaking(t, address);
  walk(one.ledger, 'alice/app', 100);
  walk(one.ledger, 'bob/app', 7);
  one.fleet.start();
  await comes(store, one, ['alice 100', 'bob 7']);
  await one.close();

  const { one: again, told } = await speaking(t, address);
  walk(again.ledger, 'alice/app', 60);
  again.fleet.start();
  await until(() => told.some(({ to }) => to !== null) || null);
  t.strictSame(await bytesThere(store), ['alice 100', 'bob 7']);
  walk(again.ledger, 'alice/more', 70);
  await comes(store, again, ['alice 130', 'bob 7']);
  again.ledger.walks.recordSweep({ startedAt: 1, finishedAt: 2, units: 2 }, [], () => true);
  await comes(store, again, ['alice 130']);
});

t.test('repositories that went are told although the forge cannot be read', async t => {
  const { address } = await startSingle(t);
  const store = await sharedStore(t, address);
  const one = await member(t, { address, host: 'one', hasForge: true });
  one.ledger.walks.recordSweep({ startedAt: 1, finishedAt: 2, units: 2 }, [], () => true);
  walk(one.ledger, 'alice/app', 100);
  one.fleet.start();
  await comes(store, one, ['alice 100']);
  walk(one.ledger, 'alice/app', 40);
  await comes(store, one, ['alice 40']);
});

/** A host that has told 100 bytes of alice, and has stopped. */
async function stopped(t: Test) {
  const { address, servers } = await startSingle(t);
  const store = await sharedStore(t, address);
  const { one } = await speaking(t, address);
  walk(one.ledger, 'alice/app', 100);
  one.fleet.start();
  await comes(store, one, ['alice 100']);
  await one.close();
  return { address, servers, store, one };
}

t.test('a host replaces its own usage that nobody can read', async t => {
  const { address, servers, store, one } = await stopped(t);
  const text = await servers[0].cli('hget', `${prefix}:usage:one`, 'alice');
  for (const damaged of ['no usage', `${text.trim()} name=%zz`]) {
    await servers[0].cli('hset', `${prefix}:usage:one`, 'alice', damaged);
    const again = await speaking(t, address, one.directory);
    again.one.fleet.start();
    await until(() => again.told.some(({ usage }) => usage.has('alice')) || null);
    await comes(store, again.one, ['alice 100']);
    await again.one.close();
  }
});

t.test('a host removes from its own usage what belongs to no owner', async t => {
  const { address, servers, store, one } = await stopped(t);
  await servers[0].cli('hset', `${prefix}:usage:one`, '%zz', 'units=1', 'no name', 'units=1');
  await t.rejects(bytesThere(store), { code: 'store_refused' });
  const again = await speaking(t, address, one.directory);
  again.one.fleet.start();
  await until(() => again.told.some(({ to }) => to !== null) || null);
  await comes(store, again.one, ['alice 100']);
  t.strictSame(await store.usageAfter('one', -1), { number: -1, shares: [], isMore: false });
});

t.test('usage that cannot be told is a fault until it is told, whatever else succeeds', async t => {
  const { address } = await startSingle(t);
  let does: 'refuse' | 'conflict' | 'tell' = 'refuse';
  const asked = new EventTarget();
  const through = (store: SharedStore): SharedStore => ({
    ...store,
    tellUsage: async (host, usage) => {
      if (does === 'tell') return store.tellUsage(host, usage);
      asked.dispatchEvent(new Event(does));
      if (does === 'conflict') return 'conflict';
      throw new SoftquotaError('store_refused', 'no right to it');
    },
  });
  const one = await member(t, { address, host: 'one', through });
  walk(one.ledger, 'alice/app', 100);
  one.fleet.start();
  await until(() => one.fleet.state.untold);
  for (let look = 0; look < 3; look += 1) {
    await one.fleet.catchUp();
    t.match(one.fleet.state, { away: null, untold: { reason: 'no right to it' } });
  }
  t.equal(one.ledger.shares.isStale, false, 'what is known of the others is as new as ever');
  does = 'conflict';
  for (let attempt = 0; attempt < 2; attempt += 1) await once(asked, 'conflict');
  t.match(one.fleet.state.untold, { reason: 'no right to it' }, 'nothing was told yet');
  does = 'tell';
  await until(() => one.fleet.state.untold === null || null);
});

t.test('while the store is away, the log and the state say that alone', async t => {
  const { address } = await startSingle(t);
  const shared = await sharedStore(t, address);
  let isAway = false;
  const mustBeThere = () => {
    if (isAway) throw new SoftquotaError('store_away', 'no answer');
  };
  const through = (store: SharedStore): SharedStore => ({
    ...store,
    state: async () => {
      mustBeThere();
      return store.state();
    },
    tellUsage: async (host, usage) => {
      mustBeThere();
      return store.tellUsage(host, usage);
    },
  });
  const lines: string[] = [];
  const note = (_: object, line: string) => void lines.push(line);
  const one = await member(t, {
    address,
    host: 'one',
    through,
    log: { error: note, warn: note, info: note },
  });
  walk(one.ledger, 'alice/app', 100);
  one.fleet.start();
  await comes(shared, one, ['alice 100']);
  isAway = true;
  walk(one.ledger, 'alice/app', 200);
  await until(() => one.fleet.state.away);
  t.equal(one.fleet.state.untold, null);
  isAway = false;
  await comes(shared, one, ['alice 200']);
  t.match(lines, [/^the shared store cannot be used .*: no answer$/, 'the shared store can be used again']);
  t.equal(lines.length, 2);
});

t.test('usage is told where no replica is there, although no change of policy can be made', async t => {
  const { address } = await startSingle(t);
  const store = await sharedStore(t, address);
  await (await member(t, { address, host: 'two' })).close();
  const one = await member(t, { address, host: 'one', waitReplicas: 1 });
  walk(one.ledger, 'alice/app', 100);
  one.fleet.start();
  await comes(store, one, ['alice 100']);
  t.strictSame((await store.policy()).policy.owners, []);
});
