/** Bytes that came or went between walks. */

import { mock } from 'node:test';
import t from 'tap';
import { lfs, repos, SetClock, used, World, walk } from './world.ts';

const hour = 3_600_000;

t.test('a delta counts at once, survives a restart, and goes when every unit was walked later', async t => {
  const world = new World(t);
  let ledger = await world.open();
  walk(ledger, 'alice/a', 10);
  walk(ledger, 'alice/b', 20);
  const underWay = ledger.walks.nextSeq();
  await ledger.reports.addDelta('alice', repos, 5);
  t.equal(used(ledger, 'alice'), 35);
  ledger = await world.open();
  t.equal(used(ledger, 'alice'), 35);
  walk(ledger, 'alice/a', 15);
  t.equal(used(ledger, 'alice'), 40, 'one of two is not all');
  walk(ledger, 'alice/b', 20, { seq: underWay });
  t.equal(used(ledger, 'alice'), 40, 'a walk that began before may have missed it');
  walk(ledger, 'alice/b', 20);
  t.equal(used(ledger, 'alice'), 35);
  ledger = await world.open();
  t.equal(used(ledger, 'alice'), 35, 'and it is gone from the store');
});

t.test('a delta does not wait for a unit that sweeps cannot read', async t => {
  const ledger = await new World(t).open();
  walk(ledger, 'alice/a', 10);
  walk(ledger, 'alice/b', 20);
  const readB = (seq: number) => ledger.walks.recordUnread('/srv/git/alice/b.git', seq);
  for (const bytes of [15, 20]) {
    const underWay = ledger.walks.nextSeq();
    await ledger.reports.addDelta('alice', repos, 5);
    walk(ledger, 'alice/a', bytes);
    readB(underWay);
    t.equal(used(ledger, 'alice'), bytes + 25, 'a sweep that began before may have missed it');
    readB(ledger.walks.nextSeq());
    t.equal(used(ledger, 'alice'), bytes + 20);
  }
  t.match(ledger.ownerUsage('alice'), { partial: true });
});

t.test('a sum never falls below 0, however much is said to have gone', async t => {
  const ledger = await new World(t).open();
  walk(ledger, 'alice/a', 10);
  await ledger.reports.addDelta('alice', repos, -Number.MAX_SAFE_INTEGER);
  await ledger.reports.addDelta('alice', repos, -Number.MAX_SAFE_INTEGER);
  t.equal(used(ledger, 'alice'), 0);
  t.equal(ledger.decide('alice', repos).decision.used, 0);
  await ledger.reports.addDelta('alice', lfs, -1);
  await ledger.reports.addDelta('alice', lfs, 3);
  t.equal(used(ledger, 'alice', lfs), 2);
});

t.test('without walked units a delta counts for an hour, restarts included', async t => {
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => mock.timers.reset());
  const clock = new SetClock();
  const world = new World(t, { clock });
  let ledger = await world.open();
  await ledger.reports.addDelta('alice', lfs, 7);
  await ledger.reports.reportUnit('alice', lfs, 'reported', 1);
  clock.pass(hour / 2);
  ledger = await world.open();
  clock.pass(hour / 2 - 1);
  mock.timers.tick(60_000);
  t.equal(used(ledger, 'alice', lfs), 8);
  clock.pass(1);
  mock.timers.tick(60_000);
  t.equal(used(ledger, 'alice', lfs), 1, 'a reported unit is none that is walked');
  ledger = await world.open();
  t.equal(used(ledger, 'alice', lfs), 1);
});

t.test('a clock that is set shortens or lengthens no delta while the ledger is open', async t => {
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => mock.timers.reset());
  const clock = new SetClock();
  const ledger = await new World(t, { clock }).open();
  await ledger.reports.addDelta('alice', lfs, 7);
  for (const day of [1, -2]) {
    clock.wallMs += day * 24 * hour;
    mock.timers.tick(60_000);
    t.equal(used(ledger, 'alice', lfs), 7);
  }
  clock.monotonicMs += hour;
  mock.timers.tick(60_000);
  t.equal(used(ledger, 'alice', lfs), 0);
});

t.test('a clock set back over a restart keeps a delta for an hour more, and never longer', async t => {
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => mock.timers.reset());
  const clock = new SetClock();
  const world = new World(t, { clock });
  let ledger = await world.open();
  await ledger.reports.addDelta('alice', lfs, 7);
  clock.wallMs -= 365 * 24 * hour;
  ledger = await world.open();
  t.equal(used(ledger, 'alice', lfs), 7);
  clock.monotonicMs += hour;
  mock.timers.tick(60_000);
  t.equal(used(ledger, 'alice', lfs), 0);
});

t.test('a sweep over many units of an owner with deltas takes no longer than one without', async t => {
  const ledger = await new World(t).open();
  const units = 30_000;
  for (let n = 0; n < units; n++) walk(ledger, `alice/${n}`, 1);
  await ledger.reports.addDelta('alice', repos, 7);
  await ledger.reports.addDelta('alice', lfs, 7);
  const begun = process.cpuUsage();
  for (let n = 0; n < units; n++) walk(ledger, `alice/${n}`, 1);
  const { user } = process.cpuUsage(begun);
  t.equal(used(ledger, 'alice'), units);
  t.ok(user < 3_000_000, `${user} µs; looking through all units at each would be 900 million steps`);
  await ledger.kept();
});
