/** Quarantines of broken pushes go; those that a push uses stay. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chown, mkdir, readdir, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { until } from '../../../e2e/ask.ts';
import { must, run } from '../../../e2e/run.ts';
import { end, World } from './world.ts';

/** A hook that holds pushes while the file `go` is not there. */
const holding = ({ folder }: World) =>
  `#!/bin/sh\ntouch ${folder}/waits\nwhile [ ! -e ${folder}/go ]; do sleep 0.05; done\n`;

const overAnHourMs = 3_700_000;

t.test('what a killed push left goes, beside one that is held and a program that reads', async t => {
  const world = await World.open(t);
  const reader = spawn('git', ['cat-file', '--batch'], { cwd: world.bare });
  t.teardown(() => reader.kill());
  const held = await world.beginUpload(t, await world.commit(20_000));
  process.kill(-(held.git.pid ?? 0), 'SIGSTOP');
  const left = [await world.leave(t), await world.leave(t)];
  t.same((await world.names()).length, 3);
  const removed = await world.quarantines.removeIn(world.bare);
  t.ok(removed > 0);
  t.same(await world.names(), [held.name], 'the one that is held stays');
  const report = world.quarantines.report();
  t.same(report.removed.map(({ name }) => name).sort(), left.sort());
  t.match(report.held, [{ unit: world.bare, name: held.name }]);
  t.ok((report.held[0]?.bytes ?? 0) > 0);
  t.same(world.quarantines.report().removed, [], 'told once');
  process.kill(-(held.git.pid ?? 0), 'SIGCONT');
  await end(held.git);
  await world.quarantines.removeIn(world.bare);
  t.same(await world.names(), []);
  t.same(world.quarantines.report().held, []);
  t.equal((await run('git', ['fsck'], { cwd: world.bare })).code, 0);
});

t.test('a push stays while a hook has it, however old, also through a worktree', async t => {
  const world = await World.open(t);
  await world.commit(5000);
  await must('git', ['push', '-q', world.bare, 'HEAD:main'], { cwd: world.work });
  await must('git', ['worktree', 'add', '-q', '--detach', join(world.folder, 'tree'), 'main'], {
    cwd: world.bare,
  });
  await writeFile(join(world.bare, 'hooks/pre-receive'), holding(world), { mode: 0o755 });
  await must('cp', ['-a', join(world.bare, 'hooks'), join(world.bare, 'worktrees/tree/hooks')]);
  await world.commit(5000);
  for (const path of [world.bare, join(world.bare, 'worktrees/tree')]) {
    const push = run('git', ['push', '-q', path, `HEAD:${path === world.bare ? 'one' : 'two'}`], {
      cwd: world.work,
    });
    await until(async () => (existsSync(join(world.folder, 'waits')) ? true : null));
    const [name = ''] = await world.names();
    await world.age(name, 10 * 86_400_000);
    await world.quarantines.removeIn(world.bare);
    t.same(await world.names(), [name], path);
    await writeFile(join(world.folder, 'go'), '');
    const { code, stderr } = await push;
    t.equal(code, 0, stderr);
    await must('rm', ['-f', join(world.folder, 'go'), join(world.folder, 'waits')]);
    await world.commit(5000);
  }
  t.equal((await run('git', ['fsck'], { cwd: world.bare })).code, 0);
});

t.test('a push whose quarantine is taken away fails, and the repository is whole', async t => {
  const world = await World.open(t, { processes: async () => [] });
  await world.commit(5000);
  await must('git', ['push', '-q', world.bare, 'HEAD:main'], { cwd: world.work });
  await writeFile(join(world.bare, 'hooks/pre-receive'), holding(world), { mode: 0o755 });
  await world.commit(5000);
  const push = run('git', ['push', '-q', world.bare, 'HEAD:main'], { cwd: world.work });
  await until(async () => (existsSync(join(world.folder, 'waits')) ? true : null));
  t.ok((await world.quarantines.removeIn(world.bare)) > 0);
  await writeFile(join(world.folder, 'go'), '');
  t.not((await push).code, 0);
  t.same(await world.names(), []);
  t.equal((await run('git', ['fsck', '--strict'], { cwd: world.bare })).code, 0);
});

t.test('where not all processes can be seen, one stays for an hour after the last write', async t => {
  const unseen = await World.open(t, { isAlone: false });
  const isFirst = (await must('readlink', ['/proc/self/ns/pid'])) === 'pid:[4026531836]';
  const name = await unseen.leave(t);
  await unseen.quarantines.removeIn(unseen.bare);
  t.same(await unseen.names(), isFirst ? [] : [name]);
  if (isFirst) return;
  await unseen.age(name, overAnHourMs);
  await unseen.quarantines.removeIn(unseen.bare);
  t.same(await unseen.names(), []);
});

t.test('those of another user wait, too, and are removed only where several may write', async t => {
  const world = await World.open(t);
  const name = await world.leave(t);
  await chown(join(world.bare, 'objects', name), 12_345, 12_345);
  await world.age(name, overAnHourMs);
  await world.quarantines.removeIn(world.bare);
  t.same(await world.names(), [name], "neither the user of objects nor the worker's own");
  await must('git', ['config', '--file', join(world.bare, 'config'), 'core.sharedRepository', 'group']);
  await world.age(name, 0);
  await world.quarantines.removeIn(world.bare);
  t.same(await world.names(), [name], 'not within the hour');
  await world.age(name, overAnHourMs);
  await world.quarantines.removeIn(world.bare);
  t.same(await world.names(), []);
});

t.test('no link is followed, neither in place of a quarantine nor in it', async t => {
  const world = await World.open(t);
  const other = join(world.folder, 'other');
  await mkdir(other);
  await writeFile(join(other, 'kept'), 'x');
  const objects = join(world.bare, 'objects');
  await symlink(other, join(objects, 'tmp_objdir-incoming-linked'));
  const name = await world.leave(t);
  await symlink(other, join(objects, name, 'pack/linked'));
  await symlink(join(other, 'kept'), join(objects, name, 'file'));
  await world.quarantines.removeIn(world.bare);
  t.same(await world.names(), ['tmp_objdir-incoming-linked']);
  t.same(await readdir(other), ['kept']);
  const moved = join(world.folder, 'moved');
  await world.leave(t);
  await rename(objects, moved);
  await symlink(moved, objects);
  await world.quarantines.removeIn(world.bare);
  t.equal((await world.names()).length, 2, 'nor is a link in place of objects');
});

t.test('one that a worker began to remove goes, and so does one of an older git', async t => {
  const world = await World.open(t);
  const objects = join(world.bare, 'objects');
  for (const name of [
    'tmp_objdir-gone-abcdef',
    'incoming-ABC123',
    'incoming-other',
    'tmp_objdir-bulk-fsync-abcdef',
  ])
    await mkdir(join(objects, name, 'pack'), { recursive: true });
  await world.quarantines.removeIn(world.bare);
  t.same((await readdir(objects)).sort(), ['incoming-other', 'info', 'pack', 'tmp_objdir-bulk-fsync-abcdef']);
});

t.test('the worker finds it by itself, at its start and within seconds of a question', async t => {
  const world = await World.open(t);
  await world.leave(t);
  world.quarantines.start();
  await until(async () => ((await world.names()).length === 0 ? true : null));
  await world.leave(t);
  world.quarantines.asked(world.bare);
  const begun = performance.now();
  await until(async () => ((await world.names()).length === 0 ? true : null));
  t.ok(performance.now() - begun < 15_000);
  const held = await world.beginUpload(t, await world.commit(1000));
  await once(held.git.stdin?.end() ?? held.git, 'close');
});
