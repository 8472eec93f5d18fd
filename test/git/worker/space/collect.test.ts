/** Reachable bytes are measured exactly, and unreachable ones go only when nothing can need them any more. */

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  access,
  chmod,
  copyFile,
  mkdir,
  open as openFile,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { isGroupAlive } from '../../../../src/bounded/index.ts';
import { collect, writeBitmap } from '../../../../src/git/worker/space/collect.ts';
import { removeLeft } from '../../../../src/git/worker/space/gc-lock.ts';
import { UnusableRepository } from '../../../../src/git/worker/space/git.ts';
import { measure } from '../../../../src/git/worker/space/measure.ts';
import { RepositoryView } from '../../../../src/git/worker/space/view.ts';
import { until } from '../../../e2e/ask.ts';
import { isLong } from '../../../run-length.ts';
import { limits, program, Repository } from './world.ts';

const hourMs = 3_600_000;

const options = { expireMs: hourMs, now: Date.now };
const later = (hours: number) => ({ ...options, now: () => Date.now() + hours * hourMs });
const opened = (path: string) => RepositoryView.open(path, { program }, limits);

t.test('what a deleted branch alone held is unreachable, and goes once it is old', async t => {
  const repository = await Repository.holding(t, { small: 20_000 });
  await repository.git('checkout', '-q', '-b', 'big');
  await repository.commit({ big: 300_000 });
  await repository.push('big');
  const view = await repository.view(t);
  t.equal((await measure(view)).unreachableBytes, 0);
  await repository.push(':big');
  const found = await measure(view);
  t.ok(found.unreachableBytes > 300_000 && found.unreachableBytes < 302_000, String(found.unreachableBytes));
  t.ok(found.reachableBytes > 20_000 && found.reachableBytes < 22_000, String(found.reachableBytes));

  const young = await collect(view, options);
  t.ok(young.after.unreachableBytes > 300_000, 'a push that is under way may need it');
  t.equal(await repository.fsck(), '');
  const before = await repository.bytes();
  // The cruft pack knows since when each object is unreachable.
  const old = await collect(view, later(2));
  t.equal(old.after.unreachableBytes, 0);
  t.ok(before - (await repository.bytes()) > 300_000);
  t.equal(await repository.fsck(), '');
  t.same(
    (await readdir(repository.path)).filter(name => name.startsWith('gc.pid')),
    [],
  );
});

t.test('objects behind a link are collected by the same rules', async t => {
  const repository = await Repository.open(t);
  const { path, server } = repository;
  await repository.commit({ small: 20_000 });
  await repository.push('main');
  await repository.commit({ big: 300_000 });
  await repository.push('main:big');
  await repository.push(':big');
  await repository.age();
  const disk = server.path('disk');
  await mkdir(disk);
  const objects = join(disk, 'objects');
  await rename(join(path, 'objects'), objects);
  await symlink(objects, join(path, 'objects'));
  await writeFile(join(objects, 'pack/.tmp-1-pack-x.pack'), '');
  await utimes(join(objects, 'pack/.tmp-1-pack-x.pack'), 1, 1);
  const view = await repository.view(t, objects);
  await chmod(disk, 0o777);
  await t.rejects(collect(view, options), new RegExp(`others? than the worker's may write to ${disk}$`));
  await chmod(disk, 0o755);
  t.equal((await collect(view, options)).after.unreachableBytes, 0);
  t.equal(await repository.fsck(), '');
  t.notMatch(await readdir(join(objects, 'pack')), ['.tmp-1-pack-x.pack'], 'what a repack left is removed');
});

