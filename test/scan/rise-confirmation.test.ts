import t, { type Test } from 'tap';
import type { WalkedUnit } from '../../src/scan/messages.ts';
import { RiseConfirmation, type WalkReason } from '../../src/scan/rise-confirmation.ts';
import { ownTime } from '../own-time.ts';
import { unitAt } from './world.ts';

interface World {
  known: number | undefined;
  readonly holds: RiseConfirmation;
  /** The clock that decides, in milliseconds. */
  time: number;
  /** How often the unit was to be walked again, and why. */
  readonly again: WalkReason[];
  /** Gives a walk's result; resolves as `take` does. */
  take(
    bytes: number,
    packs: WalkedUnit['packs'],
    origin?: WalkReason,
    differing?: Partial<WalkedUnit>,
  ): Promise<string>;
  /** Resolves when the unit is to be walked again. */
  walk(): Promise<WalkReason>;
}

function world(t: Test, known: number | undefined): World {
  const again: WalkReason[] = [];
  let waiting: ((origin: WalkReason) => void) | null = null;
  const holds = new RiseConfirmation({
    walkAgain: (_, origin) => {
      again.push(origin);
      waiting?.(origin);
    },
    log: () => {},
    now: () => self.time,
  });
  // The timers of holds keep no process alive.
  const alive = setInterval(() => {}, 1000);
  t.teardown(() => {
    clearInterval(alive);
    holds.close();
  });
  const self: World = {
    known,
    time: 0,
    holds,
    again,
    take: (bytes, packs, origin = 'sweep', differing = {}) => {
      const walked: WalkedUnit = {
        unit: unitAt('/srv/a.git', 'repos'),
        inner: [],
        outcome: 'measured',
        bytes,
        files: 1,
        directories: 1,
        partial: false,
        unread: [],
        unreadCount: 0,
        leftovers: [],
        leftoverCount: 0,
        formerOwners: [],
        packs,
        packsIdentity: 'a',
        collectors: packs === 'collected' ? ['gc 1'] : [],
        certainBytes: packs === 'collected' ? 0 : bytes,
        objectBytes: bytes,
        ...differing,
      };
      const count = (counted: number): void => {
        self.known = counted;
      };
      return holds.take({ walked, origin, milliseconds: 1, knownBytes: self.known, count });
    },
    walk: () =>
      new Promise(resolve => {
        waiting = resolve;
      }),
  };
  return self;
}

t.test('what is settled counts at once, and so does a unit that was not known', async t => {
  for (const origin of ['sweep', 'change', 'confirmation'] as const) {
    const settled = world(t, 100);
    t.equal(await settled.take(200, 'still', origin), 'counted');
    t.equal(settled.known, 200);
    t.same(
      settled.holds.all().map(({ path }) => path),
      [],
    );
    for (const packs of ['fresh', 'changed', 'collected'] as const) {
      const unknown = world(t, undefined);
      t.equal(await unknown.take(200, packs, origin), 'counted');
      t.equal(unknown.known, 200);
    }
  }
});

t.test('a fall counts at once, whatever git is at', async t => {
  for (const packs of ['fresh', 'changed', 'collected'] as const) {
    const { take, holds, known } = world(t, 100);
    t.equal(known, 100);
    t.equal(await take(90, packs), 'counted');
    t.equal(await take(90, packs), 'counted', 'also when nothing changes');
    t.same(
      holds.all().map(({ path }) => path),
      [],
    );
  }
});

t.test('a rise during a gc does not count, and what the gc leaves does', async t => {
  const self = world(t, 100);
  const walk = self.walk();
  const fate = self.take(200, 'collected');
  t.same(
    self.holds.all().map(({ path }) => path),
    ['/srv/a.git'],
  );
  t.equal(await walk, 'sweep', 'it is walked again');
  void self.take(250, 'changed');
  t.equal(self.known, 100);
  await self.take(110, 'still');
  t.equal(self.known, 110);
  t.equal(await fate, 'counted');
  t.same(
    self.holds.all().map(({ path }) => path),
    [],
  );
});

t.test('after a push, new packs count when they are looked at a second time', async t => {
  const self = world(t, 100);
  const walk = self.walk();
  const taken = ownTime();
  const fate = self.take(200, 'fresh', 'change');
  t.equal(self.known, 100);
  t.equal(await walk, 'change');
  t.ok(taken() < 1000);
  const confirmed = self.walk();
  self.time = 99;
  void self.take(200, 'fresh', 'change');
  t.equal(self.known, 100, 'not before a moment has gone by');
  self.time = 100;
  await self.take(200, 'fresh', 'change');
  t.equal(self.known, 200);
  t.equal(await fate, 'counted');
  t.equal(await confirmed, 'confirmation', 'and are looked at once more later');
});

