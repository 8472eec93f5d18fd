/** Bytes of a push from the answer "go on" to the walk after its end, with real git. */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { ownTime } from '../own-time.ts';
import { bareRepository, fill, temporary } from '../scan/world.ts';
import { PushWorld } from './push-world.ts';

t.test('an allowed push counts before git takes it, and to the byte once it has ended', async t => {
  for (const unpackLimit of [1, 100]) {
    const world = await PushWorld.open(t, { config: [`receive.unpackLimit=${unpackLimit}`] });
    const taken: unknown[] = [];
    world.measuring.freeSpace.took = (...push) => void taken.push(push);
    const before = world.bytes;
    let during = 0;
    world.onCounted = () => {
      during = world.bytes;
    };
    t.ok(await world.push(50_000));
    t.ok(during - before > 50_000, `${during - before} bytes count at once`);
    t.same(taken, [[world.repository, during - before]], 'and are taken off what is free');
    await world.settled();
    t.match(await world.sweep('verify'), { units: 0, bytes: 0 });
    t.same(world.measuring.pushes.listed(world.repository), []);
    t.equal(world.measuring.pushes.bytesOf(world.repository), 0);
  }
});

t.test('the end of a push causes the walk, where post-receive never runs', async t => {
  const world = await PushWorld.open(t);
  rmSync(join(world.repository, 'hooks/post-receive'));
  await world.push(50_000);
  const taken = ownTime();
  await world.noPushes();
  t.ok(taken() < 3000, 'soon, and not only when the repository is walked anyhow');
  t.equal(world.bytes, world.onDisk);
});

t.test('a push that a later hook, or update, refuses brings nothing', async t => {
  const world = await PushWorld.open(t);
  await world.push(1000);
  await world.settled();
  const { bytes } = world;
  const looked = world.looks.length;
  world.answer = () => 'refuse later';
  let during = 0;
  world.onCounted = () => {
    during = world.bytes;
  };
  t.notOk(await world.push(50_000));
  t.ok(during > bytes + 50_000);
  await world.noPushes();
  t.equal(world.bytes, bytes);
  t.ok(world.looks.length > looked, 'and the worker looks again at what nothing reaches');
  world.answer = () => 'go on';
  world.hook('update', 'exit 1');
  t.notOk(await world.push(50_000));
  await world.settled();
  t.ok(during > bytes + 50_000);
  t.match(await world.sweep('verify'), { bytes: 0 });
});

t.test('pushes at once count all, each once', async t => {
  const world = await PushWorld.open(t);
  const before = world.bytes;
  let held: (() => void)[] = [];
  world.answer = () => new Promise(resolve => held.push(() => resolve('go on')));
  const pushes = ['a', 'b', 'c'].map(branch => world.push(20_000, branch));
  while (held.length < 3) await new Promise(setImmediate);
  for (const go of held) go();
  held = [];
  await Promise.all(pushes);
  t.ok(world.bytes >= before + 60_000);
  await world.settled();
  t.match(await world.sweep('verify'), { bytes: 0 });
});

t.test('a walk that began before a push counts beside it', async t => {
  const world = await PushWorld.open(t);
  const walks: Promise<unknown>[] = [];
  world.answer = () => {
    for (let more = 0; more < 5; more++) walks.push(world.measuring.scanner.measureSoon(world.repository));
    return 'go on';
  };
  const { bytes } = world;
  await world.push(30_000);
  await Promise.all(walks);
  t.ok(world.bytes >= bytes + 30_000);
  await world.settled();
});

