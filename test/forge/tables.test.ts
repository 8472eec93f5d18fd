/** The packed tables that readings are put together in have the same laws as maps and sets. */

import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import t from 'tap';
import { DueParts } from '../../src/forge/due.ts';
import { IdTable } from '../../src/forge/id-table.ts';
import { ObjectTable } from '../../src/forge/object-table.ts';

t.test('a table by ids has what a map would have', async t => {
  const ids = fc.uniqueArray(fc.integer({ min: 0, max: 2 ** 40 }), { maxLength: 3000 });
  fc.assert(
    fc.property(ids, fc.array(fc.integer({ min: 0, max: 2 ** 40 })), (known, others) => {
      const sorted = [...known].sort((a, b) => a - b);
      const table = new IdTable();
      for (const id of sorted) table.add(id, id * 2);
      const map = new Map(sorted.map(id => [id, id * 2]));
      return table.size === map.size && [...sorted, ...others].every(id => table.get(id) === map.get(id));
    }),
    { numRuns: 50 },
  );
  t.equal(new IdTable().get(0), undefined);
});

t.test('an object is new once, shared once for each further owner, and known from then on', async t => {
  const objects = Array.from({ length: 500 }, () => randomBytes(16).toString('hex'));
  const pair = fc.tuple(fc.integer({ min: 0, max: 499 }), fc.integer({ min: 0, max: 4 }));
  fc.assert(
    fc.property(fc.array(pair, { maxLength: 5000 }), pairs => {
      const table = new ObjectTable();
      const model = new Map<string, Set<number>>();
      return pairs.every(([index, owner]) => {
        const object = objects[index] ?? '';
        const owners = model.get(object) ?? new Set();
        const wanted = owners.has(owner) ? 'known' : owners.size > 0 ? 'shared' : 'new';
        model.set(object, owners.add(owner));
        return table.add(object, owner) === wanted;
      });
    }),
    { numRuns: 50 },
  );
  const table = new ObjectTable();
  for (let n = 0; n < 10_000; n++) table.add(n.toString(16).padStart(32, '0'), 1);
  t.equal(table.size, 10_000, 'names that begin alike are told apart');
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
