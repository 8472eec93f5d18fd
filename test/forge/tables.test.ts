/** Objects are counted by owners, and parts of a database are read when they are due. */

import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { mock } from 'node:test';
import fc from 'fast-check';
import t from 'tap';
import { type ForgeSchema, ObjectSums } from '../../src/forge/forge-schema.ts';
import { giteaSchema } from '../../src/forge/gitea.ts';
import { ForgeReading, stateOfPart } from '../../src/forge/reading.ts';
import { openSqlite } from '../../src/forge/sqlite.ts';
import { folderWith } from '../config/written.ts';
import { writeSqlite } from './fixture.ts';

const total = (sizes: Iterable<number>) => [...sizes].reduce((sum, size) => sum + size, 0);

/** Five owners with a repository each, of the same number. */
const ids = [0, 1, 2, 3, 4];
const whose = {
  owners: new Map(
    ids.map(id => [id, { id, name: `owner ${id}`, type: 'user' as const, email: '', isAdmin: false }]),
  ),
  repositories: new Map(ids.map(id => [id, id])),
};

t.test('an object counts once for each of its owners, and for nobody where it has none', async () => {
  const objects = Array.from({ length: 500 }, () => randomBytes(32).toString('hex'));
  const pair = fc.tuple(fc.integer({ min: 0, max: 499 }), fc.integer({ min: 0, max: 7 }));
  fc.assert(
    fc.property(fc.array(pair, { maxLength: 5000 }), pairs => {
      const lfs = new ObjectSums<string>();
      const owned = Array.from({ length: 5 }, () => new Set<number>());
      for (const [object, repository] of pairs) {
        lfs.add(objects[object] ?? '', object);
        lfs.addOwner(objects[object] ?? '', whose.repositories.get(repository));
        owned[repository]?.add(object);
      }
      const sums = lfs.sums('size:git:lfs', whose, 'lfs_orphaned');
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
});

t.test('an owner who comes back is told again, whatever the id is', async t => {
  let there: readonly number[] = [];
  const schema: ForgeSchema = {
    ...giteaSchema(
      () => null,
      () => false,
    ),
    eachOwner: async (_, take) => {
      for (const id of there) take({ id, name: `owner-${id}`, type: 'user', email: '', isAdmin: false });
    },
    members: async () => [],
  };
  const reading = new ForgeReading(schema, 'seed');
  const file = join(folderWith(t, {}), 'gitea.db');
  writeSqlite(file);
  const db = openSqlite(file);
  t.teardown(() => db.close());
  const read = async (...present: number[]) => {
    there = present;
    const { chunks = [] } = (await reading.read(db, true)) ?? {};
    return chunks.flatMap(chunk => {
      if (chunk.is === 'owners') return [chunk.owners.map(({ id }) => id)];
      return chunk.is === 'present' ? [[...chunk.ids]] : [];
    });
  };
  t.strictSame(await read(2, 7), [
    [2, 7],
    [2, 7],
  ]);
  t.strictSame(await read(2, 7), []);
  t.strictSame(await read(7), [[7]]);
  t.strictSame(await read(1, 2), [
    [1, 2],
    [1, 2],
  ]);
});

t.test('objects of a repository that rests are counted when it is read, without another change', async t => {
  const { now } = performance;
  let passedMs = 0;
  const clock = mock.method(performance, 'now', () => now.call(performance) + passedMs);
  t.teardown(() => clock.mock.restore());
  let isMade = false;
  const gitea = giteaSchema(
    () => null,
    () => false,
  );
  const schema: ForgeSchema = {
    ...gitea,
    eachRepository: (db, owners, take) => {
      passedMs += 1000;
      return gitea.eachRepository(db, owners, repository => {
        if (isMade || !repository.name.startsWith('alice/')) take(repository);
      });
    },
  };
  const file = join(folderWith(t, {}), 'gitea.db');
  writeSqlite(file);
  const sqlite = openSqlite(file);
  t.teardown(() => sqlite.close());
  let marks: readonly (readonly [string, string])[] = [];
  // MySQL does not tell that anything in the database has changed.
  const db = Object.assign(sqlite, { marks: async () => ({ whole: null, tables: new Map(marks) }) });
  const reading = new ForgeReading(schema, 'seed');
  await reading.read(db, false);
  const alice = [...reading.owners.values()].find(({ name }) => name === 'alice')?.id ?? 0;
  const bytes = () => reading.sums.get('lfs')?.of('size:git:lfs', alice);
  isMade = true;
  marks = ['repository', 'lfs_meta_object'].map(table => [table, '2']);
  await reading.read(db, false);
  t.equal(bytes(), 0, 'the repository rests');
  passedMs += 60_000;
  const news = await reading.read(db, false);
  t.ok(Number(bytes()) > 0);
  t.match(news, { haveLinesChanged: true, drift: [] });
  t.equal(await reading.read(db, false), null, 'and no more');
});

t.test('a part is read at once after a change if it is cheap, and rests in proportion if not', async t => {
  const last = { own: '1', whole: '1', endedAt: 1000, tookMs: 1000 };
  t.equal(stateOfPart(undefined, '1', '1', 0), 'due', 'everything at first');
  for (const [own, whole, tookMs, now, state] of [
    ['1', '1', 1000, 900_000, 'unchanged'],
    ['2', '1', 200, 1000, 'due'],
    ['2', '2', 1000, 5999, 'resting'],
    ['2', '2', 1000, 6000, 'due'],
    // Something else has changed.
    ['1', '2', 1000, 50_999, 'resting'],
    ['1', '2', 1000, 51_000, 'due'],
    ['1', '2', 200, 1000, 'due'],
  ] as const) {
    t.equal(stateOfPart({ ...last, tookMs }, own, whole, now), state, `${own} ${whole} ${tookMs} ${now}`);
  }
});
