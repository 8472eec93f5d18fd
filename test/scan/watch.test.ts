/** Units that are made, removed and renamed while no sweep runs. */

import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { createScanner, type Measurement, type Scanner, type ScannerOptions } from '../../src/scan/index.ts';
import { hangingDisk } from './hanging.ts';
import { Book, bareRepository, fill, storage, temporary } from './world.ts';

/** A scanner that watches, and who waits for what its book says. */
function watching(t: Test, root: string, given: Partial<ScannerOptions> = {}) {
  const waiting = new Set<() => void>();
  class FollowedBook extends Book {
    override report(measurement: Measurement): void {
      super.report(measurement);
      for (const look of waiting) look();
    }
  }
  const book = new FollowedBook();
  const options = book.options({
    storages: [
      storage('repos', `${root}/{owner}/{repo}.git`),
      storage('lfs', `${root}/{owner}/{repo}.git/lfs`),
    ],
    cacheFile: join(temporary(t), 'scan.db'),
    isWatched: true,
    ...given,
  });
  const scanner: Scanner = createScanner(options);
  const alive = setInterval(() => {}, 1000);
  t.teardown(async () => {
    clearInterval(alive);
    await scanner.close();
  });
  /** Resolves once these are all that is known. */
  const knows = (...names: readonly string[]): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const wanted = names.map(name => join(root, name)).sort();
    const look = (): void => {
      if ([...book.units.keys()].sort().join() !== wanted.join()) return;
      waiting.delete(look);
      resolve();
    };
    waiting.add(look);
    look();
    return promise;
  };
  return { book, scanner, knows };
}

t.test('new, removed and renamed units are noticed without a sweep', { timeout: 120_000 }, async t => {
  const root = temporary(t);
  const at = (name: string): string => join(root, name);
  for (const name of ['alice/a.git', 'alice/b.git', 'bob/c.git']) bareRepository(at(name), 100);
  fill(at('bob/c.git/lfs/12/34'), 5);
  const { scanner, book, knows } = watching(t, root);
  await scanner.sweep({ kind: 'sweep' }).done;
  await knows('alice/a.git', 'alice/b.git', 'bob/c.git', 'bob/c.git/lfs');
  bareRepository(at('carol/fork.git'), 100);
  await knows('alice/a.git', 'alice/b.git', 'bob/c.git', 'bob/c.git/lfs', 'carol/fork.git');
  rmSync(at('alice/b.git'), { recursive: true });
  renameSync(at('bob'), at('robert'));
  await knows('alice/a.git', 'robert/c.git', 'robert/c.git/lfs', 'carol/fork.git');
  t.equal(book.units.get(at('robert/c.git'))?.unit.owner, 'robert');
  t.equal(book.sweeps.length, 1);
  t.equal(await scanner.close(), 0, 'and its threads end');
});

t.test('what came and went before the first look is noticed by it', { timeout: 120_000 }, async t => {
  const root = temporary(t);
  const at = (name: string): string => join(root, name);
  for (const name of ['alice/a.git', 'alice/b.git']) bareRepository(at(name), 100);
  const earlier = watching(t, root);
  await earlier.knows('alice/a.git', 'alice/b.git');
  rmSync(at('alice/a.git'), { recursive: true });
  await earlier.knows('alice/b.git');
  t.equal(earlier.book.sweeps.length, 0);
});

t.test('where most units go at once a sweep finds out why', { timeout: 120_000 }, async t => {
  const root = temporary(t);
  const many = Array.from({ length: 50 }, (_, number) => `alice/${number}.git`);
  for (const name of [...many, 'bob/b.git']) bareRepository(join(root, name));
  const { scanner, book, knows } = watching(t, root);
  await knows(...many, 'bob/b.git');
  rmSync(join(root, 'alice'), { recursive: true });
  for (;;) {
    if (scanner.runs().length > 0) break;
    await new Promise(setImmediate);
  }
  t.ok(book.warnings.includes('most units of a storage root have gone at once; a sweep finds out why'));
  await scanner.runs()[0]?.done;
});

t.test(
  'a disk inside of a storage root that does not answer is told, others are watched',
  { timeout: 300_000 },
  async t => {
    const root = temporary(t);
    const at = (name: string): string => join(root, name);
    const disk = await hangingDisk(t, at('bob'));
    renameSync(disk.behind, join(temporary(t), 'behind'));
    bareRepository(at('alice/a.git'), 100);
    bareRepository(at('bob/b.git'), 100);
    const { scanner, book, knows } = watching(t, root, { hungAfterMs: 1200 });
    t.teardown(() => disk.answer());
    await knows('alice/a.git', 'bob/b.git');
    await book.says('the directories above the units are watched');

    disk.hang();
    await book.says(
      'a disk does not answer; its units keep their last known bytes, and everything else continues',
    );
    t.match(scanner.status().hangs, [{ path: disk.path }], 'it is told where');
    bareRepository(at('carol/c.git'), 100);
    await knows('alice/a.git', 'bob/b.git', 'carol/c.git');
    rmSync(at('alice/a.git'), { recursive: true });
    await knows('bob/b.git', 'carol/c.git');
    t.equal(scanner.status().hangs.length, 1, 'it holds one thread');

    disk.answer();
    await book.says('a disk answers again');
    bareRepository(at('bob/new.git'), 100);
    await knows('bob/b.git', 'bob/new.git', 'carol/c.git');
  },
);
