/**
 * Changes at the same time, in another order, or while a host is away, come to the same in the end.
 */

import t from 'tap';
import { SoftquotaError } from '../../src/errors.ts';
import type { Ledger } from '../../src/ledger/index.ts';
import { assign, createGroup, editRule } from '../../src/policy/index.ts';
import { newMark } from '../../src/store/index.ts';
import { until } from '../e2e/ask.ts';
import { walk } from '../ledger/world.ts';
import { owner, share } from '../store/records.ts';
import { comes, startServer, startSingle } from '../store/redis-servers.ts';
import { put, sharesOf, tell } from '../store/shared-place.ts';
import { knowsRule, makeRule, member, sharedStore } from './world.ts';

/** Group whose members store too much with the first byte. */
const none = { name: 'none', rules: [{ name: 'none', limitBytes: 0, subjects: ['size:all' as const] }] };

const allowed = (ledger: Ledger, name: string) => ledger.decide(name, 'size:all').decision.allowed;

t.test('a change that comes between two questions of a look is not passed over', async t => {
  const { address } = await startSingle(t);
  const one = await member(t, { address, host: 'one' });
  let before = async () => {};
  const two = await member(t, {
    address,
    host: 'two',
    through: store => ({
      ...store,
      policySince: async version => {
        const act = before;
        before = async () => {};
        await act();
        return store.policySince(version);
      },
    }),
  });
  await two.fleet.catchUp();
  // The changes are not read at all if nothing is new.
  await makeRule(one, 'before');
  before = () => makeRule(one, 'between');
  await two.fleet.catchUp();
  await two.fleet.catchUp();
  t.ok(knowsRule(two, 'between'));
});

t.test('a host that began while the store was away looks at it before it changes anything there', async t => {
  const { address } = await startSingle(t);
  const before = await member(t, { address, host: 'one' });
  await makeRule(before, 'before');
  await before.close();
  let isAway = true;
  const asked: string[] = [];
  const { ledger } = await member(t, {
    address,
    host: 'one',
    directory: before.directory,
    through: store => ({
      ...store,
      state: async () => {
        if (isAway) throw new SoftquotaError('store_away', 'it is away');
        asked.push('look');
        return store.state();
      },
      policy: async () => {
        if (isAway) throw new SoftquotaError('store_away', 'it is away');
        asked.push('look');
        return store.policy();
      },
      commit: async (...all) => {
        asked.push('commit');
        return store.commit(...all);
      },
    }),
  });
  isAway = false;
  await makeRule({ ledger }, 'after');
  t.equal(asked[0], 'look', 'what the store may have lost is found first');
  t.equal(asked.filter(each => each === 'commit').length, 1);
});

t.test('a host that begins changes the policy without reading all of it again', async t => {
  const { address } = await startSingle(t);
  const before = await member(t, { address, host: 'one' });
  for (const name of ['alice', 'bob']) walk(before.ledger, `${name}/app`, 10);
  await makeRule(before, 'before');
  await before.close();
  let readings = 0;
  const { ledger } = await member(t, {
    address,
    host: 'one',
    directory: before.directory,
    through: store => ({
      ...store,
      policy: async () => {
        readings += 1;
        return store.policy();
      },
    }),
  });
  walk(ledger, 'carol/app', 10);
  await makeRule({ ledger }, 'after');
  t.equal(readings, 0);
  const store = await sharedStore(t, address);
  const { owners } = (await store.policy()).policy;
  t.strictSame(owners.map(({ key }) => key).sort(), ['alice', 'bob', 'carol']);
});

t.test('an owner who came and went while a host was away does not come back there', async t => {
  const { address } = await startSingle(t);
  const store = await sharedStore(t, address);
  const one = await member(t, { address, host: 'one' });
  const two = await member(t, { address, host: 'two' });
  await put(store, [], [owner('gone', { id: 11 }), owner('before', { id: 12 }), owner('stays', { id: 13 })]);
  await one.fleet.catchUp();
  await one.ledger.documents.transact(transaction => transaction.deleteOwner('gone'));
  await one.ledger.documents.transact(transaction => transaction.renameOwner('before', 'after', () => false));
  await two.fleet.catchUp();
  for (const { ledger } of [one, two]) {
    t.equal(ledger.documents.owners.named('gone'), undefined);
    t.equal(ledger.documents.owners.named('before'), undefined, 'nor by an old name');
    t.match(ledger.documents.owners.named('after'), { id: 12 });
    t.match(ledger.documents.owners.named('stays'), { id: 13 });
  }
});

