/** Repositories that are kept guarded: those that are there, those that appear, and those whose hooks go. */

import { execFileSync } from 'node:child_process';
import { renameSync } from 'node:fs';
import {
  appendFile,
  chown,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { settingsIn } from '../../../src/git/hooks/hook.ts';
import { installHooks } from '../../../src/git/index.ts';
import { isLong } from '../../run-length.ts';
import { gogsDelegate, makeForgeHooks } from '../hooks/forge-hooks.ts';
import { World } from './world.ts';

const put = /hooks are put in/;
const back = /they are back/;

t.test('what is there is guarded at the start, and what appears soon after', async t => {
  const world = await World.open(t);
  await world.keeper.start();
  t.ok(await world.isProtected(world.path('first/first')));
  await world.server.repository('git/bob/new.git');
  await world.line(world.path('bob/new'), put);
  t.equal((await world.push(world.path('bob/new'))).code, 0);
  t.equal(world.checksOf(world.path('bob/new')), 1);
  t.same(world.keeper.report(), {
    repositories: 2,
    unguarded: { count: 0, first: [] },
  });
});

t.test('hooks that go, or become others, come back, and this is logged', async t => {
  const world = await World.open(t);
  const first = world.path('first/first');
  await world.keeper.start();
  await rename(join(first, 'hooks'), world.server.path('gone'));
  await world.line(first, back);
  t.ok(await world.isProtected(first));
  world.said.length = 0;
  const other = join(first, 'hooks/pre-receive.new');
  await writeFile(other, '#!/bin/sh\nexit 0\n', { mode: 0o755 });
  await rename(other, join(first, 'hooks/pre-receive'));
  await world.line(first, back);
  t.ok(await world.isProtected(first), 'the other one goes on after it');
});

t.test('a repository that moves is found again, and one that goes is forgotten', async t => {
  const world = await World.open(t);
  await world.keeper.start();
  await mkdir(world.server.path('git/carol'));
  await rename(world.path('first/first'), world.path('carol/moved'));
  await rm(join(world.path('carol/moved'), 'hooks/pre-receive'));
  await world.line(world.path('carol/moved'), put);
  while (world.keeper.report().repositories !== 1) await new Promise(setImmediate);
  t.ok(await world.isProtected(world.path('carol/moved')));
});

t.test('a repository that takes the place of another one is guarded', async t => {
  const world = await World.open(t);
  const first = world.path('first/first');
  await world.keeper.start();
  await world.server.git(['init', '-q', '--bare', world.server.path('made')]);
  world.said.length = 0;
  renameSync(first, world.server.path('aside'));
  renameSync(world.server.path('made'), first);
  await world.line(first, put);
  t.ok(await world.isProtected(first));
  t.equal(world.keeper.report().repositories, 1);
});

t.test('nothing is written through a link, and a fault that goes is noticed', async t => {
  const world = await World.open(t);
  const first = world.path('first/first');
  await mkdir(world.server.path('elsewhere'));
  await rm(join(first, 'hooks'), { recursive: true });
  await symlink(world.server.path('elsewhere'), join(first, 'hooks'));
  await world.keeper.start();
  t.match(await world.line(first, /not guarded/), { why: /symbolic link/ });
  t.match(world.keeper.report().unguarded, { count: 1, first: [{ path: first, why: /symbolic link/ }] });
  t.same(await readdir(world.server.path('elsewhere')), []);
  await rm(join(first, 'hooks'));
  await world.line(first, put);
  t.ok(await world.isProtected(first));
  t.equal(world.keeper.report().unguarded.count, 0);
});

t.test('a repository of another user is left alone, and named', async t => {
  const world = await World.open(t);
  const first = world.path('first/first');
  await chown(first, 4242, 4242);
  await world.keeper.start();
  t.match(await world.line(first, /not guarded/), { why: /belongs to the user 4242/ });
  t.same(await readdir(join(first, 'hooks')), []);
});

t.test('a repository on a file system with noexec is not guarded by hooks that cannot run', async t => {
  const world = await World.open(t);
  const first = world.path('first/first');
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'noexec', 'none', join(first, 'hooks')]);
  t.teardown(() => execFileSync('umount', ['-l', join(first, 'hooks')]));
  await world.keeper.start();
  t.match(await world.line(first, /not guarded/), { why: /cannot run hooks\/pre-receive: .*noexec/ });
  t.equal(world.keeper.report().unguarded.count, 1);
});

