/** The slope of usage, and the day on which a limit is reached. */

import fc from 'fast-check';
import t from 'tap';
import { growthOf, reachedAt } from '../../src/overview/index.ts';

const dayMs = 86_400_000;
const begin = Date.parse('2026-11-01T23:00:00Z');

const daily = (sizes: readonly number[]) => sizes.map((bytes, day) => ({ at: begin + day * dayMs, bytes }));

t.test('what grows evenly grows by that', async t => {
  t.strictSame(growthOf(daily([100, 110, 120, 130])), { perDay: 10, since: begin });
  t.strictSame(growthOf(daily([130, 120, 110])), { perDay: -10, since: begin });
  t.strictSame(growthOf(daily([5, 5, 5])), { perDay: 0, since: begin });
});

t.test('before there are points two days apart nothing is said', async t => {
  t.equal(growthOf([]), null);
  t.equal(growthOf(daily([1, 2])), null);
  t.strictSame(growthOf(daily([1, 2, 3])), { perDay: 1, since: begin });
  const apart = (ms: number) =>
    growthOf([
      { at: 0, bytes: 0 },
      { at: ms, bytes: 6 },
    ]);
  t.equal(apart(2 * dayMs - 1), null);
  t.strictSame(apart(2 * dayMs), { perDay: 3, since: 0 });
});

t.test('a limit is reached where the growth leads to it', async t => {
  const now = begin;
  t.equal(reachedAt(10, 100, 150, now), now + 5 * dayMs);
  for (const [why, perDay, used, limit] of [
    ['no limit', 10, 100, -1],
    ['it shrinks', -10, 100, 150],
    ['it stays', 0, 100, 150],
    ['it is reached', 10, 150, 150],
    ['it is passed', 10, 160, 150],
    ['not within ten years', 1, 0, 3653],
  ] as const) {
    t.equal(reachedAt(perDay, used, limit, now), null, why);
  }
  t.equal(reachedAt(1, 0, 3652, now), now + 3652 * dayMs);
});

const anySizes = fc.array(fc.nat(2 ** 40), { minLength: 3, maxLength: 29 });

t.test('the same usage and so much more grows the same, and earlier or later too', async () => {
  fc.assert(
    fc.property(anySizes, fc.nat(2 ** 40), fc.integer({ min: -9, max: 9 }), (sizes, more, days) => {
      const points = daily(sizes);
      const moved = points.map(({ at, bytes }) => ({ at: at + days * dayMs, bytes: bytes + more }));
      return growthOf(moved)?.perDay === growthOf(points)?.perDay;
    }),
  );
});

t.test('turned round it goes back as much as it came', async () => {
  fc.assert(
    fc.property(anySizes, sizes => {
      const there = growthOf(daily(sizes))?.perDay ?? 0;
      const back = growthOf(daily(sizes.toReversed()))?.perDay ?? 0;
      // A half is rounded up in both directions.
      return Math.abs(there + back) <= 1;
    }),
  );
});

t.test('it is within the steepest and the flattest of all days', async () => {
  fc.assert(
    fc.property(anySizes, sizes => {
      const steps = sizes.slice(1).map((bytes, day) => bytes - (sizes[day] ?? 0));
      const perDay = growthOf(daily(sizes))?.perDay ?? Number.NaN;
      return perDay >= Math.min(...steps) && perDay <= Math.max(...steps);
    }),
  );
});

t.test('one day that is like no other, whatever it is, does not turn it', async () => {
  const grows = fc.record({
    days: fc.integer({ min: 8, max: 29 }),
    perDay: fc.integer({ min: -(2 ** 30), max: 2 ** 30 }),
    odd: fc.nat(28),
    bytes: fc.maxSafeNat(),
  });
  fc.assert(
    fc.property(grows, ({ days, perDay, odd, bytes }) => {
      const sizes = Array.from({ length: days }, (_, day) => 2 ** 40 + day * perDay);
      sizes[odd % days] = bytes;
      return growthOf(daily(sizes))?.perDay === perDay;
    }),
  );
});