t.test('owners get names of others whom all hosts know, and swap theirs', async t => {
  const { address } = await startSingle(t);
  const store = await sharedStore(t, address);
  const [one, two] = [await member(t, { address, host: 'one' }), await member(t, { address, host: 'two' })];
  const everybody = [owner('alice', { id: 11 }), owner('bob', { id: 12 }), owner('carol', { id: 13 })];
  await put(store, [], everybody);
  await one.fleet.catchUp();
  const rename = (names: readonly (readonly [string, string])[]) =>
    one.ledger.documents.transact(transaction => {
      for (const [from, to] of names) transaction.renameOwner(from, to, () => true);
    });
  await rename([['alice', 'bob']]);
  const swap = [
    ['bob', 'spare'],
    ['carol', 'bob'],
    ['spare', 'carol'],
  ] as const;
  await rename(swap);
  await two.fleet.catchUp();
  for (const { ledger } of [one, two]) {
    const ids = ['alice', 'bob', 'carol', 'spare'].map(name => ledger.documents.owners.named(name)?.id);
    t.strictSame(ids, [undefined, 13, 11, undefined]);
  }
});

t.test('what a host itself has ruled is not undone by what it hears late', async t => {
  const { address } = await startSingle(t);
  const store = await sharedStore(t, address);
  const one = await member(t, { address, host: 'one' });
  // On this host's disk the owner was found, too, so it knows them before it has read of them in the log.
  walk(one.ledger, 'early/app', 0);
  await put(store, [], [owner('early', { id: 21 })]);
  one.fleet.start();
  await until(() => (one.ledger.documents.owners.named('early')?.id === 21 ? true : null));
  await one.ledger.documents.transact(transaction => transaction.renameOwner('early', 'late', () => false));
  const anew = one.ledger.documents.owners.named('early')?.id;
  t.not(anew, 21, 'the units stay, as those of somebody new');
  await one.fleet.catchUp();
  t.equal(one.ledger.documents.owners.named('early')?.id, anew);
  t.match(one.ledger.documents.owners.named('late'), { id: 21 });
});

t.test('two hosts that find the same owner agree who it is, and what is laid down for them', async t => {
  const { address } = await startSingle(t);
  const one = await member(t, { address, host: 'one' });
  const two = await member(t, { address, host: 'two' });
  walk(one.ledger, 'alice/app', 10);
  walk(two.ledger, 'Alice/site', 10);
  const ids = [one, two].map(({ ledger }) => ledger.documents.owners.named('alice')?.id);
  t.not(ids[0], ids[1]);
  await one.ledger.documents.transact(({ changes }) => createGroup(changes, none));
  // A governed owner is enrolled before, and may be somebody else afterwards.
  await Promise.all([
    one.ledger.documents.transact(transaction =>
      assign(transaction.changes, transaction.mustBeOwner('alice').id, 'none'),
    ),
    two.ledger.documents
      .transact(({ changes }) => editRule(changes, 'none', { limitBytes: 5 }))
      .catch(() => {}),
  ]);
  for (const { fleet, ledger } of [one, two]) {
    await fleet.catchUp();
    t.notOk(allowed(ledger, 'alice'));
  }
  t.equal(one.ledger.documents.owners.named('alice')?.id, two.ledger.documents.owners.named('alice')?.id);
});