t.test('a report of many faults with long paths stays small enough for the daemon', async t => {
  const world = await World.open(t);
  for (let index = 0; index < 30; index++) {
    const name = `${'a'.repeat(240)}/${String(index).padStart(2, '0')}${'\u0001'.repeat(240)}`;
    const repository = await world.server.repository(`git/${name}.git`);
    await rm(join(repository, 'hooks'), { recursive: true });
    await symlink('/nowhere', join(repository, 'hooks'));
  }
  await world.keeper.start();
  const report = world.keeper.report();
  t.equal(report.unguarded.count, 30);
  t.ok(report.unguarded.first.length > 0);
  t.ok(JSON.stringify(report).length < 40_000);
});

t.test('in Gogs, a hook that is overwritten in place is noticed', async t => {
  const world = await World.open(t);
  const first = world.path('first/first');
  await world.server.file(join(first, 'hooks/pre-receive'), gogsDelegate('pre-receive'));
  await world.keeper.start();
  await world.line(first, put);
  for (const name of ['pre-receive', 'post-receive']) {
    world.said.length = 0;
    await writeFile(join(first, 'custom_hooks', name), '#!/bin/sh\nexit 0\n');
    await world.line(first, back);
    t.ok(await world.isProtected(first), name);
  }
});

t.test('settings of hooks that are in place stay, and older hooks are replaced with theirs', async t => {
  const world = await World.open(t);
  const first = world.path('first/first');
  const chosen = { socket: '/run/other.sock', client: 'curl', onError: 'deny', lastFor: 60 } as const;
  await installHooks([first], chosen);
  const settings = async () => settingsIn(await readFile(join(first, 'hooks/pre-receive')));
  await world.keeper.start();
  t.same(world.said, [], 'nothing is put in');
  t.same(await settings(), chosen);
  await appendFile(join(first, 'hooks/pre-receive'), '# of an older version\n');
  await world.line(first, back);
  t.same(await settings(), { ...chosen, socket: world.gate.socket, client: 'nc' });
});

/** Enough that some are met in every state of their making. */
const count = isLong ? 500 : 20;

/** Makes them two at a time, and does something with each while others are made. */
async function makeMany(world: World, act: (path: string) => Promise<void>): Promise<void> {
  const names = Array.from({ length: count }, (_, index) => `owner${index % 7}/r${index}`);
  let next = 0;
  const make = async () => {
    for (let name = names[next++]; name !== undefined; name = names[next++])
      await act(await world.makeForge(name));
  };
  await Promise.all([make(), make()]);
}

t.test('of many repositories made while others are pushed to, none stays unguarded', async t => {
  t.setTimeout(600_000);
  const world = await World.open(t);
  await makeForgeHooks(world.path('first/first'));
  await world.keeper.start();
  await makeMany(world, async path => {
    await world.line(path, put);
    const pushed = await world.push(path);
    t.equal(pushed.code, 0, pushed.stderr);
    t.equal(world.checksOf(path), 1, path);
  });
  const resynchronized = world.path('owner0/r0');
  await makeForgeHooks(resynchronized);
  t.ok(await world.isProtected(resynchronized), 'the forge replaced its own hooks only');
});

t.test('where a forge is configured, its first repository is guarded before its own hooks come', async t => {
  const world = await World.open(t, { isForge: true });
  await world.keeper.start();
  const path = world.path('bob/new');
  await world.server.repository('git/bob/new.git');
  await world.line(path, put);
  const guards = await readdir(join(path, 'hooks/pre-receive.d'));
  t.ok(guards.includes('00-softquota'), guards.join());
  await makeForgeHooks(path);
  t.ok(await world.isProtected(path), 'the hooks of the forge take nothing out');
  t.notOk(world.said.some(({ message }) => back.test(message)));
});
