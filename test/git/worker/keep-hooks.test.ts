/** Repositories that are kept guarded: those that are there, those that appear, and those whose hooks go. */

import { chown, mkdir, readdir, readFile, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { Guard, hooksSignature, installHooks, writeForgeTemplates } from '../../../src/git/index.ts';
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
  await world.asks(world.path('bob/new'));
  t.equal((await world.push(world.path('bob/new'))).code, 0);
  t.equal(world.checksOf(world.path('bob/new')), 1);
  t.same(world.keeper.report(), {
    repositories: 2,
    unguarded: { count: 0, first: [] },
    putBack: { count: 0, last: null },
  });
});

t.test('hooks that go, or become others, come back, and this is counted', async t => {
  const world = await World.open(t);
  const first = world.path('first/first');
  await world.keeper.start();
  await world.asks(first);
  await rm(join(first, 'hooks'), { recursive: true });
  await world.line(first, back);
  t.ok(await world.isProtected(first));
  world.said.length = 0;
  const other = join(first, 'hooks/pre-receive.new');
  await writeFile(other, '#!/bin/sh\nexit 0\n', { mode: 0o755 });
  await rename(other, join(first, 'hooks/pre-receive'));
  await world.line(first, back);
  t.ok(await world.isProtected(first), 'the other one goes on after it');
  t.match(world.keeper.report().putBack, { count: 2, last: first });
});

t.test('the file that all stubs run comes back, too', async t => {
  const world = await World.open(t, 'shared');
  const first = world.path('first/first');
  await world.keeper.start();
  await world.asks(first);
  const file = world.server.path('shared/pre-receive');
  const original = await readFile(file, 'utf8');
  for (const spoil of [() => rm(file), () => writeFile(file, '#!/bin/sh\n')]) {
    await spoil();
    while ((await readFile(file, 'utf8').catch(() => '')) !== original) await new Promise(setImmediate);
  }
  t.equal((await world.push(first)).code, 0);
  t.equal(world.checksOf(first), 1);
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
  await installHooks([first], { socket: world.gate.socket, hookConf: world.server.noConf });
  for (const name of ['pre-receive', 'post-receive']) {
    const before = await hooksSignature(first);
    await writeFile(join(first, 'custom_hooks', name), '#!/bin/sh\nexit 0\n');
    t.not(await hooksSignature(first), before, name);
  }
});

t.test('a configuration from the future gets the settings, and a missing one is a fault', async t => {
  const world = await World.open(t);
  const first = world.path('first/first');
  const future = new Date(Date.now() + 86_400_000);
  await utimes(join(first, 'config'), future, future);
  const bare = await world.server.repository('git/first/without.git');
  await rm(join(bare, 'config'));
  await mkdir(join(bare, 'hooks/pre-receive.d'));
  const past = new Date(Date.now() - 120_000);
  const guard = await Guard.open({ socket: world.gate.socket, hookConf: world.server.noConf });
  t.match(await guard.guard(first, false), { is: 'guarded' });
  t.equal(await world.server.config(first, 'softquota.socket'), world.gate.socket);
  t.match(await guard.guard(bare, false), { is: 'not-yet' });
  await utimes(bare, past, past);
  t.match(await guard.guard(bare, false), { is: 'fault', why: /config does not exist/ });
});

t.test('a socket that was chosen for one repository stays', async t => {
  const world = await World.open(t);
  const first = world.path('first/first');
  const guard = await Guard.open({ socket: world.gate.socket, client: 'nc', hookConf: world.server.noConf });
  const config = (key: string, value: string) =>
    world.server.git(['config', '--file', join(first, 'config'), key, value]);
  const past = new Date(Date.now() - 120_000);
  const guarded = async () => {
    await utimes(join(first, 'config'), past, past);
    t.match(await guard.guard(first, false), { is: 'guarded' });
  };
  await config('softquota.client', 'socat');
  await guarded();
  t.equal(await world.server.config(first, 'softquota.socket'), world.gate.socket, 'none was set');
  t.equal(await world.server.config(first, 'softquota.client'), 'socat');
  for (const socket of ['/run/other.sock', '/run/odd "one".sock']) {
    await config('softquota.socket', socket);
    await guarded();
    t.equal(await world.server.config(first, 'softquota.socket'), socket);
  }
});

t.test('a configuration that somebody else is writing is waited for', async t => {
  const world = await World.open(t);
  const first = world.path('first/first');
  await writeFile(join(first, 'config.lock'), '');
  await world.keeper.start();
  t.match(await world.line(first, /not guarded/), { why: /config\.lock exists/ });
  t.ok(await world.isProtected(first), 'the hooks are there');
  await rm(join(first, 'config.lock'));
  await world.asks(first);
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

t.test(
  'of many repositories that a forge makes while others are pushed to, none stays unguarded',
  async t => {
    t.setTimeout(600_000);
    const world = await World.open(t);
    await makeForgeHooks(world.path('first/first'));
    await world.keeper.start();
    await makeMany(world, async path => {
      await world.line(path, put);
      await world.asks(path);
      const pushed = await world.push(path);
      t.equal(pushed.code, 0, pushed.stderr);
      t.equal(world.checksOf(path), 1, path);
    });
    const resynchronized = world.path('owner0/r0');
    await makeForgeHooks(resynchronized);
    t.ok(await world.isProtected(resynchronized), 'the forge replaced its own hooks only');
  },
);

t.test('with the template not one push goes unasked, from the first on', async t => {
  t.setTimeout(600_000);
  const world = await World.open(t);
  await makeForgeHooks(world.path('first/first'));
  const report = await installHooks([world.path('first/first')], {
    socket: world.gate.socket,
    hookConf: world.server.noConf,
  });
  const [forge] = await writeForgeTemplates([world.server.path('git')], report, {});
  await world.keeper.start();
  const template = forge?.template ?? '';
  for (let index = 0; index < count; index++) {
    const path = await world.makeForge(`owner${index % 7}/r${index}`, template);
    const pushed = await world.push(path);
    t.equal(pushed.code, 0, pushed.stderr);
    t.equal(world.checksOf(path), 1, path);
  }
});

t.test('where a forge is configured, its first repository is guarded before its own hooks come', async t => {
  const world = await World.open(t, null, { isForge: true });
  await world.keeper.start();
  const path = world.path('bob/new');
  await world.server.repository('git/bob/new.git');
  await world.line(path, put);
  const guards = await readdir(join(path, 'hooks/pre-receive.d'));
  t.ok(guards.includes('00-softquota'), guards.join());
  await makeForgeHooks(path);
  t.ok(await world.isProtected(path), 'the hooks of the forge take nothing out');
  t.match(world.keeper.report(), { putBack: { count: 0 } });
});