t.test('a change on its way while owners are taken over is made of who they are then', async t => {
  const { address, servers } = await startSingle(t);
  const one = await member(t, { address, host: 'one' });
  const before = await member(t, { address, host: 'two' });
  await one.ledger.documents.transact(({ changes }) => createGroup(changes, none));
  await before.fleet.catchUp();
  await before.close();
  // The store has an owner of the first under a version that the second knows without that owner.
  walk(one.ledger, 'alice/app', 10);
  await servers[0].cli('flushall');
  await one.fleet.catchUp();
  let read = (): Promise<unknown> => Promise.resolve();
  const two = await member(t, {
    address,
    host: 'two',
    directory: before.directory,
    through: store => ({
      ...store,
      compareOwners: async known => {
        const compared = await store.compareOwners(known);
        await read();
        return compared;
      },
    }),
  });
  walk(two.ledger, 'alice/site', 10);
  const { documents } = two.ledger;
  const basis = documents.position;
  const reading = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  read = () => {
    read = () => Promise.resolve();
    reading.resolve();
    return held.promise;
  };
  const change = documents.transact(transaction =>
    assign(transaction.changes, transaction.mustBeOwner('alice').id, 'none'),
  );
  await reading.promise;
  two.fleet.start();
  const { id } = one.ledger.documents.owners.named('alice') ?? {};
  await until(() => (documents.owners.named('alice')?.id === id ? true : null));
  if (basis === null) throw new Error('it has no policy');
  t.equal(await two.fleet.commit({}, basis, newMark()), null, 'nor is one that was drafted before committed');
  held.resolve();
  await change;
  await one.fleet.catchUp();
  for (const { ledger } of [one, two]) t.notOk(allowed(ledger, 'alice'));
});

t.test('a host away while its owner was renamed has its units under the same new owner', async t => {
  const { address } = await startSingle(t);
  const one = await member(t, { address, host: 'one' });
  const two = await member(t, { address, host: 'two' });
  walk(two.ledger, 'alice/app', 10);
  two.fleet.start();
  await until(async () => {
    await one.fleet.catchUp();
    return one.ledger.documents.owners.named('alice') !== undefined &&
      one.ledger.ownerUsage('alice').usage.some(bytes => bytes === 10)
      ? true
      : null;
  });
  await one.ledger.documents.transact(({ changes }) => createGroup(changes, none));
  await one.ledger.documents.transact(transaction =>
    assign(transaction.changes, transaction.mustBeOwner('alice').id, 'none'),
  );
  await one.ledger.documents.transact(transaction => transaction.renameOwner('alice', 'bob', () => false));
  one.fleet.start();
  await until(async () => {
    await one.fleet.catchUp();
    await two.fleet.catchUp();
    const [a, b] = [one, two].map(({ ledger }) => ledger.documents.owners.named('alice')?.id);
    return a === b && a !== undefined ? true : null;
  });
  for (const { ledger } of [one, two]) {
    t.ok(allowed(ledger, 'alice'), 'nothing is laid down for somebody new');
    t.notOk(allowed(ledger, 'bob'));
    t.equal(
      ledger.ownerUsage('alice').usage.reduce((sum, bytes) => sum + bytes, 0),
      10,
    );
  }
});

t.test('what a killed host said, and is no longer so, is taken back at its next start', async t => {
  const { address } = await startSingle(t);
  const store = await sharedStore(t, address);
  await put(store, [], [owner('known', { id: 31 })]);
  await tell(store, 'one', [share('known', 'one'), share('nobody', 'one')]);
  await tell(store, 'other', [share('known', 'other')]);
  const one = await member(t, { address, host: 'one' });
  one.ledger.walks.recordSweep({ startedAt: 1, finishedAt: 2, units: 0 }, [], () => true);
  one.fleet.start();
  await until(async () => {
    const shares = await sharesOf(store, 'one', 'other');
    return shares.length === 1 && shares[0]?.host === 'other' ? true : null;
  });
  t.pass('what others said stays');
});

t.test('a store that was emptied is given the policy and the usage again', async t => {
  const { address, servers } = await startSingle(t);
  const store = await sharedStore(t, address);
  const members = [await member(t, { address, host: 'one' }), await member(t, { address, host: 'two' })];
  for (const { ledger, fleet } of members) {
    walk(ledger, 'alice/app', 10);
    fleet.start();
  }
  const told = (count: number) =>
    until(async () => ((await sharesOf(store, 'one', 'two')).length === count ? true : null));
  await told(2);
  for (const { fleet } of members) await fleet.catchUp();
  await servers[0].cli('flushall');
  for (const [index, { fleet }] of members.entries()) {
    await fleet.catchUp();
    await told(index + 1);
    t.equal(fleet.state.divergence, null);
  }
  t.strictSame(members[0]?.ledger.documents.position, members[1]?.ledger.documents.position);
});

