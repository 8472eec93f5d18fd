/**
 * Sweeps while nothing changes: what they read, what they tell, and what a verify finds that they cannot see.
 */

import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import t, { type Test } from 'tap';
import type { Scanner } from '../../src/scan/index.ts';
import { type Book, bareRepository, fill, independentCount, scanning, storage, temporary } from './world.ts';

t.setTimeout(300_000);

interface World {
  readonly root: string;
  readonly scanner: Scanner;
  readonly book: Book;
  readonly cacheFile: string;
  /** Sweeps, and gives the directories that were read, below the root. */
  readBy(kind?: 'sweep' | 'verify'): Promise<readonly string[]>;
  /** Starts a daemon with the cache and the figures of this one. */
  restart(): World;
}

const walkerCode = new URL('late-walker.ts', import.meta.url);

function world(t: Test): World {
  const root = temporary(t);
  const cacheFile = join(temporary(t), 'scan.db');
  const log = join(temporary(t), 'read');
  process.env.SOFTQUOTA_TEST_READ = log;
  const storages = [
    storage('repos', `${root}/git/{owner}/{repo}.git`),
    storage('lfs', `${root}/git/{owner}/{repo}.git/lfs`, `${root}/lfs/{owner}`),
  ];
  const open = (known: Book | null): World => {
    const { scanner, book } = scanning(t, storages, { walkerCode, cacheFile });
    for (const [path, unit] of known?.units ?? []) book.units.set(path, { ...unit, seq: 0 });
    const readBy: World['readBy'] = async (kind = 'sweep') => {
      rmSync(log, { force: true });
      await scanner.sweep({ kind }).done;
      const read = existsSync(log) ? readFileSync(log, 'utf8').split('\n') : [];
      // A repository's quarantine and packs are asked for by name.
      return read.filter(path => path !== '').map(path => path.slice(root.length + 1));
    };
    return { root, scanner, book, cacheFile, readBy, restart: () => open(book) };
  };
  return open(null);
}

function makeUnits(root: string): void {
  for (const owner of ['alice', 'bob']) {
    for (let each = 0; each < 20; each++) {
      const repository = join(root, 'git', owner, `${each}.git`);
      bareRepository(repository, 100 * each);
      fill(join(repository, 'lfs/ab/cd/abcd'), each);
    }
    for (let each = 0; each < 50; each++) fill(join(root, 'lfs', owner, `${each % 7}/${each}/file`), each);
  }
}

t.test('a sweep in which nothing has changed reads no directory of a unit', async t => {
  const { root, book, readBy, restart } = world(t);
  makeUnits(root);
  t.ok((await readBy()).length > 200, 'the first one reads all');
  const first = new Map(book.units);
  t.equal(first.size, 82);
  t.same(await readBy(), []);
  for (const [path, unit] of book.units) {
    const { seq = 0, measuredAt = 0, objects, ...same } = first.get(path) ?? unit;
    t.match(unit, same);
    t.ok(unit.seq > seq && unit.measuredAt >= measuredAt, 'it counts as measured anew');
  }
  const { bytes } = independentCount(root);
  const run = restart();
  t.same(await run.readBy(), [], 'nor after a restart');
  t.equal(run.scanner.runs()[0]?.progress().bytes, bytes, 'it tells of all that it stands for');
  t.ok((await run.readBy('verify')).length > 200, 'a verify reads all');
});

t.test('only what has changed is read', async t => {
  const { root, book, readBy } = world(t);
  makeUnits(root);
  await readBy();
  const pushed = join(root, 'git/alice/3.git');
  // The changes are those of a push.
  mkdirSync(join(pushed, 'objects/incoming-x'));
  fill(join(pushed, 'objects/12/56'), 1000);
  rmSync(join(pushed, 'objects/incoming-x'), { recursive: true });
  fill(join(root, 'lfs/bob/3/more'), 5);
  const read = await readBy();
  const units = ['git/alice/3.git', 'lfs/bob'];
  t.same(
    new Set(read.map(path => units.find(unit => `${path}/`.startsWith(`${unit}/`)) ?? path)),
    new Set(units),
  );
  t.notOk(read.includes('git/alice/3.git/lfs'), 'not the unit that is inside');
  t.equal(book.bytes(join(root, 'lfs/bob')), independentCount(join(root, 'lfs/bob')).bytes);
  t.same(await readBy(), []);
});

t.test('a verify reports what no sweep can see', async t => {
  const { root, scanner, book, readBy } = world(t);
  makeUnits(root);
  await readBy();
  const repository = join(root, 'git/alice/3.git');
  fill(join(repository, 'objects/12/an-object-without-a-push'), 1000);
  appendFileSync(join(root, 'lfs/bob/3/3/file'), 'more');
  t.same(await readBy(), []);
  t.ok((await readBy('verify')).length > 200);
  const drift = scanner.runs()[0]?.drift;
  t.match(drift, { units: 2, bytes: 1004 });
  t.same(await readBy('sweep'), [], 'what it found is known from then on');
  const all = [...book.units.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  t.equal(all, independentCount(root).bytes);
  fill(join(repository, 'objects/12/another'), 10);
  t.equal(await scanner.measureSoon(repository), 'counted');
  t.equal(
    book.bytes(repository),
    independentCount(repository, '-not', '-path', '*/lfs/*').bytes,
    'so does the walk of a unit that somebody asks for',
  );
});

t.test('nothing is left in the cache of what has gone once a verify is over', async t => {
  const { root, book, cacheFile, readBy } = world(t);
  makeUnits(root);
  await readBy();
  const database = new DatabaseSync(cacheFile);
  t.teardown(() => database.close());
  const all = database.prepare('SELECT CAST(path AS TEXT) AS path FROM signatures');
  const stores = () =>
    all.all().flatMap(({ path }) => (String(path).startsWith(join(root, 'lfs')) ? [path] : []));
  t.same(stores().length, 2);
  rmSync(join(root, 'lfs/alice'), { recursive: true });
  await readBy('verify');
  t.same(stores(), [join(root, 'lfs/bob')]);
  t.equal(all.all().length, 81);
  t.same(book.warnings, []);
});
