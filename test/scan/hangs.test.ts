/**
 * A disk that does not answer costs no other disk its measuring, and no more threads than it holds already.
 */

import { mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { hangingDisk } from './hanging.ts';
import { bareRepository, fill, scanning, storage, swept, temporary } from './world.ts';

const hungAfterMs = 1200;

/** Owners with a store each on a disk that answers, and on one that may hang. */
async function world(t: Test) {
  const root = temporary(t);
  const disk = await hangingDisk(t, join(root, 'far'));
  for (const owner of ['alice', 'bob', 'carol', 'dave', 'erin']) {
    fill(join(root, 'near', owner, 'file'), 10);
    fill(join(disk.behind, owner, 'file'), 100);
  }
  const storages = [
    storage('lfs', join(root, 'near/{owner}')),
    storage('packages', join(disk.path, '{owner}')),
  ];
  const logged: { readonly message: string; readonly path: unknown }[] = [];
  const keep = (details: object, message: string) => {
    logged.push({ message, path: 'path' in details ? details.path : null });
  };
  const { scanner, book } = scanning(t, storages, {
    hungAfterMs,
    log: { info: () => {}, warn: keep, error: keep },
  });
  // Nobody can end a thread that waits for a disk, so it answers before the scanner is closed.
  t.teardown(() => disk.answer());
  const near = (owner: string) => book.bytes(join(root, 'near', owner));
  const far = (owner: string) => book.bytes(join(disk.path, owner));
  return { root, disk, scanner, book, near, far, logged };
}

async function until(isIt: () => boolean): Promise<void> {
  while (!isIt()) await new Promise(resolve => setTimeout(resolve, 5));
}

t.test('a disk that hangs during discovery ends no sweep, and is measured once it answers', async t => {
  const { disk, scanner, near, far, logged, root, book } = await world(t);
  t.equal((await swept(scanner)).state, 'done');
  t.equal(far('alice'), 100);
  disk.hang();
  fill(join(root, 'near/alice/more'), 1);
  const run = await swept(scanner);
  t.match(run, { state: 'done', error: null });
  t.equal(near('alice'), 11, 'the other disk is measured');
  t.equal(far('alice'), 100, 'this one counts as last known');
  t.match(book.sweeps.at(-1)?.roots.find(({ path }) => path === disk.path)?.away, 'unreadable');
  t.match(scanner.status().hangs, [{ path: disk.path }]);
  t.match(
    logged.filter(({ message }) => message.startsWith('a disk does not answer')),
    [{ path: disk.path }],
  );
  const again = await swept(scanner);
  t.equal(again.state, 'done');
  t.equal(scanner.status().hangs.length, 1, 'it holds one thread, however many sweeps there are');

  fill(join(disk.behind, 'alice/more'), 1);
  disk.answer();
  await until(() => far('alice') === 101);
  t.same(scanner.status().hangs, [], 'it is measured by itself once it answers');
  t.ok(logged.some(({ message, path }) => message === 'a disk answers again' && path === disk.path));
});

t.test('a disk that hangs while it is walked keeps its own walkers, and no others', async t => {
  const { disk, scanner, near, far, root, book } = await world(t);
  await swept(scanner);
  disk.hang();
  // More than there are walkers.
  const owners = ['alice', 'bob', 'carol', 'dave', 'erin'];
  const walks = owners.map(owner => scanner.measureSoon(join(disk.path, owner)));
  await until(() => scanner.status().walking.some(({ path }) => path.startsWith(disk.path)));
  fill(join(root, 'near/alice/more'), 1);
  t.equal(
    await scanner.measureSoon(join(root, 'near/alice')),
    'counted',
    'the other disk is walked meanwhile',
  );
  t.equal(near('alice'), 11);
  t.same(
    await Promise.all(walks),
    owners.map(() => 'unread'),
    'nobody waits for ever',
  );
  const { hangs } = scanner.status();
  t.ok(hangs.length >= 1 && hangs.length <= 2, `${hangs.length} of two walkers`);
  t.ok(hangs.every(({ path }) => path.startsWith(disk.path)));
  t.equal(await scanner.measureSoon(join(disk.path, 'bob')), 'unread', 'it is not asked again');
  t.equal(scanner.status().hangs.length, hangs.length);
  t.equal((await swept(scanner)).state, 'done');
  t.equal(far('bob'), 100);
  t.equal(book.sweeps.at(-1)?.standing(join(disk.path, 'bob')), 'away');

  fill(join(disk.behind, 'bob/more'), 1);
  disk.answer();
  await until(() => far('bob') === 101);
});

t.test('a disk that hangs inside of a unit costs only its own part', async t => {
  const root = temporary(t);
  const unit = join(root, 'git/alice/app.git');
  bareRepository(unit, 100);
  bareRepository(join(root, 'git/bob/app.git'), 100);
  const disk = await hangingDisk(t, join(unit, 'objects/far'));
  renameSync(disk.behind, join(root, 'behind'));
  mkdirSync(disk.behind);
  fill(join(root, 'behind/file'), 1000);
  const { scanner, book } = scanning(t, [storage('repos', join(root, 'git/{owner}/{repo}.git'))], {
    hungAfterMs,
  });
  t.teardown(() => disk.answer());
  await swept(scanner);
  const bytes = book.bytes(unit) ?? 0;
  t.ok(bytes >= 1000, 'it counts');
  disk.hang();
  t.equal(await scanner.measureSoon(unit), 'unread');
  fill(join(unit, 'near'), 2000);
  t.equal(await scanner.measureSoon(unit), 'counted', 'all else of the unit is walked');
  t.equal(book.bytes(unit), bytes - 1000 + 2000, 'more is seen than was known');
  t.match(book.units.get(unit), {
    partial: true,
    unread: { first: [{ path: disk.path, error: 'ETIMEDOUT' }] },
  });
  t.equal(await scanner.measureSoon(join(root, 'git/bob/app.git')), 'counted');
});

t.test('a path on a disk that hangs is told so, and paths on others are looked up', async t => {
  const { disk, scanner, root } = await world(t);
  await swept(scanner);
  disk.hang();
  const far = (name: string) => scanner.locate(join(disk.path, name, 'x'), 1000);
  /** Tells whether it was found out that the disk does not answer; else it was only waited for in vain. */
  const isKnown = async (name: string) => {
    const reason = await far(name).then(String, (error: unknown) => error);
    t.match(reason, { code: 'not_ready' });
    return /ETIMEDOUT/.test(String(reason));
  };
  let known: readonly boolean[] = [];
  do known = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map(isKnown));
  while (known.includes(false));
  await until(() => scanner.status().hangingLookups <= 2);
  const before = scanner.status().hangingLookups;
  for (let n = 0; n < 20; n++) {
    t.match(await scanner.locate(join(root, 'near/new/x'), 20_000), { found: 'unit' });
    await t.rejects(scanner.locate(join(disk.path, 'alice'), 20_000), {
      code: 'not_ready',
      message: /ETIMEDOUT/,
    });
  }
  t.ok(scanner.status().hangingLookups <= before, 'and no further thread waits');
});

t.test('a scanner closes in time while a disk hangs, and tells how many threads are left', async t => {
  const { disk, scanner } = await world(t);
  await swept(scanner);
  disk.hang();
  void scanner.measureSoon(join(disk.path, 'alice'));
  await until(() => scanner.status().hangs.length > 0);
  t.ok((await scanner.close()) > 0);
});

t.test('a scanner that is started while a disk hangs measures the others', async t => {
  const root = temporary(t);
  const disk = await hangingDisk(t, join(root, 'far'));
  fill(join(root, 'near/alice/file'), 10);
  disk.hang();
  const { scanner, book } = scanning(
    t,
    [storage('packages', join(disk.path, '{owner}')), storage('lfs', join(root, 'near/{owner}'))],
    { hungAfterMs },
  );
  t.teardown(() => disk.answer());
  t.equal((await swept(scanner)).state, 'done');
  t.equal(book.bytes(join(root, 'near/alice')), 10);
});