t.test('nothing is deleted behind a link that leads to a repository, or elsewhere by now', async t => {
  const repository = await Repository.open(t);
  const { path, server } = repository;
  await repository.commit({ small: 20_000 });
  await repository.push('main');
  await repository.commit({ big: 300_000 });
  await repository.push('main:big');
  const other = await server.repository('disk/other.git');
  await repository.git('push', '-q', other, 'main');
  await repository.push(':big');
  const objects = join(other, 'objects');
  await rm(join(path, 'objects'), { recursive: true });
  await symlink(objects, join(path, 'objects'));
  await repository.at(other).age();
  const view = await repository.view(t, objects);
  t.ok((await measure(view)).unreachableBytes > 300_000, 'it is measured');
  for (const gone of ['HEAD', 'packed-refs']) {
    await t.rejects(
      collect(view, options),
      new RegExp(`nothing is deleted: objects leads into ${other}, which is a repository of its own`),
    );
    await rm(join(other, gone), { force: true });
  }
  t.ok((await measure(view)).unreachableBytes > 300_000);

  await rename(join(other, 'refs'), join(server.root, 'refs'));
  const elsewhere = server.path('elsewhere');
  await mkdir(elsewhere);
  await rm(join(path, 'objects'));
  await symlink(elsewhere, join(path, 'objects'));
  await t.rejects(collect(view, options), /objects does not lead to .*other.git\/objects any more$/);
  await rm(join(path, 'objects'));
  await symlink(objects, join(path, 'objects'));
  t.equal((await collect(view, options)).after.unreachableBytes, 0);
});

t.test('what a killed worker left behind a link goes, unless a process is at work there', async t => {
  const repository = await Repository.open(t);
  const { path, server } = repository;
  const objects = server.path('disk-objects');
  await rename(join(path, 'objects'), objects);
  await symlink(objects, join(path, 'objects'));
  const begun = Date.now();
  const left = join(objects, 'pack/tmp_pack_abcdef');
  await writeFile(left, 'x');
  await writeFile(join(path, 'gc.pid'), `4194305 ${hostname()} softquota ${begun}`);
  const there = spawn('sleep', ['60'], { cwd: objects });
  t.teardown(() => there.kill());
  await once(there, 'spawn');
  await removeLeft({ path, objects }, true);
  await access(left);
  there.kill();
  await once(there, 'exit');
  await removeLeft({ path, objects }, true);
  await t.rejects(access(left));
});

t.test('hidden refs and reflogs keep what they name', async t => {
  const repository = await Repository.open(t);
  await repository.git('-C', repository.path, 'config', 'core.logAllRefUpdates', 'always');
  await repository.commit({ a: 10_000 });
  await repository.push('main');
  await repository.commit({ b: 100_000 });
  await repository.push('main:refs/pull/1/head', 'main:gone');
  await repository.git('reset', '-q', '--hard', 'HEAD~1');
  await repository.commit({ c: 50_000 });
  await repository.push('main');
  await repository.git('reset', '-q', '--hard', 'HEAD~1');
  await repository.push('main', ':gone');
  await repository.age();
  const view = await repository.view(t);
  t.equal((await measure(view)).unreachableBytes, 0);
  await collect(view, options);
  t.equal(await repository.git('-C', repository.path, 'cat-file', '-t', 'refs/pull/1/head:b'), 'blob\n');
  await repository.git('-C', repository.path, 'cat-file', '-e', 'main@{1}:c');
  t.equal(await repository.fsck(), '');
});

t.test('objects of alternates are neither counted nor taken over', async t => {
  const repository = await Repository.holding(t, { shared: 200_000 });
  const fork = repository.server.path('git/bob/fork.git');
  await repository.git('clone', '-q', '--bare', '--shared', repository.path, fork);
  await repository.commit({ own: 30_000 });
  await repository.git('push', '-q', fork, 'main');
  const view = await repository.at(fork).view(t);
  const found = await measure(view);
  t.ok(found.reachableBytes > 30_000 && found.reachableBytes < 32_000, String(found.reachableBytes));
  t.equal(found.unreachableBytes, 0);
  await collect(view, options);
  t.ok((await measure(view)).reachableBytes < 32_000);
  t.equal((await repository.server.git(['fsck', '--full'], fork)).code, 0);
});

