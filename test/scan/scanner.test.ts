import { execFileSync, spawnSync } from 'node:child_process';
import {
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { mock } from 'node:test';
import t from 'tap';
import { ownTime } from '../own-time.ts';
import { bareRepository, fill, independentCount, scanning, storage, swept, temporary } from './world.ts';

const headBytes = 'ref: refs/heads/main\n'.length;

t.test('a sweep measures every unit to the byte', async t => {
  const root = temporary(t);
  for (let owner = 0; owner < 10; owner++) {
    for (let repository = 0; repository < 20; repository++) {
      bareRepository(join(root, `o${owner}`, `r${repository}.git`), 100 * owner + repository);
    }
  }
  fill(join(root, 'o1/r1.git/lfs/ab/cd/abcd'), 12345);
  const { scanner, book } = scanning(t, [
    storage('repos', `${root}/{owner}/{repo}.git`),
    storage('lfs', `${root}/{owner}/{repo}.git/lfs`),
  ]);
  const run = await swept(scanner);
  t.match(run, { state: 'done', error: null, problems: { unread: { count: 0 }, faults: { count: 0 } } });
  t.equal(book.units.size, 201);
  t.equal(book.bytes(join(root, 'o1/r1.git/lfs')), 12345);
  const { bytes, files } = independentCount(root);
  const sum = (key: 'bytes' | 'files') => [...book.units.values()].reduce((all, unit) => all + unit[key], 0);
  t.same([sum('bytes'), sum('files')], [bytes, files]);
  const progress = run.progress();
  t.match(progress, { units: 201, unitsFound: 201, discovering: false, files, bytes, estimateSeconds: 0 });
  t.match(book.sweeps, [{ units: 201, whole: true }]);
});

t.test('units that are made, moved and removed are noticed by the next sweep', async t => {
  const root = temporary(t);
  const { scanner, book } = scanning(t, [storage('repos', `${root}/{owner}/{repo}.git`)]);
  for (const name of ['alice/a.git', 'alice/b.git', 'alice/c.git']) bareRepository(join(root, name), 100);
  await scanner.sweep({ kind: 'sweep' }).done;
  t.equal(book.units.size, 3);
  bareRepository(join(root, 'carol/new.git'), 7);
  renameSync(join(root, 'alice/a.git'), join(root, 'alice/renamed.git'));
  mkdirSync(join(root, 'bob'));
  renameSync(join(root, 'alice/b.git'), join(root, 'bob/b.git'));
  rmSync(join(root, 'alice/c.git'), { recursive: true });
  await scanner.sweep({ kind: 'sweep' }).done;
  const all = [...book.units.values()].map(({ unit, bytes }) => `${unit.path} ${unit.owner} ${bytes}`);
  t.same(all.sort(), [
    `${root}/alice/renamed.git alice ${100 + headBytes}`,
    `${root}/bob/b.git bob ${100 + headBytes}`,
    `${root}/carol/new.git carol ${7 + headBytes}`,
  ]);
});

t.test('a repository that is none any more is gone, and is back when it is one again', async t => {
  const root = temporary(t);
  const { scanner, book } = scanning(t, [storage('repos', `${root}/{owner}/{repo}.git`)]);
  const repository = join(root, 'alice/a.git');
  bareRepository(repository, 100);
  mkdirSync(join(root, 'alice/empty.git'));
  await scanner.sweep({ kind: 'sweep' }).done;
  t.same([...book.units.keys()], [repository]);
  renameSync(join(repository, 'HEAD'), join(repository, 'HEAD.away'));
  bareRepository(join(repository, 'inside.git'), 300);
  await scanner.sweep({ kind: 'sweep' }).done;
  t.same([...book.units.keys()], [join(repository, 'inside.git')], 'what is below it is found');
  rmSync(join(repository, 'inside.git'), { recursive: true });
  renameSync(join(repository, 'HEAD.away'), join(repository, 'HEAD'));
  await scanner.sweep({ kind: 'sweep' }).done;
  t.same([...book.units.keys()], [repository]);
  t.equal(book.bytes(repository), independentCount(repository).bytes);
});

t.test('no unit is dropped while its storage is not mounted', async t => {
  const root = join(temporary(t), 'mounted');
  mkdirSync(root);
  const mount = (): void => {
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', root]);
    for (const name of ['a', 'b']) fill(join(root, 'alice', name, 'file'), 100);
  };
  mount();
  // It may not be mounted any more.
  t.teardown(() => spawnSync('umount', ['-l', root]));
  const { scanner, book } = scanning(t, [storage('lfs', `${root}/{owner}/*`)]);
  await scanner.sweep({ kind: 'sweep' }).done;
  t.equal(book.units.size, 2);
  const a = join(root, 'alice/a');

  execFileSync('umount', [root]);
  t.equal(await scanner.measureSoon(a), 'unread', 'also when it is said to have changed');
  const unmounted = await swept(scanner);
  t.match(unmounted.problems.faults.first, [{ path: root, what: 'it has become another file system' }]);
  t.match(book.sweeps.at(-1)?.roots, [{ path: root, away: 'another file system' }]);
  t.equal(book.sweeps.at(-1)?.standing(a), 'away');
  t.equal(await scanner.measureSoon(a), 'unread');
  rmSync(root, { recursive: true });
  const missing = await swept(scanner);
  t.match(missing.problems.unread.first, [{ path: root, error: 'ENOENT' }]);
  t.equal(book.sweeps.at(-1)?.standing(a), 'away');
  t.equal(book.units.size, 2);

  mkdirSync(root);
  mount();
  fill(join(root, 'alice/a/more'), 11);
  t.equal(await scanner.measureSoon(a), 'counted', 'once it is back it is measured');
  await scanner.sweep({ kind: 'sweep' }).done;
  t.equal(book.bytes(a), 111);
  t.equal(book.units.size, 2);

  execFileSync('umount', [root]);
  await scanner.sweep({ kind: 'sweep', acceptMoved: true }).done;
  t.equal(book.units.size, 0, 'until somebody says that it is meant to be so');
});

t.test('a path below a root that was moved behind a link is found before the next sweep', async t => {
  const folder = temporary(t);
  bareRepository(join(folder, 'git/alice/a.git'), 10);
  const { scanner, book } = scanning(t, [storage('repos', `${folder}/git/{owner}/{repo}.git`)]);
  await scanner.sweep({ kind: 'sweep' }).done;
  t.match(await scanner.locate('/nonexistent/a.git', 10_000), { found: 'none' });
  t.equal(scanner.runs().length, 1, 'roots that are as they were are not measured again');
  renameSync(join(folder, 'git'), join(folder, 'moved'));
  symlinkSync('moved', join(folder, 'git'));
  const moved = join(folder, 'moved/alice/a.git');
  const { now } = performance;
  const later = mock.method(performance, 'now', () => now.call(performance) + 1000);
  t.teardown(() => later.mock.restore());
  const both = await Promise.all([moved, `${moved}/objects`].map(path => scanner.locate(path, 10_000)));
  t.match(both, [{ unit: { path: moved } }, { unit: { path: moved } }]);
  await scanner.runs()[0]?.done;
  t.same([...book.units.keys()], [moved], 'and all that is there is measured');
  t.equal(scanner.runs().length, 2);
});

t.test('a unit that somebody says has changed is measured before the sweep goes on', async t => {
  const root = temporary(t);
  const { scanner, book } = scanning(
    t,
    [storage('repos', `${root}/{owner}/{repo}.git`), storage('lfs', `${root}/{owner}/{repo}.git/lfs`)],
    { workers: 1 },
  );
  const path = join(root, 'alice/a.git');
  bareRepository(path, 100);
  t.equal(await scanner.measureSoon(path), 'counted');
  t.equal(book.bytes(path), 100 + headBytes);
  fill(join(path, 'description'), 1000);
  fill(join(path, 'lfs/12/34/5678'), 50);
  await scanner.measureSoon(path);
  t.equal(book.bytes(path), 1100 + headBytes);
  t.equal(book.bytes(join(path, 'lfs')), 50, 'with the units inside');
  t.equal(await scanner.measureSoon(join(root, 'alice/other.git')), 'none');
  rmSync(path, { recursive: true });
  t.equal(await scanner.measureSoon(path), 'gone');
  t.equal(book.units.size, 0, 'the units inside have gone with it');
});

t.test('a walk that answers a change has begun after it', async t => {
  const root = temporary(t);
  const unit = join(root, 'alice');
  const { scanner, book } = scanning(t, [storage('lfs', `${root}/{owner}`)]);
  for (let index = 0; index < 3000; index++) fill(join(unit, `${index % 50}`, `${index}`), 1);
  const walks: Promise<unknown>[] = [scanner.measureSoon(unit)];
  for (let more = 0; more < 100; more++) {
    fill(join(unit, 'new', String(more)), 1);
    walks.push(scanner.measureSoon(unit));
    await new Promise(setImmediate);
    if (more % 10 !== 9) continue;
    await walks.at(-1);
    t.equal(book.bytes(unit), 3000 + more + 1);
  }
  await Promise.all(walks);
  t.equal(book.bytes(unit), 3100);
  t.ok(book.reported.length < 60, `${book.reported.length} walks for 101 questions`);
});

t.test('a sweep of some owners measures their units, and drops none of the others', async t => {
  const root = temporary(t);
  const { scanner, book } = scanning(t, [storage('lfs', `${root}/{owner}`)]);
  for (const owner of ['Alice', 'bob', 'carol']) fill(join(root, owner, 'file'), 10);
  const run = await swept(scanner, { kind: 'sweep', owners: ['alice', 'carol'] });
  t.same([...book.units.keys()].sort(), [join(root, 'Alice'), join(root, 'carol')]);
  t.match(run.progress(), { units: 2, unitsFound: 2 });
  t.match(book.sweeps, [{ units: 3, whole: false }]);
  t.equal(book.sweeps[0]?.standing(join(root, 'bob')), 'seen');
});

t.test('a verify reports how far what was known differs from what is there', async t => {
  const root = temporary(t);
  const { scanner } = scanning(t, [storage('lfs', `${root}/{owner}`)]);
  for (const owner of ['alice', 'bob', 'carol']) fill(join(root, owner, 'file'), 100);
  await scanner.sweep({ kind: 'sweep' }).done;
  fill(join(root, 'alice/more'), 5);
  rmSync(join(root, 'bob/file'));
  fill(join(root, 'dave/new'), 1000);
  const run = await swept(scanner, { kind: 'verify' });
  t.match(run.drift, { units: 2, bytes: 105 });
  const again = await swept(scanner, { kind: 'verify' });
  t.same(again.drift, { units: 0, bytes: 0 });
});

t.test('sweeps run one at a time, and those of one kind that wait are one', async t => {
  const root = temporary(t);
  const { scanner } = scanning(t, [storage('lfs', `${root}/{owner}`)]);
  for (const owner of ['alice', 'bob']) fill(join(root, owner, 'file'), 100);
  const first = scanner.sweep({ kind: 'sweep', owners: ['alice'] });
  const second = scanner.sweep({ kind: 'sweep', owners: ['alice'] });
  const third = scanner.sweep({ kind: 'sweep', owners: ['bob'] });
  const verify = scanner.sweep({ kind: 'verify' });
  t.equal(second, third);
  t.same(second.owners, ['alice', 'bob']);
  const states = () => [first, second, verify].map(run => run.state);
  t.same(states(), ['running', 'waiting', 'waiting']);
  scanner.sweep({ kind: 'sweep' });
  t.equal(second.owners, null, 'one of all is one of each');
  await verify.done;
  t.same(states(), ['done', 'done', 'done']);
  t.same(scanner.runs(), [verify, second, first]);
});

t.test('a sweep tells how far it is, and logs it', async t => {
  const root = temporary(t);
  const logged: string[] = [];
  const log = { info: (_: object, message: string) => logged.push(message), warn: () => {}, error: () => {} };
  const options = { walkerCode: new URL('odd-io-worker.ts', import.meta.url), workers: 1, log };
  const { scanner } = scanning(t, [storage('lfs', `${root}/{owner}`)], options);
  for (let owner = 0; owner < 10; owner++) {
    for (let index = 0; index < 5; index++) fill(join(root, `slow ${owner}`, String(index), 'file'), 10);
  }
  await scanner.sweep({ kind: 'sweep' }).done;
  const run = scanner.sweep({ kind: 'sweep' });
  const seen = [run.progress()];
  while (run.state === 'waiting' || run.state === 'running') {
    const progress = run.progress();
    if (progress.files !== seen.at(-1)?.files) seen.push(progress);
    await new Promise(setImmediate);
  }
  t.ok(seen.length > 5, 'unit by unit');
  for (const key of ['files', 'bytes', 'directories', 'units'] as const) {
    const values = seen.map(progress => progress[key]);
    t.strictSame(
      values,
      values.toSorted((a, b) => a - b),
      `${key} never go back`,
    );
  }
  const half = seen[Math.floor(seen.length / 2)];
  t.ok(half !== undefined && half.entriesPerSecond > 0 && half.bytesPerSecond > 0);
  const estimate = half?.estimateSeconds ?? 0;
  t.ok(estimate > 0 && estimate < 10);
  t.match(run.progress(), { units: 10, files: 50, directories: 60, bytes: 500, estimateSeconds: 0 });
  t.same(logged, ['a sweep begins', 'a sweep has ended', 'a sweep begins', 'a sweep has ended']);
});

t.test('what a sweep meets is told with exact counts', async t => {
  const root = temporary(t);
  const { scanner } = scanning(t, [
    storage('repos', `${root}/{owner}/{repo}.git`),
    storage('lfs', `${root}/missing/{owner}`),
  ]);
  const path = join(root, 'alice/a.git');
  bareRepository(path, 100);
  fill(join(path, 'objects/pack/tmp_pack_old'), 77);
  execFileSync('touch', ['-d', '2 hours ago', join(path, 'objects/pack/tmp_pack_old')]);
  bareRepository(join(root, 'odd', 'b.git'));
  execFileSync('sh', ['-c', 'mv "$1" "$(printf "%s/\\377" "$2")"', 'sh', join(root, 'odd'), root]);
  const run = await swept(scanner);
  t.match(run.problems.leftovers, {
    count: 1,
    first: [{ path: join(path, 'objects/pack/tmp_pack_old'), bytes: 77 }],
  });
  t.match(run.problems.unread, { count: 1, first: [{ path: join(root, 'missing'), error: 'ENOENT' }] });
  t.match(run.problems.faults, { count: 1, first: [{ path: join(root, '\udcff') }] });
});

t.test('an owner behind a link that is not followed is marked, until the link is gone', async t => {
  const root = temporary(t);
  const { scanner, book } = scanning(t, [storage('repos', `${root}/git/{owner}/{repo}.git`)]);
  bareRepository(join(root, 'git/alice/a.git'), 100);
  bareRepository(join(root, 'disk/b.git'), 1000);
  symlinkSync('../disk', join(root, 'git/bob'));
  const link = join(root, 'git/bob');
  for (const _ of ['first', 'again']) {
    const run = await swept(scanner);
    t.match(run.problems.unread, { count: 1, first: [{ path: link, error: 'ELOOP' }] });
    t.match(book.units.get(link), { unit: { owner: 'bob' }, bytes: 0, partial: true });
    t.equal(book.units.size, 2);
  }
  rmSync(link);
  await scanner.sweep({ kind: 'sweep' }).done;
  t.equal(book.units.size, 1);
});

t.test('what lies behind a followed link is a root of its own, and stays while its disk is away', async t => {
  const root = temporary(t);
  const [git, disk] = [join(root, 'git'), join(root, 'disk')];
  const storages = [{ ...storage('repos', `${git}/{owner}/{repo}.git`), follow: [disk] }];
  bareRepository(join(git, 'alice/a.git'), 100);
  bareRepository(join(disk, 'bob/b.git'), 1000);
  symlinkSync('../disk/bob', join(git, 'bob'));
  const { scanner, book } = scanning(t, storages, { isWatched: true });
  const sweep = async () => (await swept(scanner)).problems;
  const unit = join(disk, 'bob/b.git');
  t.match(await sweep(), { unread: { count: 0 }, faults: { count: 0 } });
  t.match(book.units.get(unit), {
    unit: { owner: 'bob' },
    bytes: independentCount(unit).bytes,
    partial: false,
  });
  fill(join(unit, 'new'), 50);
  t.equal(await scanner.measureSoon(unit), 'counted');
  t.equal(book.bytes(unit), independentCount(unit).bytes);
  t.match(await scanner.locate(join(git, 'bob/b.git/refs'), 10_000), { unit: { path: unit, owner: 'bob' } });

  renameSync(disk, join(root, 'away'));
  t.match(await sweep(), { unread: { first: [{ path: join(disk, 'bob'), error: 'ENOENT' }] } });
  t.equal(book.sweeps.at(-1)?.standing(unit), 'away');
  renameSync(join(root, 'away'), disk);
  rmSync(join(git, 'bob'));
  await sweep();
  t.same([...book.units.keys()], [join(git, 'alice/a.git')], 'without the link they are gone');
});

t.test('a unit that is too large keeps the bytes it was known with', async t => {
  const root = temporary(t);
  execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', root]);
  t.teardown(() => execFileSync('umount', ['-l', root]));
  const { scanner, book } = scanning(t, [storage('lfs', `${root}/{owner}`)]);
  fill(join(root, 'alice/file'), 100);
  fill(join(root, 'bob/file'), 100);
  await scanner.sweep({ kind: 'sweep' }).done;
  for (const name of ['x', 'y']) {
    writeFileSync(join(root, 'alice', name), '');
    truncateSync(join(root, 'alice', name), 2 ** 52 + 1);
  }
  const run = await swept(scanner);
  t.match(book.units.get(join(root, 'alice')), { bytes: 100, partial: true });
  t.match(book.units.get(join(root, 'bob')), { bytes: 100, partial: false });
  t.match(run.problems.faults.first, [{ path: join(root, 'alice'), what: /2\^53 - 1/ }]);
});

t.test('other settings stop the verification that runs and begin another one', async t => {
  const root = temporary(t);
  const options = { walkerCode: new URL('odd-io-worker.ts', import.meta.url), workers: 1 };
  const { scanner, book } = scanning(t, [storage('lfs', `${root}/a/{owner}`)], options);
  for (let index = 0; index < 300; index++) fill(join(root, 'a/slow', String(index), 'file'), 1);
  fill(join(root, 'b/bob/.skip/file'), 100);
  fill(join(root, 'b/bob/file'), 10);
  const first = scanner.sweep({ kind: 'verify' });
  while (scanner.status().walking.length === 0) await new Promise(setImmediate);
  const second = scanner.reconfigure({
    storages: [storage('lfs', `${root}/b/{owner}`)],
    exclude: ['.skip'],
    measure: 'apparent',
  });
  await first.done;
  t.equal(first.state, 'stopped');
  await second?.done;
  t.match(second, { kind: 'verify', state: 'done' });
  t.same([[...book.units.keys()], book.bytes(join(root, 'b/bob'))], [[join(root, 'b/bob')], 10]);
  t.equal(book.sweeps.length, 1);
  t.match(await scanner.locate(join(root, 'b/bob/file'), 5000), { found: 'unit' });
  t.match(await scanner.locate(join(root, 'a/slow/file'), 5000), { found: 'none' });
});

t.test('looking for missing storage starts no program while it is missing', async t => {
  const root = temporary(t);
  const programs = temporary(t);
  const log = join(programs, 'log');
  const stat = join(programs, 'stat');
  writeFileSync(stat, `#!/bin/sh\necho >> ${log}\nexec /usr/bin/stat "$@"\n`, { mode: 0o755 });
  const { PATH } = process.env;
  process.env.PATH = `${programs}:${PATH}`;
  t.teardown(() => {
    process.env.PATH = PATH;
  });
  fill(join(root, 'there/alice/file'), 10);
  const { scanner } = scanning(t, [
    storage('lfs', `${root}/there/{owner}`),
    storage('packages', `${root}/missing/{owner}`),
  ]);
  await swept(scanner);
  const before = readFileSync(log, 'utf8');
  t.not(before, '');
  t.match(await scanner.locate(join(root, 'missing/bob/file'), 5000), { found: 'unread' });
  t.equal(readFileSync(log, 'utf8'), before);
});

t.test('a verification goes on when the settings are given again', async t => {
  const root = temporary(t);
  const { scanner } = scanning(t, [storage('lfs', `${root}/{owner}`)]);
  fill(join(root, 'bob/file'), 10);
  const verify = scanner.sweep({ kind: 'verify' });
  t.equal(verify.state, 'running');
  const storages = [storage('lfs', `${root}/{owner}`)];
  t.equal(scanner.reconfigure({ storages, exclude: ['.snapshot'], measure: 'apparent' }), null);
  await verify.done;
  t.equal(verify.state, 'done');
  t.same(scanner.runs(), [verify]);
});

t.test('a unit whose walk ends its thread is named, and no other one is lost', async t => {
  const root = temporary(t);
  const options = { walkerCode: new URL('odd-io-worker.ts', import.meta.url) };
  const { scanner, book } = scanning(t, [storage('lfs', `${root}/{owner}`)], options);
  for (let owner = 0; owner < 50; owner++) fill(join(root, `owner ${owner}`, 'file'), 1);
  fill(join(root, 'poison/file'), 1);
  const run = await swept(scanner);
  t.equal(run.state, 'done');
  t.equal(book.units.size, 51);
  t.match(book.units.get(join(root, 'poison')), { bytes: 0, partial: true, unit: { owner: 'poison' } });
  t.equal(run.unmeasured, 1);
  t.match(run.problems.faults, {
    count: 1,
    first: [{ path: join(root, 'poison'), what: 'it could not be walked: the thread ended with code 3' }],
  });
  t.equal(book.sweeps[0]?.standing(join(root, 'poison')), 'unread', 'it keeps its last known bytes');
  const died = book.warnings.filter(warning => warning.startsWith('a walker died'));
  t.equal(died.length, 1, 'it was tried twice, and the log has a line a minute');
  t.equal(await scanner.measureSoon(join(root, 'poison')), 'unread', 'also when it is urgent');
  t.equal(await scanner.measureSoon(join(root, 'owner 1')), 'counted');
});

t.test('a scanner that closes stops walking within a second', async t => {
  const root = temporary(t);
  const options = { walkerCode: new URL('odd-io-worker.ts', import.meta.url), workers: 1 };
  const { scanner, book } = scanning(t, [storage('lfs', `${root}/{owner}`)], options);
  for (let index = 0; index < 500; index++) fill(join(root, 'slow', String(index), 'file'), 1);
  const running = scanner.sweep({ kind: 'sweep' });
  const waiting = scanner.sweep({ kind: 'verify' });
  while (scanner.status().walking.length === 0) await new Promise(setImmediate);
  const taken = ownTime();
  t.equal(await scanner.close(), 0);
  t.ok(taken() < 1000);
  await Promise.all([running.done, waiting.done]);
  t.same([running.state, waiting.state], ['stopped', 'stopped']);
  t.equal(await scanner.measureSoon(join(root, 'slow')), 'stopped');
  t.equal(scanner.sweep({ kind: 'sweep' }).state, 'stopped');
  await t.rejects(scanner.locate(root, 1000), { code: 'not_ready' });
  t.same(book.sweeps, []);
});

t.test('a measurement that cannot be recorded is logged, and stops nothing', async t => {
  const root = temporary(t);
  const { scanner, book } = scanning(t, [storage('lfs', `${root}/{owner}`)]);
  book.report = () => {
    throw new Error('the owner is too large');
  };
  for (const owner of ['alice', 'bob']) fill(join(root, owner, 'file'), 10);
  const run = await swept(scanner);
  t.equal(run.state, 'done');
  t.same(book.warnings, ['a measurement could not be recorded', 'a measurement could not be recorded']);
  for (let more = 0; more < 3; more++) await scanner.measureSoon(join(root, 'alice'));
  t.equal(book.warnings.length, 2, 'whoever has it measured again and again does not fill the log');
});

t.test('a scanner without a usable cache measures all the same', async t => {
  const root = temporary(t);
  const { scanner, book } = scanning(t, [storage('lfs', `${root}/{owner}`)], {
    cacheFile: join(root, 'no/such/scan.db'),
  });
  fill(join(root, 'alice/file'), 100);
  await scanner.sweep({ kind: 'sweep' }).done;
  t.equal(book.bytes(join(root, 'alice')), 100);
  t.match(book.warnings, ['the scan cache cannot be used']);
});
