/** Directories that a sweep takes for repositories by their names, and its walk finds to be none. */

import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { bareRepository, fill, independentCount, scanning, storage, temporary } from './world.ts';

t.setTimeout(60_000);

t.test('a directory that only has the name of a repository is no unit, and those below it are', async t => {
  const root = temporary(t);
  const { scanner, book } = scanning(t, [storage('repos', `${root}/{owner}/{repo}.git`)]);
  bareRepository(join(root, 'alice/a.git'), 100);
  const below = join(root, 'alice/group.git/b.git');
  bareRepository(below, 200);
  mkdirSync(join(root, 'alice/empty.git'));
  for (const kind of ['sweep', 'sweep', 'verify'] as const) {
    const run = scanner.sweep({ kind });
    await run.done;
    t.match(run, { state: 'done', problems: { unread: { count: 0 }, faults: { count: 0 } } });
    t.match(run.progress(), { units: 2, unitsFound: 2 });
    t.same([...book.units.keys()].sort(), [join(root, 'alice/a.git'), below].sort());
    t.equal(book.bytes(below), independentCount(below).bytes);
    t.equal(book.sweeps.at(-1)?.standing(below), 'seen', 'it is there');
  }
  await scanner.sweep({ kind: 'sweep', owners: ['bob'] }).done;
  t.equal(book.sweeps.at(-1)?.standing(below), 'seen', 'so it is in a sweep of one owner');
  t.equal(book.sweeps.at(-1)?.units, 2);
});

t.test('a repository that is none any more is gone, and is back when it is one again', async t => {
  const root = temporary(t);
  const { scanner, book } = scanning(t, [storage('repos', `${root}/{owner}/{repo}.git`)]);
  const repository = join(root, 'alice/a.git');
  bareRepository(repository, 100);
  for (const each of ['b', 'c', 'd']) bareRepository(join(root, `alice/${each}.git`), 10);
  await scanner.sweep({ kind: 'sweep' }).done;
  renameSync(join(repository, 'HEAD'), join(repository, 'HEAD.away'));
  bareRepository(join(repository, 'inside.git'), 300);
  await scanner.sweep({ kind: 'sweep' }).done;
  t.notOk(book.units.has(repository));
  t.ok(book.units.has(join(repository, 'inside.git')), 'what is below it is found in the same sweep');
  rmSync(join(repository, 'inside.git'), { recursive: true });
  renameSync(join(repository, 'HEAD.away'), join(repository, 'HEAD'));
  fill(join(repository, 'objects/12/34'), 5);
  await scanner.sweep({ kind: 'sweep' }).done;
  t.equal(book.bytes(repository), independentCount(repository).bytes);
  t.notOk(book.units.has(join(repository, 'inside.git')));
});

t.test('a sweep ends, also where it cannot be recorded that a repository is gone', async t => {
  const root = temporary(t);
  const report = (): never => {
    throw new Error('it cannot be recorded');
  };
  const { scanner, book } = scanning(t, [storage('repos', `${root}/{owner}/{repo}.git`)], {
    report,
    knownBytes: () => 100,
  });
  mkdirSync(join(root, 'alice/none.git'), { recursive: true });
  const run = scanner.sweep({ kind: 'sweep' });
  await run.done;
  t.equal(run.state, 'done');
  t.same(book.warnings, ['a measurement could not be recorded']);
  t.equal(book.sweeps.at(-1)?.standing(join(root, 'alice/none.git')), 'unread', 'so it stays as it is known');
});