t.test('nothing is deleted where the repository says so, or another collection runs', async t => {
  const repository = await Repository.open(t);
  await repository.commit({ a: 1000 });
  await repository.push('main', 'main:other');
  await writeFile(join(repository.path, 'info/grafts'), `${'0'.repeat(40)}\n`);
  await t.rejects(collect(await repository.view(t), options), /its history has grafts/);
  await rm(join(repository.path, 'info/grafts'));
  const lock = join(repository.path, 'gc.pid');
  await writeFile(lock, `${process.ppid} ${hostname()}`);
  const view = await repository.view(t);
  await t.rejects(collect(view, options), new UnusableRepository('another gc is running there'));
  t.equal(await readFile(lock, 'utf8'), `${process.ppid} ${hostname()}`);
  await writeFile(lock, `4194305 ${hostname()}`);
  await collect(view, options);
  await t.rejects(access(lock), { code: 'ENOENT' }, 'one of a process that is gone is replaced');
  const making = `${lock}.lock`;
  await writeFile(making, '');
  await t.rejects(collect(view, options), /another gc/, 'somebody is about to write who has it');
  const before = new Date(Date.now() - 11_000);
  await utimes(making, before, before);
  await collect(view, options);
  await t.rejects(access(making), { code: 'ENOENT' }, 'whoever made it was killed');
  for (const [key, value] of [
    ['extensions.preciousObjects', 'true'],
    ['gc.pruneExpire', 'never'],
    ['extensions.partialClone', 'origin'],
  ] as const) {
    await repository.git('-C', repository.path, 'config', key, value);
    const kept = await repository.view(t);
    await t.rejects(collect(kept, options), /nothing is deleted/, key);
    await measure(kept);
    await repository.git('-C', repository.path, 'config', '--unset', key);
  }
});

t.test('what is no repository that git knows is a fault that says why', async t => {
  const repository = await Repository.open(t);
  const { path } = repository;
  await repository.git('-C', path, 'config', 'core.repositoryFormatVersion', '1');
  await writeFile(join(path, 'config'), '[extensions]\nfromTheFuture = true\n');
  await t.rejects(opened(path), /extensions\.fromthefuture/);
  await writeFile(join(path, 'config'), 'no config');
  await t.rejects(opened(path), /git cannot read its config/);
  await rm(join(path, 'config'));
  await symlink('/dev/zero', join(path, 'config'));
  await t.rejects(opened(path), /its config is no regular file \(link\)/);
  await rm(join(path, 'objects'), { recursive: true });
  await mkdir(repository.server.path('elsewhere'));
  await symlink(repository.server.path('elsewhere'), join(path, 'objects'));
  await t.rejects(opened(path), /objects is not a directory/);
});

t.test('sha256, shared permissions and a bitmap', async t => {
  const repository = await Repository.open(t);
  const path = repository.server.path('git/alice/two.git');
  await repository.git('init', '-q', '--bare', '--object-format=sha256', '--shared=0660', path);
  await rm(repository.clone, { recursive: true });
  await repository.git('init', '-q', '-b', 'main', '--object-format=sha256', repository.clone);
  await repository.commit({ a: 5000 });
  await repository.git('push', '-q', path, 'main');
  const view = await repository.at(path).view(t);
  const { reachableBytes } = await measure(view);
  t.ok(reachableBytes > 5000 && reachableBytes < 6000);
  await collect(view, options);
  const packs = await readdir(join(path, 'objects/pack'));
  t.equal(packs.filter(name => name.endsWith('.bitmap')).length, 1, packs.join(' '));
  await repository.commit({ b: 5000 });
  await repository.git('push', '-q', path, 'main');
  await writeBitmap(view);
  const names = await readdir(join(path, 'objects/pack'));
  t.ok(
    names.some(name => name.startsWith('multi-pack-index-')),
    names.join(' '),
  );
  t.ok((await measure(view)).reachableBytes > 10_000);
  t.equal((await repository.server.git(['fsck', '--full'], path)).code, 0);
});

