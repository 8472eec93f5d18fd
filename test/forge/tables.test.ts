/** The tables that readings are put together in, and which parts of a reading are due. */

import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import t from 'tap';
import { DueParts } from '../../src/forge/due.ts';
import { LfsSums } from '../../src/forge/object-sums.ts';
import { OwnerRows } from '../../src/forge/owner-rows.ts';

const total = (sizes: Iterable<number>) => [...sizes].reduce((sum, size) => sum + size, 0);

/** Five owners with a repository each, of the same number. */
function fiveOwners() {
  const [owners, repositories] = [new OwnerRows(), new Map<number, number>()];
  for (let id = 0; id < 5; id++) {
    owners.put({ id, name: `owner ${id}`, type: 'user', email: '', isAdmin: false });
    repositories.set(id, id);
  }
  return { owners, repositories };
}

t.test('an object counts once for each of its owners, and for nobody where it has none', async t => {
  const objects = Array.from({ length: 500 }, () => randomBytes(32).toString('hex'));
  const pair = fc.tuple(fc.integer({ min: 0, max: 499 }), fc.integer({ min: 0, max: 7 }));
  fc.assert(
    fc.property(fc.array(pair, { maxLength: 5000 }), pairs => {
      const lfs = new LfsSums(fiveOwners());
      const owned = Array.from({ length: 5 }, () => new Set<number>());
      for (const [object, repository] of pairs) {
        lfs.add(objects[object] ?? '', object, repository);
        owned[repository]?.add(object);
      }
      const sums = lfs.sums();
      const all = new Set(pairs.map(([object]) => object));
      const orphans = [...all].filter(object => !owned.some(own => own.has(object)));
      const found = sums.unowned.get('lfs_orphaned') ?? { count: 0, bytes: 0 };
      return (
        found.count === orphans.length &&
        found.bytes === total(orphans) &&
        owned.every((own, row) => sums.of('size:git:lfs', row) === total(own))
      );
    }),
    { numRuns: 50 },
  );
  const lfs = new LfsSums(fiveOwners());
  for (let n = 0; n < 10_000; n++) lfs.add(`${n.toString(16).padStart(26, '0')}${'0'.repeat(38)}`, 1, 1);
  t.equal(lfs.sums().of('size:git:lfs', 1), 10_000, 'names that begin alike are told apart');
});

t.test('an owner who comes back is told again, whatever the id is', async t => {
  const owners = new OwnerRows();
  const read = (...ids: number[]) => {
    owners.begin();
    const told = ids.filter(id => owners.put({ id, name: 'a', type: 'user', email: '', isAdmin: false }));
    return [told, owners.hasPresenceChanged, [...owners.presentIds()]];
  };
  t.same(read(2, 7), [[2, 7], true, [2, 7]]);
  t.same(read(2, 7), [[], false, [2, 7]]);
  t.same(read(7), [[], true, [7]]);
  t.same(read(1, 2), [[1, 2], true, [1, 2]]);
});

t.test(
  'a part is read at once after a change if it is cheap, and rests in proportion if it is not',
  async t => {
    let now = 0;
    const due = new DueParts({ small: ['a'], large: ['b'] }, () => now);
    const marks = (whole: string, a: string, b: string) => ({
      whole,
      tables: new Map([
        ['a', a],
        ['b', b],
      ]),
    });
    const parts = (m: ReturnType<typeof marks>, full = false) => [...due.due(m, full).parts];
    t.strictSame(parts(marks('1', '1', '1')), ['small', 'large'], 'everything at first');
    due.read(
      new Map([
        ['small', 1],
        ['large', 1000],
      ]),
      marks('1', '1', '1'),
    );
    now = 2000;
    t.strictSame(parts(marks('1', '1', '1')), [], 'nothing is new');
    t.strictSame(parts(marks('2', '2', '2')), ['small'], 'the large part rests');
    t.strictSame(parts(marks('2', '2', '2'), true), ['small', 'large'], 'but for a full reading');
    now = 5000;
    t.strictSame(parts(marks('2', '1', '2')), ['small', 'large'], 'its own tables have changed');
    t.strictSame(parts(marks('2', '1', '1')), ['small'], 'something else has changed');
    now = 50_000;
    t.strictSame(parts(marks('2', '1', '1')), ['small', 'large']);
  },
);