t.test('another policy in the store makes nobody somebody else', async t => {
  const { address, servers } = await startSingle(t);
  const one = await member(t, { address, host: 'one' });
  walk(one.ledger, 'alice/app', 10);
  await one.ledger.documents.transact(({ changes }) => createGroup(changes, none));
  await one.ledger.documents.transact(transaction =>
    assign(transaction.changes, transaction.mustBeOwner('alice').id, 'none'),
  );
  one.fleet.start();
  await servers[0].cli('flushall');
  const stranger = await member(t, { address, host: 'stranger' });
  walk(stranger.ledger, 'alice/app', 10);
  await makeRule(stranger, 'strange');
  await t.rejects(one.fleet.catchUp(), { code: 'store_away', message: /does not continue the known one/ });
  await t.rejects(makeRule(one, 'more'), { code: 'store_away' });
  t.notOk(allowed(one.ledger, 'alice'), 'the known policy is in force');
  t.notOk(knowsRule(one, 'strange'));

  await one.fleet.repair('known');
  await stranger.fleet.catchUp();
  t.notOk(allowed(stranger.ledger, 'alice'), 'and after the repair everywhere');
  t.notOk(knowsRule(stranger, 'strange'));
});

t.test('changes upon an older policy are told from those upon the known one', async t => {
  const { address, servers } = await startSingle(t);
  const [redis] = servers;
  const one = await member(t, { address, host: 'one' });
  const two = await member(t, { address, host: 'two' });
  await makeRule(one, 'common');
  const copy = await startServer(t, {
    directory: redis.directory,
    settings: ['--replicaof', '127.0.0.1', String(redis.port), '--repl-diskless-sync-delay', '0'],
  });
  await comes('the copy', async () => (await copy.cli('info', 'replication')).includes('link_status:up'));
  await copy.cli('replicaof', 'no', 'one');
  await makeRule(one, 'known');
  await two.fleet.catchUp();
  t.ok(knowsRule(two, 'known'));
  await two.close();

  const elsewhere = `redis://127.0.0.1:${copy.port}/0`;
  const fresh = await member(t, { address: elsewhere, host: 'fresh' });
  await makeRule(fresh, 'other-1');
  await makeRule(fresh, 'other-2');
  const again = await member(t, { address: elsewhere, host: 'two', directory: two.directory });
  t.match(again.fleet.state.divergence, { why: 'older' });
  t.ok(knowsRule(again, 'known'));
  t.notOk(knowsRule(again, 'other-2'));
});

t.test('of two repairs at once one is made, and all follow it', async t => {
  const { address, servers } = await startSingle(t);
  const members = [await member(t, { address, host: 'one' }), await member(t, { address, host: 'two' })];
  const [one, two] = members;
  if (one === undefined || two === undefined) throw new Error('two were asked for');
  await makeRule(one, 'known');
  await two.fleet.catchUp();
  await servers[0].cli('flushall');
  // Somebody begins another policy there.
  await put(await sharedStore(t, address), []);
  const outcomes = await Promise.allSettled(members.map(({ fleet }) => fleet.repair('known')));
  t.strictSame(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  for (const { fleet, ledger } of members) {
    await fleet.catchUp();
    await makeRule({ ledger }, `after-${fleet === one.fleet}`);
  }
  await one.fleet.catchUp();
  t.strictSame(one.ledger.documents.position, two.ledger.documents.position);
});

t.test('who repairs what another has just repaired is told so, and nothing is decided twice', async t => {
  const { address, servers } = await startSingle(t);
  const one = await member(t, { address, host: 'one' });
  let before = async () => {};
  const two = await member(t, {
    address,
    host: 'two',
    through: store => ({
      ...store,
      policy: async () => {
        const act = before;
        before = async () => {};
        await act();
        return store.policy();
      },
    }),
  });
  await makeRule(one, 'known');
  await two.fleet.catchUp();
  await servers[0].cli('flushall');
  // Somebody begins another policy there.
  await put(await sharedStore(t, address), []);
  for (const { fleet } of [one, two]) await t.rejects(fleet.catchUp(), { code: 'store_away' });
  before = () => one.fleet.repair('known');
  await t.rejects(two.fleet.repair('stored'), { code: 'conflict', message: /changed meanwhile/ });
  await two.fleet.catchUp();
  t.ok(knowsRule(one, 'known') && knowsRule(two, 'known'));
});
