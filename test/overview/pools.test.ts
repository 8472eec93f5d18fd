/** A limit of a group's members together: one event for all, one grace for all, and the state of each. */

import t, { type Test } from 'tap';
import { backupOf, parseBackup, restore } from '../../src/ledger/index.ts';
import { Totals } from '../../src/overview/index.ts';
import { assign, deleteGroup, poolGraceKind, type RuleEdit } from '../../src/policy/index.ts';
import { openStore } from '../../src/store/index.ts';
import { World as LedgerWorld, repos, settings, silentLog, sweepOnce, walk } from '../ledger/world.ts';
import { grouped } from '../quota/grouped.ts';
import { dayMs, World } from './world.ts';

/** Alice and Bob may have 1000 bytes together. */
async function opened(t: Test, rule: RuleEdit = {}): Promise<World> {
  const world = await World.open(t);
  world.ledger.graces.start({ pauseMs: 0 });
  const together = { name: 'together', limitBytes: 1000, subjects: ['size:git:all' as const] };
  await grouped(world.ledger, ['alice', 'bob'], [{ ...together, per: 'group', ...rule }], 'lab');
  await world.ledger.documents.transact(transaction => transaction.createOwner('carol'));
  return world;
}

async function told(world: World): Promise<readonly unknown[]> {
  const { events } = await world.events.list({ limit: 100 });
  return [...events].reverse().flatMap((event): unknown[][] => {
    if (event.kind === 'threshold') return [[event.owner, event.from, event.to, event.used]];
    return event.kind === 'grace' ? [[event.owner, 'grace', event.ended_by, event.used]] : [];
  });
}

t.test(
  'what members have together is one event for all of them, up and down, and not again after a restart',
  async t => {
    const world = await opened(t);
    await world.store('alice', 500);
    await world.store('bob', 310);
    await world.store('bob', 450);
    await world.store('alice', 600);
    const up = [
      [null, null, 80, 810],
      [null, 80, 90, 950],
      [null, 90, 'limit', 1050],
    ];
    t.strictSame(await told(world), up);
    const [first] = await world.told('threshold');
    t.match(first, {
      per: 'group',
      group: 'lab',
      rule: 'together',
      limit: 1000,
      direction: 'up',
      subjects: ['size:repos:public', 'size:repos:private', 'size:git:lfs'],
    });
    t.strictSame(await world.told('threshold', { owner: 'alice' }), [], 'it is about no single one');
    await world.restart();
    await world.settled();
    t.strictSame(await told(world), up);
    await world.store('alice', 100);
    t.strictSame((await told(world)).slice(3), [[null, 'limit', null, 550]]);
  },
);

t.test('who comes to a group or leaves it may bring it to a threshold', async t => {
  const world = await opened(t);
  await world.store('carol', 900);
  t.strictSame(await told(world), []);
  await world.ledger.documents.transact(transaction =>
    assign(transaction.changes, transaction.mustBeOwner('carol').id, 'lab'),
  );
  await world.settled();
  t.strictSame(await told(world), [[null, null, 90, 900]]);
  await world.ledger.documents.transact(({ changes }) => deleteGroup(changes, 'lab'));
  await world.settled();
  t.strictSame(await world.ledger.eventLog.levels(), []);
});

t.test('a group over its limit has one grace, for all its members, whose end is one event', async t => {
  const world = await opened(t, { graceMs: 7 * dayMs });
  const { ledger, clock } = world;
  await world.store('alice', 500);
  await world.store('bob', 550);
  const until = clock.wall() + 7 * dayMs;
  const decided = (owner: string) => ledger.decide(owner, repos).decision;
  for (const owner of ['alice', 'bob']) {
    t.match(decided(owner), { allowed: true, near: [{ per: 'group', grace: { until, below: 1100 } }] });
  }
  clock.pass(3 * dayMs);
  await world.store('alice', 520);
  t.match(decided('bob'), { allowed: true, near: [{ grace: { until } }] }, 'it goes on');
  const keys: (string | null)[] = [];
  const unwatch = ledger.watch(key => keys.push(key));
  clock.pass(4 * dayMs);
  await world.settled();
  unwatch();
  t.strictSame(keys, [null], 'all are told');
  for (const owner of ['alice', 'bob']) t.match(decided(owner), { allowed: false, per: 'group' });
  t.strictSame(await told(world), [
    [null, null, 'limit', 1050],
    [null, 'grace', 'time', 1070],
  ]);
  await world.store('bob', 100);
  t.equal(ledger.documents.snapshot.get(poolGraceKind, 'lab'), undefined);
});

t.test('GRACE is that of groups, too, and reaches as far', async t => {
  const world = await opened(t);
  world.ledger.settings = { ...settings, graceMs: dayMs };
  await world.store('alice', 1050);
  t.match(world.ledger.decide('bob', repos).decision, { allowed: true, near: [{ grace: { below: 1100 } }] });
  await world.store('bob', 50);
  t.match(world.ledger.decide('bob', repos).decision, {
    allowed: false,
    per: 'group',
    grace: { below: 1100 },
  });
  t.strictSame(await told(world), [
    [null, null, 'limit', 1050],
    [null, 'grace', 'size', 1100],
  ]);
});

t.test('a backup has the grace of a group, and goes on with it', async t => {
  const world = await opened(t, { graceMs: 7 * dayMs });
  await world.store('alice', 1050);
  const until = world.clock.wall() + 7 * dayMs;
  const text = JSON.stringify(await backupOf(world.ledger, 'here'));
  t.match(JSON.parse(text), { format: 3, graces: [{ kind: 'pool-grace', key: 'lab' }] });
  const after = new LedgerWorld(t, { clock: world.clock });
  const empty = await openStore({ file: after.file });
  await restore(empty, parseBackup(text, 'the backup'), { replace: false });
  await empty.close();
  world.clock.pass(dayMs);
  const ledger = await after.open();
  walk(ledger, 'alice/app', 1050);
  sweepOnce(ledger);
  t.match(ledger.decide('bob', repos).decision, { allowed: true, near: [{ grace: { until } }] });
});

t.test('the state of a member follows what the others store', async t => {
  const world = await opened(t);
  const totals = new Totals({ ledger: world.ledger, log: silentLog });
  t.teardown(() => totals.close());
  totals.start();
  const stateOf = async (owner: string) => {
    await totals.settled();
    return totals.nearnessOf(owner).state;
  };
  t.equal(await stateOf('bob'), 'ok');
  for (const [bytes, state] of [
    [850, 'near'],
    [1001, 'over'],
    [100, 'ok'],
  ] as const) {
    await world.store('alice', bytes);
    t.equal(await stateOf('bob'), state);
  }
});