t.test('a repository that was never measured counts what is pushed from the first push on', async t => {
  const world = await PushWorld.open(t);
  const other = join(world.repository, '../b.git');
  const { pushes } = world.measuring;
  fill(join(other, 'objects/tmp_objdir-incoming-aaaaaa/ab/cdef'), 7000);
  const look = await pushes.look(other, 'tmp_objdir-incoming-aaaaaa', 10_000);
  if (look.is !== 'seen') throw new Error(look.is);
  const unit = { path: other, owner: 'bob', leaf: 'size:repos:private', bytes: null } as const;
  const { quarantine } = look;
  pushes.begin({ unit, quarantine, name: quarantine.name, lines: '' });
  t.match(world.ledger.units.unit(other), { owner: 'bob', bytes: 7000, partial: true });
  for (const name of ['refs/heads', 'objects/pack']) fill(join(other, name, 'x'), 1);
  fill(join(other, 'HEAD'), 20);
  await world.measuring.scanner.measureSoon(other);
  t.match(world.ledger.units.unit(other), { bytes: 7022, partial: false });
  rmSync(other, { recursive: true });
  await world.measuring.scanner.measureSoon(other);
  t.equal(world.ledger.units.unit(other), undefined);
  t.same(pushes.listed(other), []);
});

t.test('after a push of unknown size, or one that nobody knows, the next walk counts as it is', async t => {
  const world = await PushWorld.open(t, { hasHooks: false });
  const { pushes, scanner } = world.measuring;
  const zeros = '0'.repeat(40);
  const grow = () => world.push(20_000);
  await grow();
  await scanner.measureSoon(world.repository);
  t.not(world.bytes, world.onDisk, 'it might be a repack');
  pushes.arrived(world.repository, `${'1'.repeat(40)} ${zeros} refs/heads/gone\n`);
  await scanner.measureSoon(world.repository);
  t.not(world.bytes, world.onDisk, 'a deletion explains nothing');
  pushes.arrived(world.repository, `${zeros} ${'1'.repeat(40)} refs/heads/main\n`);
  await scanner.measureSoon(world.repository);
  t.equal(world.bytes, world.onDisk);
  await grow();
  pushes.measure(world.repository);
  await scanner.measureSoon(world.repository);
  t.equal(world.bytes, world.onDisk);
});

t.test('a push is told from the next one with the same name, and a withdrawn one counts no more', async t => {
  const world = await PushWorld.open(t, { hasHooks: false });
  const { pushes } = world.measuring;
  const name = 'tmp_objdir-incoming-aaaaaa';
  const { bytes } = world;
  const begin = async (size: number) => {
    rmSync(join(world.repository, 'objects', name), { recursive: true, force: true });
    fill(join(world.repository, 'objects', name, 'ab/cdef'), size);
    t.equal(await world.begin(name), size);
  };
  await begin(100);
  t.equal(world.bytes, bytes + 100);
  pushes.withdraw(world.repository, name);
  t.equal(world.bytes, bytes);
  await begin(500);
  t.equal(world.bytes, bytes + 500, 'in place of the earlier one');
  renameSync(
    join(world.repository, 'objects', name),
    join(world.repository, 'objects/tmp_objdir-gone-aaaaaa'),
  );
  pushes.lookAgain(world.repository);
  await world.until(() => pushes.listed(world.repository)[0]?.name === 'tmp_objdir-gone-aaaaaa');
  t.equal(world.bytes, bytes + 500, 'what the worker is removing counts until it is gone');
  rmSync(join(world.repository, 'objects/tmp_objdir-gone-aaaaaa'), { recursive: true });
  pushes.lookAgain(world.repository);
  await world.noPushes();
  t.equal(world.bytes, bytes);
});

