import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs, {
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import t, { type Test } from 'tap';
import { Cache } from '../../src/scan/signature.ts';
import type { Walked, WalkRequest } from '../../src/scan/task.ts';
import { walk } from '../../src/scan/walk.ts';
import { isLong } from '../run-length.ts';
import { mountTypeless } from '../typeless.ts';
import { bareRepository, fill, independentCount, temporary, unitAt, walked, walkRequest } from './world.ts';

/** Walks a directory, and calls `pulse` on the way; null: it has gone. */
function walkOf(path: string, pulse = () => {}): Walked | null {
  return walk(walkRequest(unitAt(path)), new Cache(null), pulse);
}

function measured(path: string, given: Partial<WalkRequest> = {}): Walked {
  return walked(unitAt(path), { exclude: new Set(['.snapshot']), ...given });
}

function counted({ bytes, files }: Walked): { bytes: number; files: number } {
  return { bytes, files };
}

/** A file system in memory: much is made there in little time, and no size is too large for it. */
function mountTmpfs(t: Test, at = temporary(t)): string {
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'nr_inodes=0', 'tmpfs', at]);
  t.teardown(() => execFileSync('umount', ['-l', at]));
  return at;
}

/** A chain of nested directories, each with a file, deeper than a path can say. */
function nest(root: string, depth: number, name: string): void {
  // A shell's `cd -P` would keep the path; perl's chdir does not.
  const script = `
    my ($depth, $name) = @ARGV;
    for (1 .. $depth) {
      mkdir $name or die; chdir $name or die;
      open my $file, '>', 'f' or die; print $file 'abc'; close $file;
    }`;
  execFileSync('perl', ['-e', script, String(depth), name], { cwd: root });
}

t.test('a link in place of the objects is named, and what was known goes on counting', async t => {
  const root = temporary(t);
  const path = join(root, 'a.git');
  bareRepository(path, 1000);
  const unit = unitAt(path, 'repos');
  const { bytes } = measured(path, { unit });
  renameSync(join(path, 'objects'), join(root, 'objects'));
  symlinkSync(join(root, 'objects'), join(path, 'objects'));
  const unread = { first: [{ path: join(path, 'objects'), error: 'ELOOP' }] };
  t.match(measured(path, { unit, knownBytes: bytes }), { bytes, partial: true, unread });
  t.match(measured(path, { unit }), { bytes: bytes - 1000, partial: true, unread });
  const objectsAt = join(root, 'objects');
  t.match(measured(path, { unit, objectsAt }), { bytes, partial: false }, 'unless the link is followed');
  renameSync(objectsAt, join(root, 'away'));
  const away = {
    bytes,
    partial: true,
    unread: { first: [{ path: join(path, 'objects'), error: 'ENOENT' }] },
  };
  t.match(measured(path, { unit, objectsAt, knownBytes: bytes }), away, 'and its disk is there');
});

t.test('regular files count, and nothing else does', async t => {
  const root = temporary(t);
  fill(join(root, 'a/b/c'), 1000);
  fill(join(root, 'empty'), 0);
  fill(join(root, 'large'), 4_000_000);
  execFileSync('mkfifo', [join(root, 'pipe')]);
  execFileSync('mknod', [join(root, 'null'), 'c', '1', '3']);
  symlinkSync('large', join(root, 'link'));
  symlinkSync('/usr', join(root, 'elsewhere'));
  symlinkSync('..', join(root, 'a/loop'));
  const server = createServer().listen(join(root, 'socket'));
  await new Promise(resolve => server.once('listening', resolve));
  t.teardown(() => server.close());
  t.match(measured(root), {
    bytes: 4_001_000,
    files: 3,
    directories: 3,
    partial: false,
    unread: { count: 0 },
  });
  t.same(counted(measured(root)), independentCount(root));
});

