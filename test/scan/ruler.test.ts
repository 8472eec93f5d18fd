/** Units whose size is an extended attribute of their directories, on a real file system. */

import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { encodePath } from '../../src/layout/index.ts';
import { readAttributes } from '../../src/scan/attributes.ts';
import { hangingDisk } from './hanging.ts';
import { type Book, bareRepository, fill, scanning, storage, temporary } from './world.ts';

t.setTimeout(120_000);

const attribute = 'user.rbytes';
const ruler = { by: 'xattr', name: attribute } as const;

/** Stands for what a file system keeps. */
function keep(path: string, value: string | number): void {
  // Programs take only texts from Node.js, so the shell makes the bytes of the path.
  const octal = [...Buffer.from(encodePath(path))].map(byte => `\\0${byte.toString(8).padStart(3, '0')}`);
  const script = `path=$(printf "%b." "$3") && setfattr -n "$1" -v "$2" -- "\${path%.}"`;
  execFileSync('sh', ['-c', script, 'sh', attribute, String(value), octal.join('')]);
}

function ruled(kind: 'lfs' | 'repos', ...templates: string[]) {
  return { ...storage(kind, ...templates), ruler };
}

t.test('the figure is what the file system keeps, and no directory is listed', async t => {
  const root = temporary(t);
  for (let owner = 0; owner < 40; owner++) {
    fill(join(root, `o${owner}`, 'deep/er/file'), 10);
    keep(join(root, `o${owner}`), 1000 + owner);
  }
  const { scanner, book } = scanning(t, [ruled('lfs', `${root}/{owner}`)]);
  const run = scanner.sweep({ kind: 'sweep' });
  await run.done;
  t.match(run, { state: 'done', problems: { rulers: { count: 0 }, unread: { count: 0 } } });
  t.equal(book.units.size, 40);
  for (const [path, unit] of book.units)
    t.match(unit, { bytes: 1000 + Number(path.slice(root.length + 2)), partial: false, directories: 0 });
  t.same([...scanner.rulers()], [['size:git:lfs', 'xattr:user.rbytes']]);

  keep(join(root, 'o7'), 7);
  t.equal(await scanner.measureSoon(join(root, 'o7')), 'counted');
  t.equal(book.bytes(join(root, 'o7')), 7, 'a unit that changed is measured by itself');
  keep(join(root, 'o8'), 8);
  const verify = scanner.sweep({ kind: 'verify' });
  await verify.done;
  t.match(verify, { drift: { units: 1, bytes: 1000 } });
  rmSync(join(root, 'o9'), { recursive: true });
  await scanner.sweep({ kind: 'sweep' }).done;
  t.equal(book.units.size, 39);
});

t.test('names may be any bytes, and of any length', async t => {
  const root = temporary(t);
  const names = [
    'new\nline',
    'ends\n',
    'back\\slash',
    '-n',
    '# file: x',
    'Ünal',
    'odd\udcff\udc80',
    '\u001b[1m',
  ];
  for (const [index, name] of names.entries()) {
    mkdirSync(encodePath(join(root, name)));
    keep(join(root, name), index + 1);
  }
  t.same(
    readAttributes(
      attribute,
      names.map(name => join(root, name)),
    ),
    names.map((_, index) => ({ bytes: index + 1 })),
  );
  const many = Array.from({ length: 70 }, (_, each) => join(root, 'many', String(each)));
  for (const [index, path] of many.entries()) {
    mkdirSync(path, { recursive: true });
    keep(path, index);
  }
  t.same(
    readAttributes(attribute, many),
    many.map((_, bytes) => ({ bytes })),
    'more directories than are open at a time',
  );
});

t.test('what is inside and belongs to others is taken off', async t => {
  const root = temporary(t);
  const repository = join(root, 'alice/a.git');
  bareRepository(repository);
  mkdirSync(join(repository, 'lfs'));
  keep(repository, 5000);
  keep(join(repository, 'lfs'), 2000);
  fill(join(repository, 'lfs/object'), 33);
  const templates = [`${root}/{owner}/{repo}.git`, `${root}/{owner}/{repo}.git/lfs`] as const;
  for (const inner of [ruled('lfs', templates[1]), storage('lfs', templates[1])]) {
    const { scanner, book } = scanning(t, [ruled('repos', templates[0]), inner]);
    await scanner.sweep({ kind: 'sweep' }).done;
    t.equal(book.bytes(repository), 3000);
    t.equal(book.bytes(join(repository, 'lfs')), 'ruler' in inner ? 2000 : 33);
  }
});

interface Failing {
  readonly root: string;
  readonly book: Book;
  /** Sweeps, and gives the faults that it tells of. */
  faults(): Promise<readonly string[]>;
}

/** Two units with a figure; `before`: as another scanner knows them. */
async function failing(t: Test, before?: Failing): Promise<Failing> {
  const root = before?.root ?? temporary(t);
  const { scanner, book } = scanning(t, [ruled('lfs', `${root}/{owner}`)]);
  if (before === undefined) {
    for (const owner of ['alice', 'bob']) {
      fill(join(root, owner, 'file'), 10);
      keep(join(root, owner), 100);
    }
    await scanner.sweep({ kind: 'sweep' }).done;
  }
  for (const [path, unit] of before?.book.units ?? []) book.units.set(path, { ...unit, seq: 0 });
  return {
    root,
    book,
    faults: async () => {
      const run = scanner.sweep({ kind: 'sweep' });
      await run.done;
      t.equal(run.state, 'done');
      const { first, count } = run.problems.rulers;
      t.equal(count, first.length);
      return first.map(({ path, what }) => `${path.slice(root.length + 1)}: ${what}`);
    },
  };
}

