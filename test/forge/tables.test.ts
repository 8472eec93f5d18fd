/** Objects are counted by owners, and parts of a database are read when they are due. */

import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { mock } from 'node:test';
import fc from 'fast-check';
import t, { type Test } from 'tap';
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

/** A forge in MySQL, which does not tell that anything in the database has changed, on a clock of its own. */
function slowForge(t: Test) {
  const { now } = performance;
  const clock = { passedMs: 0 };
  const mocked = mock.method(performance, 'now', () => now.call(performance) + clock.passedMs);
  t.teardown(() => mocked.mock.restore());
  const there = { isMade: false };
  const counted = { lfs: 0 };
  const gitea = giteaSchema(
    () => null,
    () => false,
  );
  const { lfs } = gitea.byteParts;
  if (lfs === undefined) throw new Error('Gitea has LFS objects');
  const schema: ForgeSchema = {
    ...gitea,
    eachOwner: (db, take) => {
      clock.passedMs += 1000;
      return gitea.eachOwner(db, take);
    },
    eachRepository: (db, owners, take) => {
      clock.passedMs += 1000;
      return gitea.eachRepository(db, owners, repository => {
        if (there.isMade || !repository.name.startsWith('alice/')) take(repository);
      });
    },
    byteParts: {
      ...gitea.byteParts,
      lfs: {
        ...lfs,
        count: (db, whose) => {
          counted.lfs += 1;
          return lfs.count(db, whose);
        },
      },
    },
  };
  const file = join(folderWith(t, {}), 'gitea.db');
  writeSqlite(file);
  const sqlite = openSqlite(file);
  t.teardown(() => sqlite.close());
  const marks = new Map<string, string>();
  const db = Object.assign(sqlite, { marks: async () => ({ whole: null, tables: marks }) });
  const reading = new ForgeReading(schema, 'seed');
  const bytes = () => {
    const alice = [...reading.owners.values()].find(({ name }) => name === 'alice')?.id ?? 0;
    return reading.sums.get('lfs')?.of('size:git:lfs', alice);
  };
  let version = 0;
  const change = (...tables: readonly string[]) => {
    version += 1;
    for (const table of tables) marks.set(table, String(version));
  };
  return { clock, there, counted, change, bytes, read: () => reading.read(db, false) };
}

t.test('objects of a repository that rests are counted when it is read, without another change', async t => {
  const { clock, there, change, bytes, read } = slowForge(t);
  await read();
  there.isMade = true;
  change('repository', 'lfs_meta_object');
  await read();
  t.equal(bytes(), 0, 'the repository rests');
  clock.passedMs += 60_000;
  const news = await read();
  t.ok(Number(bytes()) > 0);
  t.match(news, { haveLinesChanged: true, drift: [] });
  t.equal(await read(), null, 'and no more');
});

t.test('objects are counted once more when accounts and repositories were read in turn', async t => {
  const { clock, there, counted, change, bytes, read } = slowForge(t);
  await read();
  for (const [table, waitMs] of [
    ['user', 6000],
    ['repository', 3000],
  ] as const) {
    change(table);
    clock.passedMs += waitMs;
    await read();
  }
  there.isMade = true;
  change('lfs_meta_object');
  const counts: (readonly [counts: number, isCounted: boolean])[] = [];
  for (let readings = 0; readings < 9; readings++) {
    change('user', 'repository');
    await read();
    counts.push([counted.lfs, Number(bytes()) > 0]);
    clock.passedMs += 3000;
  }
  t.strictSame(counts, [[2, false], [2, false], ...Array.from({ length: 7 }, () => [3, true])]);
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