t.test('a file with several names counts once', async t => {
  const root = temporary(t);
  fill(join(root, 'a/one'), 1000);
  mkdirSync(join(root, 'b'));
  linkSync(join(root, 'a/one'), join(root, 'a/two'));
  linkSync(join(root, 'a/one'), join(root, 'b/three'));
  const elsewhere = temporary(t);
  linkSync(join(root, 'a/one'), join(elsewhere, 'four'));
  t.same(counted(measured(root)), { bytes: 1000, files: 1 });
  t.same(counted(measured(elsewhere)), { bytes: 1000, files: 1 }, 'in each unit');
});

/** Blocks of 512 bytes on the disk, by `find`. */
function blocksOf(root: string, types: string, ...expression: string[]): number {
  const told = execFileSync('find', [root, ...expression, '-type', types, '-printf', '%b\n']).toString();
  return told
    .trim()
    .split('\n')
    .reduce((sum, count) => sum + 512 * Number(count), 0);
}

t.test('a sparse file counts with its length, or with the blocks that it takes', async t => {
  const root = temporary(t);
  fill(join(root, 'sparse'), 0);
  truncateSync(join(root, 'sparse'), 2 ** 40);
  fill(join(root, 'dense'), 10_000);
  t.equal(measured(root).bytes, 2 ** 40 + 10_000);
  const { bytes } = measured(root, { measure: 'allocated' });
  t.equal(bytes, blocksOf(root, 'f,d'));
  t.ok(bytes < 1_000_000);
});

t.test('directories count by the blocks that they take, or not at all', async t => {
  const root = temporary(t);
  nest(root, 200, 'refs');
  for (const name of ['a/b/c', '.snapshot/d', 'lfs/e']) mkdirSync(join(root, name), { recursive: true });
  symlinkSync('x'.repeat(3000), join(root, 'link'));
  const left = ['(', '-name', '.snapshot', '-o', '-path', join(root, 'lfs'), ')', '-prune', '-o'];
  const inner = [join(root, 'lfs')];
  const directories = 200 + 4;
  t.match(measured(root, { inner }), { bytes: 200 * 3, directories });
  const allocated = measured(root, { inner, measure: 'allocated' });
  t.match(allocated, { bytes: blocksOf(root, 'f,d', ...left), directories, files: 200 });
  t.ok(blocksOf(root, 'd', ...left) >= 4096 * directories, 'on this disk they take some');
  const [du = ''] = execFileSync('du', [
    '-s',
    '-B1',
    '--exclude=.snapshot',
    '--exclude=lfs',
    '--exclude=link',
    root,
  ])
    .toString()
    .split('\t');
  t.equal(allocated.bytes, Number(du), 'as du says');
});

t.test('a sum that passes 2^53 - 1 bytes is said to be too large', async t => {
  const root = mountTmpfs(t);
  const huge = [2 ** 52, 2 ** 52 - 1];
  for (const [index, bytes] of huge.entries()) {
    writeFileSync(join(root, String(index)), '');
    truncateSync(join(root, String(index)), bytes);
  }
  t.match(measured(root), { outcome: 'measured', bytes: Number.MAX_SAFE_INTEGER });
  writeFileSync(join(root, 'one more byte'), '.');
  t.match(measured(root), { outcome: 'too large', bytes: 0 });
  rmSync(join(root, 'one more byte'));
  writeFileSync(join(root, '62'), '');
  execFileSync('truncate', ['-s', String(2n ** 62n), join(root, '62')]);
  t.match(measured(root), { outcome: 'too large', bytes: 0 });
});

t.test('another file system mounted inside counts', async t => {
  const root = temporary(t);
  fill(join(root, 'outside'), 10);
  const inside = join(root, 'mounted');
  mkdirSync(inside);
  mountTmpfs(t, inside);
  fill(join(inside, 'inside'), 200);
  t.equal(measured(root).bytes, 210);
});

