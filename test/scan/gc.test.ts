import { execFile, execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { independentCount, scanning, storage, temporary } from './world.ts';

const run = promisify(execFile);

const environment = { PATH: process.env.PATH, HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1' };

async function git(directory: string, ...given: readonly string[]): Promise<void> {
  const identity = ['-c', 'user.name=Alice', '-c', 'user.email=alice@example.org', '-c', 'gc.auto=0'];
  await run('git', [...identity, '-C', directory, ...given], { env: environment });
}

interface World {
  readonly root: string;
  readonly repository: string;
  /** Adds a commit with so many files of 20 kB. */
  push(files: number): Promise<void>;
}

async function world(t: Test): Promise<World> {
  const root = join(temporary(t), 'srv');
  const repository = join(root, 'alice/a.git');
  mkdirSync(repository, { recursive: true });
  await git(repository, 'init', '-q', '--bare', '-b', 'main');
  const work = temporary(t);
  await git(work, 'clone', '-q', repository, '.');
  let files = 0;
  return {
    root,
    repository,
    push: async count => {
      for (let more = 0; more < count; more++, files++)
        writeFileSync(join(work, String(files)), randomBytes(20_000));
      await git(work, 'add', '-A');
      await git(work, 'commit', '-q', '-m', `${count} files`);
      await git(work, 'push', '-q', 'origin', 'HEAD:main');
    },
  };
}

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
  const { root, repository, push } = await world(t);
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
  for (const chore of [...chores, ...chores]) {
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
  const { root, repository, push } = await world(t);
  const { scanner, book } = scanning(t, [storage('repos', `${root}/{owner}/{repo}.git`)]);
  await push(10);
  await scanner.sweep({ kind: 'sweep' }).done;
  for (const files of [200, 10]) {
    await push(files);
    const begun = performance.now();
    t.equal(await scanner.measureSoon(repository), 'counted');
    t.ok(performance.now() - begun < 2000);
    t.equal(book.bytes(repository), independentCount(repository).bytes);
  }
});

t.test('a sweep right after a push is exact', async t => {
  const { root, repository, push } = await world(t);
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
    const { root, repository, push } = await world(t);
    const { scanner, book } = scanning(t, [storage('repos', `${root}/{owner}/{repo}.git`)]);
    await push(10);
    await scanner.sweep({ kind: 'sweep' }).done;
    const before = book.bytes(repository);
    writeFileSync(join(repository, 'gc.pid'), '1 another.host.example');
    await push(10);
    const sweep = scanner.sweep({ kind: 'sweep' });
    await sweep.done;
    t.match(sweep.problems.held, { count: 1, first: [repository] });
    t.equal(book.bytes(repository), before);
    t.same(scanner.status().held, [repository]);
    execFileSync('rm', [join(repository, 'gc.pid')]);
    t.equal(await scanner.measureSoon(repository), 'counted');
    t.equal(book.bytes(repository), independentCount(repository).bytes);
    t.same(scanner.status().held, []);
  },
);
