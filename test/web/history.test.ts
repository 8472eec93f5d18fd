/** Drawing and words of the history plot, without a browser. */

import fc from 'fast-check';
import t from 'tap';
import { leaves } from '../../src/quota/index.ts';
import type { Growth, History } from '../../src/wire/index.ts';
import { dayWords, growthWords } from '../../web/src/history/growth-words.ts';
import { nearest, plotOf, totalOf } from '../../web/src/history/plot.ts';

const day = 86_400_000;
const start = Date.UTC(2026, 9, 21, 12);
const frame = { width: 640, height: 240 };

const growing: Growth = {
  per_day: 200_000_000,
  since: at(0),
  used: 4_000_000_000,
  limit: 6_000_000_000,
  reached_at: at(20),
};

function at(days: number): string {
  return new Date(start + days * day).toISOString();
}

function historyOf(points: History['points'], growth: Growth | null = null): History {
  return { leaves, points, kept: { hourly_days: 14, daily_days: 1826 }, growth };
}

/** Private repositories and LFS objects. */
function point(days: number, repositories: number, lfs: number): History['points'][number] {
  return {
    at: at(days),
    bytes: leaves.map((_, index) => (index === 1 ? repositories : index === 2 ? lfs : 0)),
  };
}

const tenDays = historyOf(
  Array.from({ length: 11 }, (_, days) => point(days, 2e9 + days * 1e8, 1e8 * days)),
  growing,
);

t.test('growth is told by the week, with the day on which the limit is reached', async t => {
  const noon = '2027-02-03T12:00:00Z';
  t.equal(
    growthWords({ per_day: 1.2e9 / 7, since: at(0), used: 1e9, limit: 1e11, reached_at: noon }),
    `At the present growth of 1.2 GB a week the limit is reached on ${dayWords(noon)}.`,
  );
  t.match(dayWords(noon), /^2027-02-0[34]$/, 'where the reader is');
  t.match(growthWords({ ...growing, reached_at: null }), /the limit is not reached within ten years\.$/);
});

t.test('growth without a limit, none, and a limit that is reached have words of their own', async t => {
  t.equal(growthWords(null), 'Growth is shown after two days of data.');
  t.equal(growthWords({ ...growing, limit: -1 }), 'Usage has grown by 1.4 GB a week in the last weeks.');
  t.equal(
    growthWords({ ...growing, limit: null, used: null }),
    'Usage has grown by 1.4 GB a week in the last weeks.',
  );
  t.equal(growthWords({ ...growing, per_day: 0 }), 'Usage has not changed in the last weeks.');
  t.equal(growthWords({ ...growing, per_day: -1000 }), 'Usage has fallen by 7 kB a week in the last weeks.');
  t.equal(
    growthWords({ ...growing, used: 7e9, reached_at: null }),
    'The limit of 6 GB is reached. Usage has grown by 1.4 GB a week in the last weeks.',
  );
  t.equal(
    growthWords({ ...growing, limit: 0, per_day: 0 }),
    'The limit is 0. Usage has not changed in the last weeks.',
  );
});

t.test('by kind, only kinds that there ever was something of are drawn, and no limit', async t => {
  const plot = plotOf(tenDays, 'kinds', frame);
  t.same(
    plot.bands.map(({ leaf }) => leaf),
    ['size:repos:private', 'size:git:lfs'],
  );
  t.equal(plot.limitAt, null);
  t.equal(plot.ahead, null);
  t.equal(plot.across[0], plot.inner.left);
  t.equal(plot.across.at(-1), plot.inner.right);
});

t.test('against the limit, the growth goes on to the limit where that is near', async t => {
  const soon = historyOf(tenDays.points, { ...growing, reached_at: at(14) });
  const plot = plotOf(soon, 'limit', frame);
  t.same(plot.bands, []);
  t.ok(plot.limitAt !== null && plot.limitAt > plot.inner.top && plot.limitAt < plot.inner.bottom);
  t.ok(plot.ahead?.endsWith(`L${plot.inner.right},${plot.limitAt}`), 'it ends where the lines meet');
  t.ok((plot.across.at(-1) ?? 0) < plot.inner.right, 'time goes on');
});

t.test('growth towards a limit that is far off ends at the edge, below the limit', async t => {
  const plot = plotOf(tenDays, 'limit', frame);
  const end = Number(plot.ahead?.split(',').at(-1));
  t.ok(plot.limitAt !== null && end > plot.limitAt && end < (plot.heights.at(-1) ?? 0));
});

t.test('nothing is carried forward that shrinks, is over its limit, or has none', async t => {
  for (const growth of [
    null,
    { ...growing, per_day: -5 },
    { ...growing, limit: 1_000_000_000, reached_at: null },
    { ...growing, limit: -1 },
    { ...growing, limit: 0 },
  ]) {
    t.equal(plotOf(historyOf(tenDays.points, growth), 'limit', frame).ahead, null, JSON.stringify(growth));
  }
});

t.test('all that is drawn lies within its frame, however small, and more bytes stand higher', async _t => {
  const amount = fc.integer({ min: 0, max: 2 ** 50 });
  const growth = fc.record({
    per_day: fc.integer({ min: -1e9, max: 1e12 }),
    since: fc.constant(at(0)),
    used: fc.option(amount),
    limit: fc.option(fc.integer({ min: -1, max: 2 ** 50 })),
    reached_at: fc.option(fc.integer({ min: 0, max: 3000 }).map(at)),
  });
  fc.assert(
    fc.property(
      fc.array(fc.tuple(amount, amount), { minLength: 2, maxLength: 40 }),
      fc.option(growth),
      fc.constantFrom('kinds' as const, 'limit' as const),
      fc.integer({ min: 1, max: 2000 }),
      (amounts, how, picture, width) => {
        const history = historyOf(
          amounts.map(([repositories, lfs], days) => point(days, repositories, lfs)),
          how,
        );
        const plot = plotOf(history, picture, { width, height: 240 });
        const { left, right, top, bottom } = plot.inner;
        const inside = (x: number, y: number) =>
          x >= left - 0.01 && x <= right + 0.01 && y >= top - 0.01 && y <= bottom + 0.01;
        const drawn = [plot.total, plot.ahead ?? '', ...plot.bands.map(({ path }) => path)].join('');
        for (const [, x, y] of drawn.matchAll(/[ML](-?[\d.e-]+),(-?[\d.e-]+)/g)) {
          if (!inside(Number(x), Number(y))) return false;
        }
        if (plot.limitAt !== null && !inside(left, plot.limitAt)) return false;
        const totals = history.points.map(totalOf);
        return totals.every((total, index) =>
          totals.every(
            (other, beside) => total <= other || (plot.heights[index] ?? 0) <= (plot.heights[beside] ?? 0),
          ),
        );
      },
    ),
  );
});

t.test('the pointer reads the point that stands nearest', async t => {
  t.equal(nearest([10, 20, 40], 29), 1);
  t.equal(nearest([10, 20, 40], 31), 2);
  t.equal(nearest([10, 20, 40], -100), 0);
  t.equal(nearest([10, 20, 40], 1000), 2);
});