t.test('a collection that is stopped or killed at any moment loses nothing', async t => {
  t.setTimeout(isLong ? 900_000 : 120_000);
  const repository = await Repository.open(t);
  for (let at = 0; at < 12; at++) await repository.commit({ [`f${at}`]: 20_000, same: 50_000 });
  await repository.push('main', 'main:gone');
  await repository.push(':gone', 'HEAD~6:refs/heads/main');
  await repository.age();
  const turns = isLong ? 200 : 12;
  for (let turn = 0; turn < turns; turn++) {
    const stop = new AbortController();
    const view = await opened(repository.path);
    // Every step of the collection is interrupted at some turn.
    const timer = setTimeout(() => stop.abort(), turn * 8);
    view.limits = { ...limits, signal: stop.signal };
    await collect(view, options).catch(() => {});
    clearTimeout(timer);
    await view.close();
    t.equal(await repository.fsck(), '', `turn ${turn}`);
    t.same(
      (await readdir(repository.path)).filter(name => name.startsWith('gc.pid')),
      [],
    );
    t.notMatch((await readdir(join(repository.path, 'objects/pack'))).join(' '), /\.tmp-/, `turn ${turn}`);
    await repository.push(turn % 2 === 0 ? 'main' : 'HEAD~6:refs/heads/main');
  }
  await repository.push('main');
  const view = await repository.view(t);
  // A git that is ended the moment it has a lock leaves it; the lock goes once it is old.
  await repository.age();
  await collect(view, options);
  t.equal(await repository.fsck(), '');
  for (const file of ['f11', 'same'])
    await repository.git('-C', repository.path, 'cat-file', '-e', `main:${file}`);
});

/** Files in the making, and locks, below a repository. */
async function unfinished({ path }: Repository): Promise<readonly string[]> {
  const names = await readdir(path, { recursive: true });
  return names.filter(name => /(?:^|\/)(?:\.?tmp[_-]|gc\.pid)|\.lock$/.test(name)).toSorted();
}

t.test('of a git that is killed at any moment nothing stays, and all that others made does', async t => {
  t.setTimeout(isLong ? 900_000 : 120_000);
  const repository = await Repository.open(t);
  for (let at = 0; at < 8; at++) await repository.commit({ [`f${at}`]: 300_000 });
  await repository.push('main');
  const pack = (name: string) => join(repository.path, 'objects/pack', name);
  await writeFile(pack('tmp_pack_before'), 'x');
  await delay(50);
  const turns = isLong ? 100 : 10;
  let killed = 0;
  for (let turn = 0; turn < turns; turn++) {
    const view = await opened(repository.path);
    view.limits = { ...limits, isAlone: true };
    const collected = collect(view, options).catch(error => String(error));
    const [git] = await until(async () => {
      const text = await readFile(join(repository.path, 'gc.pid'), 'utf8').catch(() => '');
      const [, pid] = /^(\d+) /.exec(text) ?? [];
      return pid === undefined || pid === `${process.pid}` ? null : [Number(pid)];
    });
    const open = await openFile(pack('tmp_pack_inuse'), 'wx');
    await delay(turn * 6);
    const text = await readFile(join(repository.path, 'gc.pid'), 'utf8').catch(() => '');
    const now = Number(text.split(' ')[0]) || git;
    if (isGroupAlive(now) && now !== process.pid) killed += Number(process.kill(-now, 'SIGKILL'));
    await collected;
    await view.close();
    t.strictSame(
      await unfinished(repository),
      ['objects/pack/tmp_pack_before', 'objects/pack/tmp_pack_inuse'],
      `turn ${turn}`,
    );
    await open.close();
    await rm(pack('tmp_pack_inuse'));
    t.equal(await repository.fsck(), '', `turn ${turn}`);
  }
  t.ok(killed > 0, `${killed} were killed`);
});

