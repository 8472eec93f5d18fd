import { execFileSync } from 'node:child_process';
import { readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { ownTime } from '../own-time.ts';
import { isLong } from '../run-length.ts';
import { git, pushedTo } from './pushed.ts';
import { independentCount, scanning, storage, temporary } from './world.ts';

t.setTimeout(600_000);

/** Makes loose objects of all that is packed. */
async function loosen(t: Test, repository: string): Promise<void> {
  const aside = temporary(t);
  const packs = join(repository, 'objects/pack');
  for (const name of readdirSync(packs)) {
    renameSync(join(packs, name), join(aside, name));
    if (name.endsWith('.pack')) {
      execFileSync('sh', ['-c', 'git -C "$1" unpack-objects -q < "$2"', 'sh', repository, join(aside, name)]);
    }
  }
}

t.test('gc and repack raise nobody, whenever the unit is walked', { timeout: 180_000 }, async t => {
  const { root, repository, push } = await pushedTo(t);
  for (let pushes = 0; pushes < 3; pushes++) await push(120);
  const { scanner, book } = scanning(t, [storage('repos', `${root}/{owner}/{repo}.git`)]);
  await scanner.sweep({ kind: 'sweep' }).done;
  const settled = [independentCount(repository).bytes];
  t.equal(book.bytes(repository), settled[0]);

  let isOver = false;
  let walks = 0;
  const targeted = async (): Promise<void> => {
    while (!isOver) {
      walks += 1;
      await Promise.race([scanner.measureSoon(repository), new Promise(resolve => setTimeout(resolve, 30))]);
    }
  };
  const swept = async (): Promise<void> => {
    while (!isOver) await scanner.sweep({ kind: 'sweep' }).done;
  };
  const walking = Promise.all([targeted(), swept()]);
  const chores = [
    () => git(repository, 'repack', '-adfq', '--max-pack-size=2m'),
    () => git(repository, 'repack', '-adq'),
    () => git(repository, 'repack', '-adfq', '--max-pack-size=3m'),
    () => git(repository, 'gc', '-q'),
    () => loosen(t, repository),
    () => git(repository, 'gc', '-q', '--prune=now'),
    () => loosen(t, repository),
    () => git(repository, 'repack', '-adq'),
    () => git(repository, 'repack', '-Adfq', '--max-pack-size=2m'),
    () => git(repository, 'maintenance', 'run', '--task=gc', '--quiet'),
  ];
  for (const chore of isLong ? [...chores, ...chores] : chores) {
    await chore();
    settled.push(independentCount(repository).bytes);
  }
  isOver = true;
  await walking;
  const most = Math.max(...settled);
  const above = book.reported.filter(({ bytes }) => bytes > most);
  t.same(above, [], `${walks} walks, ${book.reported.length} reports, never above ${most} bytes`);

  await scanner.sweep({ kind: 'sweep' }).done;
  t.equal(book.bytes(repository), independentCount(repository).bytes, 'and a sweep afterwards is exact');
  t.same(scanner.status().held, []);
});

t.test('a push counts soon after it, whether it came as a pack or as loose objects', async t => {
  const { root, repository, push } = await pushedTo(t);
  const { scanner, book } = scanning(t, [storage('repos', `${root}/{owner}/{repo}.git`)]);
  await push(10);
  await scanner.sweep({ kind: 'sweep' }).done;
  for (const files of [200, 10]) {
    await push(files);
    const taken = ownTime();
    t.equal(await scanner.measureSoon(repository), 'counted');
    t.ok(taken() < 2000);
    t.equal(book.bytes(repository), independentCount(repository).bytes);
  }
});

t.test('the first walk after a push counts, also where packs came just before', async t => {
  const { root, repository, push } = await pushedTo(t);
  const { scanner, book } = scanning(t, [storage('repos', `${root}/{owner}/{repo}.git`)]);
  await push(10);
  await scanner.sweep({ kind: 'sweep' }).done;
  for (const files of [10, 120, 10, 130, 10]) {
    await push(files);
    const seq = book.nextSeq();
    t.equal(await scanner.measureSoon(repository), 'counted');
    const unit = book.units.get(repository);
    t.same([unit?.bytes, unit?.seq], [independentCount(repository).bytes, seq + 1], `${files} files`);
  }
});

t.test('a sweep right after a push is exact', async t => {
  const { root, repository, push } = await pushedTo(t);
  const { scanner, book } = scanning(t, [storage('repos', `${root}/{owner}/{repo}.git`)]);
  await push(10);
  await scanner.sweep({ kind: 'sweep' }).done;
  await push(200);
  await scanner.sweep({ kind: 'sweep' }).done;
  t.equal(book.bytes(repository), independentCount(repository).bytes);
});

t.test(
  'a rise during a gc that goes on waits for its end, and no sweep waits for it',
  { timeout: 60_000 },
  async t => {
    const { root, repository, push } = await pushedTo(t);
    const { scanner, book } = scanning(t, [storage('repos', `${root}/{owner}/{repo}.git`)]);
    await push(10);
    await scanner.sweep({ kind: 'sweep' }).done;
    const before = book.bytes(repository);
    writeFileSync(join(repository, 'gc.pid'), '1 another.host.example');
    // So many that they come as a pack, which might be the gc's copy.
    await push(120);
    const sweep = scanner.sweep({ kind: 'sweep' });
    await sweep.done;
    const held = [{ path: repository, why: 'a gc is at work' }];
    t.match(sweep.problems.held, { count: 1, first: held });
    t.match(scanner.status().held, held);
    const heldBytes = scanner.status().held[0]?.bytes ?? 0;
    const certain = book.bytes(repository) ?? 0;
    t.ok(heldBytes > 120 * 20_000 && certain - (before ?? 0) < 1000, `${heldBytes} bytes are held`);
    t.equal(certain + heldBytes, independentCount(repository).bytes);
    await push(10);
    // What counts is the less of two walks.
    t.equal(await scanner.measureSoon(repository), 'held');
    t.ok((book.bytes(repository) ?? 0) > certain + 10 * 20_000, 'loose objects are no copy of a gc');
    execFileSync('rm', [join(repository, 'gc.pid')]);
    t.equal(await scanner.measureSoon(repository), 'counted');
    t.equal(book.bytes(repository), independentCount(repository).bytes);
    t.same(scanner.status().held, []);
  },
);
