/** Long answers are put together in slices, and are the same as those of one step. */

import fc from 'fast-check';
import t from 'tap';
import { isLong, writeJson } from '../../src/api/json-text.ts';
import { pageOf } from '../../src/api/pages.ts';
import { runToEnd } from '../../src/slices.ts';
import { sorted } from '../../src/sorting.ts';

interface Numbered {
  readonly rank: number;
  readonly index: number;
}

const byRank = (a: Numbered, b: Numbered) => a.rank - b.rank;
const numbered = fc
  .array(fc.integer({ min: 0, max: 50 }), { maxLength: 700, size: 'max' })
  .map(ranks => ranks.map((rank, index): Numbered => ({ rank, index })));

t.test('a sorted list is as the engine sorts it, also where entries are equal', async t => {
  fc.assert(
    fc.property(numbered, entries => {
      t.strictSame(runToEnd(sorted(entries, byRank)), entries.toSorted(byRank));
    }),
    { numRuns: 50 },
  );
});

t.test('a page is that part of the sorted list, near its beginning and far from it', async t => {
  const all = Array.from({ length: 10_000 }, (_, index) => ({ rank: (index * 7919) % 10_007, index }));
  const inOrder = all.toSorted(byRank);
  for (const [page, limit] of [
    [1, 50],
    [3, 7],
    [200, 50],
    [10, 1000],
    [400, 50],
    [143, 70],
    [9999, 1],
    [201, 50],
    [1000, 50],
  ] as const) {
    const found = await pageOf(all, { page, limit }, byRank);
    t.strictSame(found, { entries: inOrder.slice((page - 1) * limit, page * limit), total: all.length });
  }
});

t.test('what is not meant is on no page, and is not counted', async t => {
  const all = Array.from({ length: 10_000 }, (_, index) =>
    index % 3 === 0 ? { rank: (index * 7919) % 10_007, index } : null,
  );
  const meant = all.filter(entry => entry !== null).toSorted(byRank);
  for (const page of [1, 30, 67, 68]) {
    const found = await pageOf(all, { page, limit: 50 }, byRank);
    t.strictSame(found, { entries: meant.slice((page - 1) * 50, page * 50), total: meant.length });
  }
});

t.test('a long list of which nothing is meant gives way to others', async t => {
  let turns = 0;
  const takeTurn = () => {
    turns += 1;
    next = setImmediate(takeTurn);
  };
  let next = setImmediate(takeTurn);
  const end = performance.now() + 10_000;
  const nothing = function* (): Generator<Numbered | null> {
    while (turns < 5 && performance.now() < end) yield null;
  };
  t.strictSame(await pageOf(nothing(), { page: 1, limit: 50 }, byRank), { entries: [], total: 0 });
  clearImmediate(next);
  t.ok(turns >= 5, `${turns} turns`);
});

t.test('equal entries stay in their order on every page', async t => {
  const all = Array.from({ length: 6000 }, (_, index) => ({ rank: index % 3, index }));
  const pages = Array.from({ length: 60 }, (_, index) => index + 1);
  const found = await Promise.all(pages.map(page => pageOf(all, { page, limit: 100 }, byRank)));
  t.strictSame(
    found.flatMap(({ entries }) => entries),
    all.toSorted(byRank),
  );
});

t.test('the last page takes few looks at each entry, as the first does', async t => {
  const all = Array.from({ length: 100_000 }, (_, index) => ({ rank: (index * 7919) % 100_003, index }));
  for (const page of [1, 1999, 2000]) {
    let compared = 0;
    await pageOf(all, { page, limit: 50 }, (a, b) => {
      compared += 1;
      return byRank(a, b);
    });
    t.ok(compared < 2 * all.length, `${compared} comparisons for page ${page}`);
  }
});

t.test('no step of sorting a long list looks at many entries', async t => {
  let compared = 0;
  let most = 0;
  const entries = Array.from({ length: 20_000 }, (_, index) => ({ rank: (index * 7919) % 20_011, index }));
  const work = sorted(entries, (a, b) => {
    compared += 1;
    return byRank(a, b);
  });
  for (let step = work.next(); !step.done; step = work.next()) {
    most = Math.max(most, compared);
    compared = 0;
  }
  t.ok(most < 1000, `${most} comparisons in one step`);
});

const small = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant(undefined));
const list = fc.array(small, { maxLength: 80, size: 'max' });
const value = fc.oneof(small, list, fc.record({ list, small }));

t.test('JSON that is written in slices is that of the engine', async t => {
  let long = 0;
  fc.assert(
    fc.property(fc.array(value, { maxLength: 5 }), values => {
      const whole = { first: undefined, values, 'last "one"': [undefined, 1.5, '\u2028'] };
      if (isLong(whole)) long += 1;
      const pieces: string[] = [];
      runToEnd(writeJson(whole, piece => pieces.push(piece)));
      t.equal(pieces.join(''), JSON.stringify(whole));
    }),
    { numRuns: 100 },
  );
  t.ok(long > 10);
});

t.test('a long text comes in pieces, after many steps', async t => {
  const rows = Array.from({ length: 5000 }, (_, index) => ({
    name: `owner-${index}`,
    tree: { total: index },
  }));
  const pieces: string[] = [];
  let steps = 0;
  for (const _ of writeJson({ rows }, piece => pieces.push(piece))) steps += 1;
  t.ok(steps >= rows.length);
  t.ok(pieces.length > 1);
  t.equal(pieces.join(''), JSON.stringify({ rows }));
});