t.test('packs that changed between both looks are not believed', async t => {
  const self = world(t, 100);
  void self.take(200, 'fresh', 'change', { packsIdentity: 'a' });
  self.time = 1000;
  void self.take(200, 'fresh', 'change', { packsIdentity: 'b' });
  t.equal(self.known, 100);
  self.time = 1100;
  void self.take(200, 'fresh', 'change', { packsIdentity: 'b' });
  t.equal(self.known, 200);
});

t.test('a sweep waits until new packs are settled', async t => {
  const self = world(t, 100);
  void self.take(200, 'fresh');
  self.time = 1000;
  void self.take(200, 'fresh');
  t.equal(self.known, 100);
  void self.take(200, 'fresh', 'confirmation');
  t.equal(self.known, 100);
  void self.take(200, 'still');
  t.equal(self.known, 200);
});

t.test('of what never settles the least of two seconds counts', async t => {
  const self = world(t, 100);
  const fates: Promise<string>[] = [];
  for (const bytes of [200, 230, 260, 290]) {
    fates.push(self.take(bytes, 'changed'));
    self.time += 500;
  }
  t.equal(self.known, 100);
  fates.push(self.take(320, 'changed'));
  t.equal(self.known, 200);
  t.equal(await fates[0], 'held');
  t.same(self.holds.all(), [{ path: '/srv/a.git', bytes: 120, why: 'packs come and go' }]);
  self.time += 500;
  void self.take(350, 'changed');
  t.equal(self.known, 230, 'and so it goes on');
  t.equal(await fates[1], 'held', 'each who asked is told after two seconds');
});

t.test('while packs or loose objects become fewer, the least of six seconds counts', async t => {
  const self = world(t, 100);
  for (const bytes of [300, 280, 260, 240, 220, 200]) {
    void self.take(bytes, 'changed');
    self.time += 1000;
  }
  t.equal(self.known, 100);
  void self.take(180, 'changed');
  t.equal(self.known, 180);
  t.same(self.holds.all(), []);
});

t.test('what a gc may be holding twice waits for its end, all else counts at the second look', async t => {
  const self = world(t, 100);
  const pushed = (bytes: number, certainBytes: number) =>
    self.take(bytes, 'collected', 'change', { certainBytes });
  const first = pushed(200, 160);
  t.equal(self.known, 100);
  self.time = 100;
  void pushed(210, 170);
  t.equal(self.known, 160, 'the less of both');
  self.time = 2000;
  void pushed(210, 170);
  t.equal(await first, 'held');
  t.equal(self.known, 170);
  t.same(self.holds.all(), [{ path: '/srv/a.git', bytes: 40, why: 'a gc is at work' }]);
  t.equal(await pushed(220, 220), 'counted', 'where nothing is held twice nothing is held back');
  t.equal(self.known, 220);
  t.same(self.holds.all(), []);
});

t.test('pushes that start one gc after the other count while they last', async t => {
  const self = world(t, 100);
  for (let walk = 0; walk <= 20; walk++) {
    void self.take(200 + walk, 'collected', 'change', { collectors: [`gc ${walk}`] });
    self.time += 100;
  }
  t.equal(self.known, 200);
});

t.test('what was seen during a gc does not count as what came after', async t => {
  const self = world(t, 100);
  for (const packs of ['collected', 'changed', 'changed'] as const) {
    void self.take(packs === 'collected' ? 150 : 200, packs);
    self.time += 6000;
  }
  t.equal(self.known, 200);
});

t.test('who waits for a unit in a gc is told after two seconds that it is held', async t => {
  const self = world(t, 100);
  const fates = [self.take(200, 'collected'), self.take(200, 'collected')];
  self.time = 2000;
  void self.take(200, 'collected');
  t.same(await Promise.all(fates), ['held', 'held']);
  t.equal(self.known, 100);
  self.time = 3_599_999;
  void self.take(190, 'collected');
  t.equal(self.known, 100);
  self.time = 3_600_000;
  void self.take(200, 'collected');
  t.equal(self.known, 190, 'a gc is not waited for longer than an hour');
  t.same(self.holds.all(), []);
});

t.test('a unit that is gone is held no longer', async t => {
  const self = world(t, 100);
  const fate = self.take(200, 'collected');
  self.holds.drop('/srv/a.git');
  t.equal(await fate, 'dropped');
  t.same(
    self.holds.all().map(({ path }) => path),
    [],
  );
  t.equal(self.known, 100);
});