t.test('names may be any bytes', async t => {
  const root = temporary(t);
  const odd = Buffer.concat([Buffer.from(`${root}/`), Buffer.of(0xff, 0x80)]);
  mkdirSync(odd);
  for (const name of [Buffer.of(0xe9), Buffer.of(0xed, 0xa0, 0x80), Buffer.from('plain')]) {
    writeFileSync(Buffer.concat([odd, Buffer.from('/'), name]), 'x'.repeat(100));
  }
  fill(join(root, 'a replacement \ufffd/x'), 7);
  fill(join(root, 'a line\nbreak/\u202e\ud83d\ude00'), 5);
  t.same(counted(measured(root)), { bytes: 312, files: 5 });
});

t.test('10,000 nested directories are walked to the bottom', async t => {
  const root = mountTmpfs(t);
  nest(root, 10_000, 'd');
  t.match(measured(root), { bytes: 30_000, files: 10_000, directories: 10_001, partial: false });
  const before = readdirSync('/proc/self/fd').length;
  measured(root);
  t.equal(readdirSync('/proc/self/fd').length, before, 'and no descriptor is left open');
});

t.test('nested directories with the longest names are walked to the bottom', async t => {
  const root = temporary(t);
  nest(root, 300, 'ü'.repeat(127));
  t.match(measured(root), { bytes: 900, files: 300, partial: false });
});

const crowd = isLong ? 1_000_000 : 100_000;
t.test(`a directory of ${crowd} files is walked, and read in pieces`, { timeout: 600_000 }, async t => {
  const root = mountTmpfs(t);
  const script = 'for (1 .. $ARGV[0]) { open my $file, ">", "$_-\xff" or die; print $file "ab" }';
  execFileSync('perl', ['-e', script, String(crowd)], { cwd: root });
  const walker = new Worker(new URL('small-walker.ts', import.meta.url), {
    workerData: root,
    execArgv: [],
    // All their names together would take more; and what is new gets no more than this, whatever this process
    // was started with.
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 4 },
  });
  const [outcome] = await once(walker, 'message');
  t.match(outcome, { bytes: 2 * crowd, files: crowd, partial: false, unread: { count: 0 } });
});

/** Replaces a function of node:fs, for Node itself too, until the test is over. */
function replaceCall(t: Test, name: 'lstatSync' | 'opendirSync', call: (...given: never[]) => unknown): void {
  const replace = (next: unknown): void => {
    Object.assign(fs, { [name]: next });
    syncBuiltinESMExports();
  };
  const usual = fs[name];
  t.teardown(() => replace(usual));
  replace(call);
}

/** Calls `before` with each path whose status is queried, by Node itself too, until the test is over. */
function beforeStatus(t: Test, before: (path: string) => void): void {
  const { lstatSync } = fs;
  replaceCall(t, 'lstatSync', (...given) => {
    before(String(given[0]));
    return Reflect.apply(lstatSync, fs, given);
  });
}

t.test('a large directory without types shows progress while it is walked', async t => {
  const root = mountTypeless(t);
  const name = 'a-long-name-so-that-few-of-them-fill-many-blocks-'.repeat(4);
  for (let n = 0; n < 4000; n++) writeFileSync(join(root, `${name}${n}`), 'ab');
  mkdirSync(join(root, 'directory'));
  fill(join(root, 'directory/file'), 3);
  symlinkSync('directory', join(root, 'link'));
  let queried = 0;
  let most = 0;
  beforeStatus(t, () => {
    queried += 1;
  });
  const outcome = walkOf(root, () => {
    most = Math.max(most, queried);
    queried = 0;
  });
  t.match(outcome, { bytes: 8003, files: 4001, directories: 2, partial: false, unread: { count: 0 } });
  t.ok(most < 2500, `${most} entries were queried without a sign of progress`);
});

for (const files of [20, 2000]) {
  t.test(`of a directory without types, files that vanish among ${files} take no others along`, async t => {
    const root = mountTypeless(t);
    const directory = join(root, 'directory');
    const tail = 'x'.repeat(200);
    for (let n = 0; n < files; n++) fill(join(directory, `stays-${n}-${tail}`), 10);
    for (let n = 0; n < files / 2; n++) fill(join(directory, `goes-${n}-${tail}`), 1);
    const gone = new Set<string>();
    beforeStatus(t, path => {
      if (!path.includes('/goes-') || gone.has(path)) return;
      gone.add(path);
      unlinkSync(path);
    });
    t.match(measured(root, { knownBytes: 1 }), { bytes: 10 * files, files, directories: 2, partial: false });
  });
}

