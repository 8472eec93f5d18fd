import t from 'tap';
import type { WalkJob } from '../../src/scan/pool.ts';
import { monotonic } from '../../src/scan/shared.ts';
import { Targets } from '../../src/scan/targets.ts';

// Rests keep no process alive; a daemon has its sockets for that.
const alive = setInterval(() => {}, 1000);
t.teardown(() => clearInterval(alive));

const path = '/srv/git/alice/large.git';
const walkMs = 40;

/** A pool whose walks take `walkMs`, and when each of them began and ended. */
function slowPool() {
  const walks: { begunMs: number; endedMs: number }[] = [];
  const add = (job: WalkJob): void => {
    const begunMs = monotonic();
    job.begin?.();
    setTimeout(() => {
      walks.push({ begunMs, endedMs: monotonic() });
      job.done({ outcome: 'stopped' }, { seq: walks.length, at: Date.now(), monotonicMs: begunMs });
    }, walkMs);
  };
  return { add, walks };
}

t.test('however often somebody says that a unit has changed, it rests between two walks', async t => {
  const { add, walks } = slowPool();
  const targets = new Targets({ add }, async () => 'stopped');
  const asked: Promise<unknown>[] = [];
  while (walks.length < 2) {
    asked.push(targets.measure(path, 'change'));
    await new Promise(resolve => setImmediate(resolve));
  }
  await Promise.all(asked);
  const [first, second] = walks;
  if (first === undefined || second === undefined) return t.fail('there were no two walks');
  const tookMs = first.endedMs - first.begunMs;
  // A timer may be early by the part of a millisecond that it cannot count.
  t.ok(second.begunMs - first.endedMs >= 4 * tookMs - 2, 'the second walk begins after the rest');
  t.ok(walks.length <= 3, 'what was asked for during the rest is one walk');
});

t.test('a unit that has rested is walked at once', async t => {
  const { add, walks } = slowPool();
  const targets = new Targets({ add }, async () => 'stopped');
  await targets.measure(path, 'change');
  await targets.measure('/srv/git/bob/other.git', 'change');
  const [first, second] = walks;
  if (first === undefined || second === undefined) return t.fail('there were no two walks');
  t.ok(second.begunMs - first.endedMs < 4 * walkMs, 'another unit does not wait for it');
});
