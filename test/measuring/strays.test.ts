/**
 * FoundQuarantines that nobody asked about: they count a minute after their birth, whatever is done to them.
 */

import { appendFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { mock } from 'node:test';
import t, { type Test } from 'tap';
import { fill } from '../scan/world.ts';
import { ManualClock } from './manual-clock.ts';
import { PushWorld } from './push-world.ts';

const name = 'tmp_objdir-incoming-aB3xY9';
const minute = 60_000;

interface StrayWorld {
  readonly world: PushWorld;
  readonly clock: ManualClock;
  readonly place: string;
  readonly strays: () => { readonly bytes: number; readonly oldestMs: number | null };
  /** Goes on, and lets each look that becomes due come to its end. */
  pass(milliseconds: number): Promise<void>;
}

async function opened(t: Test): Promise<StrayWorld> {
  const clock = new ManualClock();
  const world = await PushWorld.open(t, { clock, hasHooks: false });
  const { pushes } = world.measuring;
  const pass = async (milliseconds: number): Promise<void> => {
    const end = clock.now() + milliseconds;
    while (clock.now() < end) {
      clock.goTo(Math.min(end, clock.now() + 1000));
      const rings = clock.alarms;
      // A look ends with the alarm for the next one.
      const isLookedAt = pushes.listed(world.repository).length > 0;
      await world.measuring.scanner.ask('absent', [[]], world.repository, 10_000);
      for (let turns = 0; isLookedAt && turns < 20 && clock.alarms === rings; turns++)
        await new Promise(resolve => setTimeout(resolve, 1));
    }
  };
  return { world, clock, place: join(world.repository, 'objects', name), strays: () => pushes.strays, pass };
}

t.test('what nobody asks about is found within a minute', async t => {
  const { world, place, pass } = await opened(t);
  const { bytes } = world;
  world.measuring.pushes.start();
  await pass(70_000);
  fill(join(place, 'pack/tmp_pack_1'), 5000);
  await pass(130_000);
  await world.until(() => world.bytes === bytes + 5000);
});

t.test('a quarantine counts a minute after its birth, until it is gone', async t => {
  const { world, place, strays, pass } = await opened(t);
  const { bytes } = world;
  fill(join(place, 'pack/tmp_pack_1'), 5000);
  await world.measuring.pushes.pass();
  await pass(minute - 2000);
  t.equal(world.bytes, bytes, 'not before');
  t.same(strays(), { bytes: 0, oldestMs: null });
  await pass(12_000);
  t.equal(world.bytes, bytes + 5000);
  t.match(strays(), { bytes: 5000 });
  t.ok(Math.abs((strays().oldestMs ?? 0) - (minute + 10_000)) < 5000);
  rmSync(place, { recursive: true });
  await pass(11_000);
  t.equal(world.bytes, bytes);
  t.same(strays(), { bytes: 0, oldestMs: null });
});

t.test('one that drips counts as well, by what is seen in it', async t => {
  const { world, place, pass } = await opened(t);
  const { bytes } = world;
  fill(join(place, 'pack/tmp_pack_1'), 1000);
  await world.measuring.pushes.pass();
  for (let seconds = 0; seconds < 80; seconds += 4) {
    appendFileSync(join(place, 'pack/tmp_pack_1'), 'x');
    await pass(4000);
  }
  t.ok(world.bytes >= bytes + 1015, `${world.bytes - bytes} bytes`);
  fill(join(place, 'pack/tmp_pack_2'), 1_000_000);
  await pass(11_000);
  t.ok(world.bytes >= bytes + 1_001_015);
});

t.test('a walk finds it, too, and counts it apart from the rest', async t => {
  const { world, place, pass } = await opened(t);
  const { bytes } = world;
  fill(join(place, 'ab/cdef'), 3000);
  await world.measuring.scanner.measureSoon(world.repository);
  await pass(75_000);
  t.equal(world.bytes, bytes + 3000);
  await world.measuring.scanner.measureSoon(world.repository);
  t.equal(world.bytes, bytes + 3000);
  t.match(await world.sweep('verify'), { units: 0, bytes: 0 }, 'which is no drift');
});

t.test('one that becomes a push does not count in the answer to its own question', async t => {
  const { world, place, pass } = await opened(t);
  const { bytes } = world;
  const { pushes } = world.measuring;
  fill(join(place, 'ab/cdef'), 3000);
  await pushes.pass();
  await pass(75_000);
  t.equal(world.bytes, bytes + 3000);
  const look = await pushes.look(world.repository, name, 10_000);
  if (look.is !== 'seen') throw new Error(look.is);
  t.equal(world.bytes, bytes, 'while it is decided');
  const unit = { path: world.repository, owner: 'alice', leaf: 'size:repos:private', bytes } as const;
  pushes.begin({ unit, quarantine: look.quarantine, name, lines: '' });
  t.equal(world.bytes, bytes + 3000);
  t.match(pushes.strays, { bytes: 0 });
  pushes.withdraw(world.repository, name);
  await pass(75_000);
  t.equal(world.bytes, bytes + 3000, 'nor for long, if it stays after a refusal');
});

t.test('what a stray brought counts on when git has taken it', async t => {
  const { world, place, pass } = await opened(t);
  const { repository } = world;
  const { bytes } = world;
  fill(join(place, 'ab/cdef'), 3000);
  await world.measuring.pushes.pass();
  await pass(5000);
  fill(join(repository, 'objects/ab/x'), 1);
  renameSync(join(place, 'ab/cdef'), join(repository, 'objects/ab/cdef'));
  rmSync(place, { recursive: true });
  await pass(11_000);
  await world.until(() => world.pushBytes === 0);
  t.ok(world.bytes >= bytes + 3000);
});

t.test('what the worker is removing counts at once', async t => {
  const { world, place } = await opened(t);
  const { bytes } = world;
  fill(join(place, 'ab/cdef'), 3000);
  renameSync(place, place.replace('incoming', 'gone'));
  await world.measuring.pushes.pass();
  t.equal(world.bytes, bytes + 3000);
});

t.test('a push that does not end within a day is a stray', async t => {
  const { world, place, pass, clock } = await opened(t);
  const { bytes } = world;
  const { pushes } = world.measuring;
  fill(join(place, 'ab/cdef'), 3000);
  t.equal(await world.begin(name), 3000);
  await pass(20_000);
  t.match(pushes.strays, { bytes: 0 });
  clock.goTo(25 * 60 * minute);
  await world.until(() => pushes.strays.bytes > 0);
  t.equal(world.bytes, bytes + 3000);
});

t.test('what came before a pass that the disk did not answer is found by the next one', async t => {
  const { world, place, clock } = await opened(t);
  const { pushes, scanner } = world.measuring;
  fill(join(place, 'ab/cdef'), 3000);
  clock.goTo(minute);
  const asked = mock.method(scanner, 'ask', async () => {
    throw new Error('the disk does not answer');
  });
  await pushes.pass();
  t.equal(asked.mock.callCount(), 1);
  asked.mock.restore();
  t.strictSame(pushes.listed(world.repository), []);
  clock.goTo(2 * minute);
  await pushes.pass();
  t.equal(pushes.listed(world.repository).length, 1);
});

t.test('repositories on network file systems are passed over in slices', async t => {
  const { world } = await opened(t);
  const { pushes, scanner } = world.measuring;
  const unit = world.ledger.units.unit(world.repository);
  const units = mock.method(world.ledger.units, 'walkedBefore', () =>
    Array.from({ length: 1000 }, () => unit),
  );
  const looked = mock.method(scanner, 'hasOwnTimes', () => {
    const until = performance.now() + 0.1;
    while (performance.now() < until);
    return false;
  });
  const passed = pushes.pass();
  t.ok(looked.mock.callCount() < 1000);
  await passed;
  t.equal(looked.mock.callCount(), 1000);
  looked.mock.restore();
  units.mock.restore();
});