t.test('what a worker left that was killed with its git goes at the next look, and only that', async t => {
  const repository = await Repository.open(t);
  const at = (name: string) => join(repository.path, name);
  const places = { path: repository.path, objects: at('objects') };
  const lock = at('gc.pid');
  const make = async (...names: readonly string[]) => {
    for (const name of names) await writeFile(at(`objects/${name}`), 'x');
    await delay(50);
  };
  const others = ['pack/tmp_pack_earlie', 'pack/.tmp-4194304-pack-1.pack', 'pack/tmp_idx_laterx'];
  await make('pack/tmp_pack_earlie');
  const gone = `4194305 ${hostname()} softquota ${Date.now()}`;
  await make('pack/tmp_pack_abcdef', 'pack/tmp_bitmap_abcdef', 'pack/.tmp-4194305-pack-1.pack');
  await make('pack/multi-pack-index.lock', 'pack/.tmp-4194304-pack-1.pack');
  await writeFile(lock, gone);
  await writeFile(`${lock}.lock`, gone);
  await delay(400);
  await make('pack/tmp_idx_laterx');
  t.equal(await removeLeft(places, true), false);
  t.strictSame(await unfinished(repository), others.map(name => `objects/${name}`).toSorted());

  for (const text of [
    `4194305 ${hostname()}`,
    `4194305 elsewhere softquota ${Date.now() - 1000}`,
    `${process.ppid} ${hostname()} softquota ${Date.now() - 1000}`,
  ]) {
    await writeFile(lock, text);
    await make('pack/tmp_pack_theirs');
    t.equal(await removeLeft(places, true), text.startsWith(`${process.ppid}`), 'one runs there');
    t.equal(await readFile(lock, 'utf8'), text);
    t.ok((await unfinished(repository)).includes('objects/pack/tmp_pack_theirs'), text);
  }
});

t.test('a lock of another host is believed for an hour', async t => {
  const repository = await Repository.holding(t, { a: 1000 });
  const lock = join(repository.path, 'gc.pid');
  await writeFile(lock, '1 elsewhere');
  const view = await repository.view(t);
  const since = async (milliseconds: number) => {
    const at = new Date(Date.now() - milliseconds);
    await utimes(lock, at, at);
  };
  await since(hourMs - 60_000);
  await t.rejects(collect(view, options), /another gc/);
  await since(hourMs + 60_000);
  await collect(view, options);
  await t.rejects(access(lock), { code: 'ENOENT' });
});

t.test('what is made while a collection waits holds its objects: packed refs, a worktree', async t => {
  const repository = await Repository.open(t);
  const { path, server } = repository;
  await repository.commit({ a: 30_000 });
  await repository.push('main');
  await repository.commit({ b: 30_000 });
  await repository.push('HEAD:refs/heads/other');
  await repository.age();
  const view = await repository.view(t);
  t.equal((await server.git(['worktree', 'add', '-q', '--detach', '../tree', 'other'], path)).code, 0);
  await server.git(['branch', '-q', '-D', 'other'], path);
  await server.git(['pack-refs', '--all', '--prune'], path);
  await collect(view, later(2));
  t.equal(await repository.fsck(), '');
  t.equal((await measure(view)).unreachableBytes, 0);
});

t.test('a collection that ends after it deleted leaves no commit graph with what is gone', async t => {
  const repository = await Repository.holding(t, { a: 1000 });
  await repository.commit({ b: 1000 });
  await repository.push('main:gone');
  const view = await repository.view(t);
  await collect(view, options);
  await repository.push(':gone');
  await repository.age();
  t.intercept(view, 'prune', { value: () => Promise.reject(new Error('killed')) });
  await t.rejects(collect(view, later(2)), { message: 'killed' });
  const gone = (await repository.git('rev-parse', 'main')).trim();
  await t.rejects(repository.git('-C', repository.path, 'cat-file', '-e', gone));
  t.equal(await repository.fsck(), '');
});