t.test('a directory is unread if the system calls it gone while it is there', async t => {
  const root = temporary(t);
  const directory = join(root, 'directory');
  for (let n = 0; n < 400; n++) fill(join(directory, `${n}-${'x'.repeat(200)}`), 10);
  const { opendirSync } = fs;
  // NFS tells some types and not others: a vanished entry then fails a later piece.
  replaceCall(t, 'opendirSync', (...given) => {
    const opened: fs.Dir = Reflect.apply(opendirSync, fs, given);
    let entries = 0;
    const readSync = () => {
      entries += 1;
      return entries > 100 ? lstatSync(join(root, 'vanished')) : opened.readSync();
    };
    return { readSync, closeSync: () => opened.closeSync() };
  });
  t.match(measured(root, { knownBytes: 4000 }), {
    bytes: 4000,
    files: 100,
    partial: true,
    unread: { count: 1, first: [{ path: directory, error: 'ENOENT' }] },
  });
});

t.test('excluded names and units of their own inside are left out', async t => {
  const root = temporary(t);
  fill(join(root, '.snapshot/a'), 1);
  fill(join(root, 'deep/.snapshot/b'), 2);
  fill(join(root, 'lfs/c'), 4);
  fill(join(root, 'deep/lfs/d'), 8);
  fill(join(root, 'deep/er/lfs/e'), 16);
  const inner = [join(root, 'lfs'), join(root, 'deep/er/lfs')];
  t.equal(measured(root, { inner }).bytes, 8);
  writeFileSync(join(root, 'deep/.snapshots'), 'a file may have any name');
  t.equal(measured(root, { inner, exclude: new Set(['.snapshots']) }).bytes, 8 + 24 + 1 + 2);
});

t.test('what vanishes while it is walked is no fault', { timeout: 60_000 }, async t => {
  const root = temporary(t);
  fill(join(root, 'stays/file'), 1000);
  const churn = `
    for (;;) {
      mkdir "$_" for 1 .. 50; mkdir "$_/d" for 1 .. 50;
      for (1 .. 50) { open my $file, '>', "$_/d/f"; print $file 'x' x 10 }
      unlink "$_/d/f" for 1 .. 50; rmdir "$_/d" for 1 .. 50; rmdir "$_" for 1 .. 50;
    }`;
  const child = spawn('perl', ['-e', churn], { cwd: root, stdio: 'ignore' });
  t.teardown(() => child.kill('SIGKILL'));
  await new Promise(resolve => child.once('spawn', resolve));
  const end = performance.now() + 1500;
  const sizes = new Set<number>();
  let wrong = 0;
  while (performance.now() < end) {
    const { bytes, unread } = measured(root);
    sizes.add(bytes);
    if (unread.count > 0 || bytes < 1000 || bytes > 1500 || bytes % 10 !== 0) wrong += 1;
  }
  t.equal(wrong, 0);
  t.ok(sizes.size > 3, 'it was walked while it changed');
});

t.test('a unit that goes or is replaced during the walk is not measured', async t => {
  const root = temporary(t);
  const unit = join(root, 'unit');
  fill(join(unit, 'a/file'), 10);
  const goes = walkOf(unit, () => rmSync(unit, { recursive: true, force: true }));
  t.equal(goes, null);
  fill(join(unit, 'a/file'), 10);
  fill(join(root, 'other/a/file'), 20);
  let visited = 0;
  const replaced = walkOf(unit, () => {
    visited += 1;
    if (visited === 2) {
      renameSync(unit, join(root, 'old'));
      renameSync(join(root, 'other'), unit);
    }
  });
  t.equal(replaced, null);
  t.equal(walkOf(join(root, 'never')), null);
  symlinkSync(unit, join(root, 'link'));
  t.equal(walkOf(join(root, 'link')), null, 'a link is no unit');
});
