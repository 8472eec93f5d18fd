/** The end of a grace is told once: that its time is over, or that it does not reach so far. */

import t, { type Test } from 'tap';
import { leaves } from '../../src/quota/index.ts';
import { dayMs, World } from './world.ts';

const week = { graceMs: 7 * dayMs, graceMost: { percent: 10 } } as const;

async function opened(t: Test, settings: object = {}): Promise<World> {
  const world = await World.open(t, { settings: { ...week, ...settings } });
  await start(world);
  return world;
}

async function start({ ledger }: World): Promise<void> {
  ledger.graces.start({ pauseMs: 0 });
  await ledger.graces.settled();
}

/** The events in short, oldest first. */
async function told(world: World): Promise<readonly unknown[]> {
  const { events } = await world.events.list({ limit: 100 });
  return [...events].reverse().flatMap((event): unknown[][] => {
    if (event.kind === 'threshold') return [[event.from, event.to, event.grace_until !== undefined]];
    return event.kind === 'grace' ? [['grace', event.ended_by, event.used]] : [];
  });
}

t.test('that the time is over is told when it is, once, and not again after a restart', async t => {
  const world = await opened(t);
  await world.store('alice', 8500);
  await world.store('alice', 10_500);
  const until = new Date(world.clock.wall() + 7 * dayMs).toISOString();
  const inGrace = [
    [null, 80, false],
    [80, 'limit', true],
  ];
  world.clock.pass(7 * dayMs - 1);
  await world.settled();
  t.strictSame(await told(world), inGrace);
  world.clock.pass(1);
  await world.settled();
  const ended = [...inGrace, ['grace', 'time', 10_500]];
  t.strictSame(await told(world), ended);
  const { events } = await world.events.list({ kind: 'grace', limit: 10 });
  t.match(events, [
    {
      owner: 'alice',
      at: until,
      until,
      below: 11_000,
      limit: 10_000,
      mode: 'enforce',
      group: null,
      rule: null,
      subjects: leaves,
    },
  ]);
  await world.restart();
  await start(world);
  await world.store('alice', 10_600);
  t.strictSame(await told(world), ended);
  await world.store('alice', 5000);
  await world.store('alice', 10_500);
  t.strictSame((await told(world)).slice(3), [
    ['limit', null, false],
    [null, 'limit', true],
  ]);
});

t.test('an end while the daemon is not there is told by the next one', async t => {
  const world = await opened(t);
  await world.store('alice', 10_500);
  world.clock.pass(8 * dayMs);
  await world.restart();
  await start(world);
  await world.settled();
  t.strictSame(await told(world), [
    [null, 'limit', true],
    ['grace', 'time', 10_500],
  ]);
});

t.test('growing further than it reaches is told, and so is its end once it has reached again', async t => {
  const world = await opened(t);
  await world.store('alice', 10_500);
  await world.store('alice', 11_500);
  await world.store('alice', 10_900); // too little less to be told of
  await world.store('alice', 11_500);
  t.strictSame((await told(world)).slice(1), [['grace', 'size', 11_500]]);
  await world.store('alice', 10_500);
  world.clock.pass(7 * dayMs);
  await world.settled();
  t.strictSame((await told(world)).slice(2), [['grace', 'time', 10_500]]);
});

t.test('who comes over by more at once has no grace that could end', async t => {
  const world = await opened(t);
  await world.store('alice', 12_000);
  world.clock.pass(8 * dayMs);
  await world.settled();
  t.strictSame(await told(world), [[null, 'limit', false]]);
});

t.test('limits without a grace, and those that only report', async t => {
  const plain = await World.open(t);
  await plain.store('alice', 10_500);
  t.strictSame(await told(plain), [[null, 'limit', false]]);
  const world = await opened(t, { mode: 'report' });
  await world.store('alice', 10_500);
  world.clock.pass(7 * dayMs);
  await world.settled();
  t.match((await world.events.list({ kind: 'grace', limit: 10 })).events, [{ mode: 'report' }]);
});