t.test('what a push holds that is under way stays, however long that takes', async t => {
  const repository = await Repository.holding(t, { a: 1000 });
  const quarantine = join(repository.path, 'objects/tmp_objdir-incoming-abcdef');
  await mkdir(join(quarantine, 'pack'), { recursive: true });
  await writeFile(join(quarantine, 'pack/tmp_pack_x'), 'x');
  await repository.age();
  const old = new Date(Date.now() - 24 * hourMs);
  for (const name of ['pack/tmp_pack_x', 'pack', '']) await utimes(join(quarantine, name), old, old);
  await collect(await repository.view(t), options);
  t.same(await readdir(quarantine, { recursive: true }), ['pack', 'pack/tmp_pack_x']);
});

t.test('what a repack left that was killed stops no later one', async t => {
  const repository = await Repository.holding(t, { a: 20_000 });
  const view = await repository.view(t);
  await collect(view, options);
  const packs = join(repository.path, 'objects/pack');
  const [pack = ''] = (await readdir(packs)).filter(name => name.endsWith('.pack'));
  const copy = (name: string) => copyFile(join(packs, pack), join(packs, name));
  const made = (pid: number) => `.tmp-${pid}-${'pack-1'.padEnd(45, '1')}.pack`;
  const gone = 4_194_305;
  const locks = ['pack/multi-pack-index.lock', 'info/commit-graph.lock'].map(name =>
    join(repository.path, 'objects', name),
  );
  for (const lock of locks) await writeFile(lock, '');
  await writeFile(join(repository.path, 'gc.pid.lock'), `${gone} ${hostname()}`);
  await copy(made(gone));
  // git before 2.41 gives up here.
  await collect(view, options).catch(() => {});
  t.ok((await readdir(packs)).includes(made(gone)), 'it may be one of another host');
  await collect(view, later(2));
  t.notOk((await readdir(packs)).includes(made(gone)));
  for (const lock of locks) await t.rejects(access(lock), { code: 'ENOENT' });

  await copy(made(process.ppid));
  await collect(view, later(2)).catch(() => {});
  t.ok((await readdir(packs)).includes(made(process.ppid)), 'this one may be in use');
  await collect(view, later(14));
  t.notOk((await readdir(packs)).includes(made(process.ppid)), 'that number belongs to somebody else by now');

  // One whose index was not moved any more.
  await repository.commit({ b: 20_000 });
  await repository.git('-C', repository.path, 'config', 'receive.unpackLimit', '1');
  await repository.push('main:lost');
  await repository.push(':lost');
  for (const name of await readdir(packs))
    if (/\.(idx|rev)$/.test(name) && !name.startsWith(pack.slice(0, 30))) await rm(join(packs, name));
  await collect(view, options);
  t.equal(await repository.fsck(), '');
  const lost = (await repository.git('rev-parse', 'main:b')).trim();
  await repository.git('-C', repository.path, 'cat-file', '-e', lost);
});

const module = new URL('../../../../src/git/worker/space/collect.ts', import.meta.url);

function askedAs(groups: readonly number[], path: string): string {
  const script = `import { unremovable } from '${module}';
    process.setgroups(${JSON.stringify(groups)});
    process.setgid(4711);
    process.setuid(4711);
    process.stdout.write(String(await unremovable('${path}/objects')));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script]);
  return String(stdout) + String(stderr);
}

t.test('a directory that only another user may write keeps the worker from collecting', async t => {
  const path = t.testdir();
  await chmod(path, 0o755);
  const objects = join(path, 'objects');
  for (const name of ['pack', '0a', 'info'])
    await mkdir(join(objects, name), { recursive: true, mode: 0o755 });
  t.equal(askedAs([], path), join(objects, '0a'));
  await chmod(join(objects, '0a'), 0o775);
  t.equal(askedAs([0], path), join(objects, 'pack'), 'a member of the group may write the one');
  await chmod(join(objects, 'pack'), 0o775);
  t.equal(askedAs([0], path), 'null');
});
