/** Rows that are gone at once are held back, unless somebody may well have deleted them. */

import t from 'tap';
import { forgeLeaves } from '../../src/forge/index.ts';
import { LossGuard, type RowSums } from '../../src/forge/loss-guard.ts';

/** LFS objects by the ids of owners, as rows and bytes. */
function objects(...owners: readonly (readonly [id: number, rows: number, bytes: number])[]): RowSums {
  return new Map([['size:git:lfs', new Map(owners.map(([id, rows, bytes]) => [id, { rows, bytes }]))]]);
}

/** Rows for each of four owners. */
const each = (rows: number, bytes = rows * 10) =>
  objects(...[1, 2, 3, 4].map(id => [id, rows, bytes] as const));
const nothing: RowSums = new Map();
const hour = 3_600_000;

/** Says why a reading is held back; empty: it is not. */
function held(guard: LossGuard, read: RowSums, now = 0, version = 343): Promise<string> {
  return guard
    .pass(read, async () => version, now)
    .then(
      () => '',
      error => String(error.message),
    );
}

async function heldAfter(known: RowSums, read: RowSums): Promise<string> {
  const guard = new LossGuard();
  await held(guard, known);
  return held(guard, read);
}

t.test('most rows and bytes, at least 20 rows, of more than one owner are held back', async t => {
  t.match(await heldAfter(each(100), nothing), '4 kB of 4 kB of size:git:lfs, of 4 owners');
  t.match(await heldAfter(each(100), each(49)), '2.04 kB of 4 kB');
  t.equal(await heldAfter(each(100), each(50)), '', 'half of them');
  t.equal(await heldAfter(each(100), each(49, 600)), '', 'rows of few bytes');
  t.equal(await heldAfter(each(100), each(60, 10)), '', 'bytes of few rows');
  t.match(await heldAfter(each(5), nothing), '20');
  t.equal(await heldAfter(each(5), objects([1, 1, 10])), '', '19 rows');
  const repositories = new Map([['repositories', each(5, 0).get('size:git:lfs') ?? new Map()]] as const);
  t.match(await heldAfter(repositories, nothing), '20 of 20 of repositories, of 4 owners');
});

t.test('one owner may delete everything, and several may give all of it to another', async t => {
  t.equal(await heldAfter(objects([1, 1000, 1000]), nothing), '');
  const known = objects([1, 1000, 1000], [2, 1, 1]);
  t.equal(await heldAfter(known, objects([2, 1, 1])), '');
  t.match(await heldAfter(known, nothing), 'of 2 owners');
  t.equal(await heldAfter(each(100), objects([5, 400, 4000])), '');
});

t.test('what is held counts when it is back, or after an hour with one version of the schema', async t => {
  const guard = new LossGuard();
  t.equal(await held(guard, each(100)), '', 'what comes first');
  t.not(await held(guard, nothing, 1000), '');
  t.equal(await held(guard, each(100), 2000), '', 'it is back');
  t.not(await held(guard, nothing, hour), '', 'the hour begins anew');
  t.not(await held(guard, nothing, 2 * hour - 1), '');
  t.not(await held(guard, nothing, 2 * hour, 344), '', 'a migration goes on');
  t.not(await held(guard, nothing, 3 * hour - 1, 344), '');
  t.equal(await held(guard, nothing, 3 * hour, 344), '');
  t.equal(await held(guard, nothing, 3 * hour, 344), '', 'and is what is known from then on');
});

t.test('what the ledger has is known before the first reading, without rows', async t => {
  const ledger = (...ids: readonly number[]) =>
    Float64Array.from(
      ids.flatMap(id => [id, ...forgeLeaves.map(leaf => (leaf === 'size:git:lfs' ? 500 : 0))]),
    );
  const guard = new LossGuard();
  guard.remember(ledger(1, 2));
  t.match(await held(guard, nothing), '1 kB of 1 kB of size:git:lfs, of 2 owners');
  t.equal(await held(guard, each(50)), '');
  guard.remember(ledger(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
  t.equal(await held(guard, each(50)), '', 'a reading is known better');

  const another = new LossGuard();
  another.remember(ledger());
  t.equal(await held(another, nothing), '', 'nothing is known');
});