t.test('a unit without a figure keeps its last known bytes, and says why', async t => {
  const { root, book, faults } = await failing(t);
  const alice = join(root, 'alice');
  const values = { '12a': '"12a"', '-5': '"-5"', '1.5': '"1.5"', '': '""', '1\u001b': '"1\\u{1b}"' };
  for (const [value, shown] of Object.entries(values)) {
    keep(alice, value);
    t.same(await faults(), [`alice: ${attribute}: ${shown} is not a number of bytes`]);
    t.match(book.units.get(alice), { bytes: 100, partial: true });
    t.match(book.units.get(join(root, 'bob')), { bytes: 100, partial: false });
  }
  keep(alice, '9'.repeat(60_000 / 20));
  t.match(await faults(), [/^alice: user.rbytes: "9{40}…" is not a number of bytes$/]);
  keep(alice, String(2n ** 53n));
  t.same(await faults(), []);
  t.match(book.units.get(alice), { bytes: 100, partial: true, tooLarge: true });
  execFileSync('setfattr', ['-x', attribute, alice]);
  t.same(await faults(), [`alice: ${attribute}: No such attribute`]);
  fill(join(root, 'carol/file'), 10);
  t.same(
    (await faults()).toSorted(),
    ['alice', 'carol'].map(name => `${name}: ${attribute}: No such attribute`),
  );
  t.match(book.units.get(join(root, 'carol')), { bytes: 0, partial: true }, 'one that was never measured');
  keep(alice, 250);
  keep(join(root, 'carol'), 3);
  t.same(await faults(), []);
  t.match(book.units.get(alice), { bytes: 250, partial: false });
});

t.test('without getfattr, or with one that does not end, all keep their last known bytes', async t => {
  const tools = temporary(t);
  const { PATH } = process.env;
  const world = await failing(t);
  // The threads of a scanner have the environment of the time when they start.
  process.env.PATH = tools;
  const without = await failing(t, world);
  const paths = ['alice', 'bob'].map(owner => join(world.root, owner));
  const missing = "getfattr is not installed (Debian's package attr)";
  t.same((await without.faults()).toSorted(), [`alice: ${missing}`, `bob: ${missing}`]);
  for (const path of paths) t.match(without.book.units.get(path), { bytes: 100, partial: true });
  process.env.PATH = PATH;

  const program = join(tools, 'getfattr');
  const written = (script: string): void => {
    writeFileSync(program, `#!/bin/sh\n${script}\n`);
    chmodSync(program, 0o755);
  };
  const asked = join(tools, 'asked');
  written(`echo >>'${asked}'; exec sleep 60`);
  const many = Array.from({ length: 200 }, (_, each) => paths[each % 2] ?? '');
  // On a busy host it may take a while until the program has begun.
  const slow = readAttributes(attribute, many, { program, timeoutMs: 3000 });
  t.ok(slow.length === 200 && slow.every(reading => 'isHung' in reading));
  t.equal(readFileSync(asked, 'utf8'), '\n', 'a disk that hangs is asked once');
  written('kill -9 $$');
  t.match(readAttributes(attribute, paths, { program }), [{ fault: /failed: SIGKILL$/ }, {}]);
  written('yes');
  t.match(readAttributes(attribute, paths, { program }), [{ fault: /failed: ENOBUFS$/ }, {}]);
  written('echo nothing');
  t.match(readAttributes(attribute, paths, { program }), [{ fault: 'user.rbytes: no value' }, {}]);
});

t.test('a link in place of a directory is not followed', async t => {
  const root = temporary(t);
  fill(join(root, 'there/file'), 1);
  keep(join(root, 'there'), 5);
  symlinkSync('there', join(root, 'link'));
  t.same(readAttributes(attribute, [join(root, 'link'), join(root, 'none'), join(root, 'there/file')]), [
    { isGone: true },
    { isGone: true },
    { isGone: true },
  ]);
});

t.test('a disk that does not answer keeps nobody waiting but those on it', async t => {
  const root = temporary(t);
  const disk = await hangingDisk(t, join(root, 'disk'));
  for (const owner of ['alice', 'bob']) {
    fill(join(disk.behind, owner, 'file'), 1);
    keep(join(disk.behind, owner), 70);
  }
  fill(join(root, 'local/carol/file'), 1);
  keep(join(root, 'local/carol'), 5);
  const storages = [ruled('lfs', `${root}/disk/{owner}`, `${root}/local/{owner}`)];
  const { scanner, book } = scanning(t, storages, { hungAfterMs: 500 });
  await scanner.sweep({ kind: 'sweep' }).done;
  t.equal(book.bytes(join(disk.path, 'alice')), 70);
  keep(join(root, 'local/carol'), 6);
  disk.hang();
  await scanner.measureSoon(join(disk.path, 'alice'));
  await scanner.sweep({ kind: 'sweep' }).done;
  t.equal(book.bytes(join(root, 'local/carol')), 6);
  t.equal(book.bytes(join(disk.path, 'alice')), 70);
  disk.answer();
});

t.test('a change of the ruler is a change of the figure', async t => {
  const root = temporary(t);
  const alice = join(root, 'alice');
  fill(join(alice, 'file'), 10);
  keep(alice, 4096);
  const walked = storage('lfs', `${root}/{owner}`);
  const { scanner, book } = scanning(t, [walked]);
  await scanner.sweep({ kind: 'sweep' }).done;
  t.equal(book.bytes(alice), 10);
  const settings = { exclude: [], measure: 'apparent' } as const;
  await scanner.reconfigure({ storages: [ruled('lfs', `${root}/{owner}`)], ...settings }).done;
  t.equal(book.bytes(alice), 4096);
  await scanner.reconfigure({ storages: [walked], ...settings }).done;
  t.equal(book.bytes(alice), 10);
  t.same([...scanner.rulers()], []);
});