t.test('the directory of a unit is known by another path, and by a linked worktree', async t => {
  const world = await PushWorld.open(t, { hasHooks: false });
  const { measuring, repository } = world;
  const folder = temporary(t);
  const bound = (directory: string, name: string): string => {
    const place = join(folder, name);
    mkdirSync(place);
    execFileSync('mount', ['--bind', directory, place]);
    t.teardown(() => execFileSync('umount', ['-l', place]));
    return place;
  };
  const elsewhere = bound(join(repository, '..'), 'alice');
  const known = { path: repository, owner: 'alice', bytes: world.bytes, exists: true };
  t.match(await measuring.locate(join(elsewhere, 'a.git'), 10_000), known);
  t.match(await measuring.locate(bound(repository, 'one'), 10_000), known);
  fill(join(repository, 'worktrees/w/HEAD'), 1);
  writeFileSync(join(repository, 'worktrees/w/commondir'), '../..\n');
  t.match(await measuring.locate(join(elsewhere, 'a.git/worktrees/w'), 10_000), known);
  const worktree = join(folder, 'w');
  mkdirSync(worktree);
  writeFileSync(join(worktree, 'commondir'), `${repository}\n`);
  t.match(await measuring.locate(worktree, 10_000), known);
  const made = join(repository, '../new.git');
  bareRepository(made);
  t.match(
    await measuring.locate(join(elsewhere, 'new.git'), 10_000),
    { path: made, bytes: null },
    'a new one',
  );
  t.same(await measuring.pushes.existingNames(repository, ['HEAD', 'refs/heads', 'refs/heads/x']), [
    'HEAD',
    'refs/heads',
  ]);
  const covered = join(repository, '..');
  execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', covered]);
  t.teardown(() => execFileSync('umount', ['-l', covered]));
  for (const path of [join(elsewhere, 'a.git'), elsewhere, '/nonexistent'])
    await t.rejects(measuring.locate(path, 10_000), { code: 'unknown_path' }, path);
});

t.test('a repository that was made by git init --shared takes no --force', async t => {
  const world = await PushWorld.open(t, { hasHooks: false });
  const { pushes } = world.measuring;
  const shared = join(temporary(t), 'shared.git');
  execFileSync('git', ['init', '-q', '--bare', '--shared', shared]);
  t.equal(await pushes.deniesForce(shared), true);
  t.equal(await pushes.deniesForce(world.repository), false);
  execFileSync('git', ['-C', shared, 'config', 'receive.denyNonFastForwards', 'false']);
  t.equal(await pushes.deniesForce(shared), false);
  rmSync(join(shared, 'config'));
  execFileSync('mkfifo', [join(shared, 'config')]);
  t.equal(await pushes.deniesForce(shared), false, 'a pipe keeps nobody waiting');
});

t.test('a quarantine that the daemon may not read is measured by the worker', async t => {
  const quarantine = {
    name: 'tmp_objdir-incoming-aaaaaa',
    id: '1:2:3',
    bytes: 4,
    sample: null,
  };
  const pushWorker = { isHere: true, quarantine: async () => quarantine, largeFiles: async () => null };
  const world = await PushWorld.open(t, { hasHooks: false, pushWorker });
  const { pushes } = world.measuring;
  const place = join(world.repository, 'objects', quarantine.name);
  t.same(await pushes.look(world.repository, quarantine.name, 10_000), { is: 'absent' });
  // More levels than git makes: it is not looked through.
  fill(join(place, 'a/b/c/d/e/f/g/h/i'), 1);
  t.same(await pushes.look(world.repository, quarantine.name, 10_000), { is: 'seen', quarantine });
  pushWorker.isHere = false;
  t.same(await pushes.look(world.repository, quarantine.name, 10_000), { is: 'unreadable' });
  t.ok(existsSync(place));
});

t.test(
  'large files that the daemon may not read are told by the worker, as long as time is left',
  async t => {
    const seen = { is: 'seen', blobs: [{ object: 'a'.repeat(40), bytes: 7 }] } as const;
    const left: number[] = [];
    const pushWorker = {
      isHere: true,
      quarantine: async () => null,
      largeFiles: async (_unit: string, _name: string, _over: number, deadlineMs: number) => {
        left.push(deadlineMs);
        return seen;
      },
    };
    const world = await PushWorld.open(t, { hasHooks: false, pushWorker });
    const { pushes } = world.measuring;
    const name = 'tmp_objdir-incoming-aaaaaa';
    const pack = join(world.repository, 'objects', name, 'pack/pack-0123.pack');
    fill(pack, 1);
    t.same(await pushes.largeFiles(world.repository, name, 5, 10_000), seen);
    t.ok(
      left.every(each => each > 2000 && each <= 10_000),
      `${left}`,
    );
    pushWorker.isHere = false;
    t.match(await pushes.largeFiles(world.repository, name, 5, 10_000), { is: 'unknown' });
  },
);
