import t from 'tap';
import type { WalkJob } from '../../src/scan/pool.ts';
import { Targets } from '../../src/scan/unit-measuring.ts';

// Rests keep no process alive; a daemon has its sockets for that.
const alive = setInterval(() => {}, 1000);
t.teardown(() => clearInterval(alive));

const path = '/srv/git/alice/large.git';
/** Time of its rest that a unit may put off. */
const putOffMs = 4000;
/** A timer may be early by the part of a millisecond that it cannot count. */
const earlyMs = 2;

/** A pool whose walks seem to take so long, and when each of them ended. */
function poolOf(walkMs: number) {
  const endedMs: number[] = [];
  const add = (job: WalkJob): void => {
    job.begin?.();
    setImmediate(() => {
      const now = performance.now();
      endedMs.push(now);
      const start = { seq: endedMs.length, at: Date.now(), monotonicMs: now - walkMs };
      job.done({ outcome: 'stopped' }, start, job.task);
    });
  };
  return { add, endedMs };
}

t.test('however often somebody says that a unit has changed, it rests between two long walks', async t => {
  const walkMs = 1050;
  const { add, endedMs } = poolOf(walkMs);
  const targets = new Targets({ add }, async () => 'stopped');
  const asked: Promise<unknown>[] = [];
  while (endedMs.length < 2) {
    asked.push(targets.measure(path, 'change'));
    await new Promise(resolve => setImmediate(resolve));
  }
  await Promise.all(asked);
  const [first = 0, second = 0] = endedMs;
  t.ok(second - first >= 4 * walkMs - putOffMs - earlyMs, 'the second walk begins after the rest');
  t.ok(endedMs.length <= 3, 'what was asked for during the rest is one walk');
});

t.test('short walks follow each other at once, until they have taken a fifth of the time', async t => {
  const walkMs = 200;
  const { add, endedMs } = poolOf(walkMs);
  const targets = new Targets({ add }, async () => 'stopped');
  const begunMs = performance.now();
  for (let walk = 0; walk < 4; walk++) await targets.measure(path, 'change');
  t.ok(performance.now() - begunMs < 4 * walkMs, 'the walks of a push and of what follows it do not wait');
  while (endedMs.length < 7) await targets.measure(path, 'change');
  t.ok(
    performance.now() - begunMs >= 6 * 4 * walkMs - putOffMs - earlyMs,
    'who goes on asking waits as long as without it',
  );
});

t.test('a unit that rests keeps no other waiting', async t => {
  const walkMs = 2000;
  const { add, endedMs } = poolOf(walkMs);
  const targets = new Targets({ add }, async () => 'stopped');
  await targets.measure(path, 'change');
  await targets.measure('/srv/git/bob/other.git', 'change');
  const [first = 0, second = 0] = endedMs;
  t.ok(second - first < 4 * walkMs - putOffMs, 'another unit does not wait for it');
});

t.test('when a unit has rested nothing is kept of it, though its timer is early', async t => {
  const made: Map<unknown, unknown>[] = [];
  const NativeMap = Map;
  class ListedMap extends NativeMap<unknown, unknown> {
    constructor() {
      super();
      made.push(this);
    }
  }
  t.intercept(globalThis, 'Map', { value: ListedMap });
  const targets = new Targets(poolOf(200), async () => 'stopped');
  t.intercept(globalThis, 'Map', { value: NativeMap });
  const early = (act: () => void) => setImmediate(act);
  t.intercept(globalThis, 'setTimeout', { value: early });
  await targets.measure(path, 'change');
  await new Promise(resolve => setImmediate(resolve));
  t.same(
    made.map(({ size }) => size),
    [0, 0],
  );
});
