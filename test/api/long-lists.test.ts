/** Pages of long lists. */

import t from 'tap';
import { pageOf } from '../../src/api/pages.ts';

interface Numbered {
  readonly rank: number;
  readonly index: number;
}

const byRank = (a: Numbered, b: Numbered) => a.rank - b.rank;
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
