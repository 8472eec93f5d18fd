/** A repository in which git would follow, wait for or read something else is found out before git runs. */

import { execFileSync } from 'node:child_process';
import { chmod, chown, mkdir, readdir, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { collect, writeBitmap } from '../../../../src/git/worker/space/collect.ts';
import { measure } from '../../../../src/git/worker/space/measure.ts';
import { RepositoryView } from '../../../../src/git/worker/space/view.ts';
import { limits, program, Repository } from './world.ts';

const filled = (t: Test) => Repository.holding(t, { a: 30_000, b: 5000 });

const opened = (path: string, quarantine: string | null = null) =>
  RepositoryView.open(path, { program, quarantine }, limits);

type Make = (place: string, victim: string) => Promise<unknown> | unknown;

const pipe: Make = place => execFileSync('mkfifo', [place]);
const endless: Make = place => symlink('/dev/zero', place);
const device: Make = place => execFileSync('mknod', [place, 'c', '1', '5']);
const huge: Make = async place => {
  await writeFile(place, '');
  await truncate(place, 2 ** 40);
};
const linkTo =
  (of: string): Make =>
  (place, victim) =>
    symlink(join(victim, of), place);

/** Places in a repository, and what somebody put there. */
const shapes: readonly (readonly [place: string, make: Make, why: RegExp])[] = [
  ['objects/pack', linkTo('objects/pack'), /^objects\/pack is a link$/],
  ['objects/ab', linkTo('objects/pack'), /^objects\/ab is a link$/],
  ['objects/info', linkTo('objects/info'), /^objects\/info is a link$/],
  ['objects', linkTo('objects'), /^\/objects is not a directory$/],
  ['refs', linkTo('refs'), /^\/refs is not a directory$/],
  ['refs/heads', linkTo('refs/heads'), /^refs\/heads is a link$/],
  ['worktrees', linkTo('refs'), /^worktrees is a link$/],
  ['reftable', linkTo('refs'), /^reftable is a link$/],
  ...[
    'refs/heads/x',
    'packed-refs',
    'shallow',
    'index',
    'worktrees/x/index',
    'objects/info/commit-graph',
  ].flatMap(
    place =>
      [
        [place, pipe, new RegExp(`^${place} is neither a directory nor a regular file$`)],
        [place, device, new RegExp(`^${place} is neither a directory nor a regular file$`)],
        [place, endless, new RegExp(`^${place} is a link$`)],
        [place, huge, new RegExp(`^${place} is longer than \\d+ bytes$`)],
      ] as const,
  ),
  ...[
    'objects/info/alternates',
    'objects/info/commit-graphs/commit-graph-chain',
    'objects/pack/multi-pack-index',
    `objects/pack/pack-${'1'.repeat(40)}.idx`,
    `objects/ab/${'c'.repeat(38)}`,
    'worktrees/x/HEAD',
    'reftable/tables.list',
  ].flatMap(
    place =>
      [
        [place, pipe, new RegExp(`^${place} is neither`)],
        [place, endless, new RegExp(`^${place} is a link$`)],
      ] as const,
  ),
  ['logs', linkTo('refs'), /\/logs is not a directory$/],
  ['worktrees/x', linkTo('refs'), /^worktrees\/x is a link$/],
  [`worktrees/x/sharedindex.${'1'.repeat(40)}`, pipe, /^worktrees\/x\/sharedindex\.1+ is neither/],
  ['worktrees/x/rebase-merge/autostash', pipe, /^worktrees\/x\/rebase-merge\/autostash is neither/],
  [
    'worktrees/x/commondir',
    (place, victim) => writeFile(place, `${victim}\n`),
    /^worktrees\/x\/commondir names another repository$/,
  ],
  ['HEAD', pipe, /^its HEAD is no regular file/],
  ['config', endless, /^its config is no regular file/],
];

t.test('a repository in which git would open something else is not looked at by git', async t => {
  const { path: victim } = await filled(t);
  const before = execFileSync('find', [victim, '-type', 'f', '-printf', '%p %s %T@\n'], { encoding: 'utf8' });
  const repository = await filled(t);
  const kept = repository.server.path('kept');
  execFileSync('cp', ['-a', repository.path, kept]);
  for (const [place, make, why] of shapes) {
    const at = join(repository.path, place);
    await rm(at, { recursive: true, force: true });
    await mkdir(dirname(at), { recursive: true });
    await make(at, victim);
    await t.rejects(opened(repository.path), { message: why }, `${place} ${make.name}`);
    await rm(repository.path, { recursive: true });
    execFileSync('cp', ['-a', kept, repository.path]);
  }
  const after = execFileSync('find', [victim, '-type', 'f', '-printf', '%p %s %T@\n'], { encoding: 'utf8' });
  t.equal(after, before, 'the repository to which links led is as it was');
});

t.test('what is borrowed is looked at as well', async t => {
  const lender = await filled(t);
  const middle = await filled(t);
  const { path } = await filled(t);
  await writeFile(join(path, 'objects/info/alternates'), `${middle.path}/objects\n`);
  await writeFile(join(middle.path, 'objects/info/alternates'), `${lender.path}/objects\n`);
  const view = await opened(path);
  await view.close();
  await rm(join(lender.path, 'objects/pack'), { recursive: true });
  execFileSync('mkfifo', [join(lender.path, 'objects/pack')]);
  await t.rejects(opened(path), /objects\/pack is neither a directory nor/);
});

t.test('a list of what is borrowed that cannot be followed as git does is a fault', async t => {
  const { path } = await filled(t);
  const list = join(path, 'objects/info/alternates');
  await writeFile(list, '"/somewhere/objects"\n');
  await t.rejects(opened(path), {
    message: 'objects/info/alternates has a path in quotes',
  });
  await writeFile(list, '/nowhere\n'.repeat(101));
  await t.rejects(opened(path), /alternates has more than 100 lines/);
});

t.test('the quarantine of a push is looked at as well', async t => {
  const { path } = await filled(t);
  const quarantine = join(path, 'objects/tmp_objdir-incoming-AbCdEf');
  await mkdir(join(quarantine, 'pack'), { recursive: true });
  const view = await opened(path, quarantine);
  await view.close();
  execFileSync('mkfifo', [join(quarantine, 'pack', `pack-${'1'.repeat(40)}.idx`)]);
  await t.rejects(opened(path, quarantine), /\.idx is neither a directory nor/);
});

/** Does something while a directory is mounted at a place. */
async function mounted(at: string, args: readonly string[], act: () => Promise<unknown>): Promise<void> {
  execFileSync('mount', [...args, at]);
  await act().finally(() => execFileSync('umount', ['-l', at]));
}

t.test('another file system, repository or user below objects', async t => {
  const { path } = await filled(t);
  const victim = await filled(t);
  const objects = join(path, 'objects');
  const pack = join(objects, 'pack');
  await mounted(pack, ['--bind', join(victim.path, 'objects/pack')], () =>
    t.rejects(opened(path), { message: `another directory is mounted at ${pack}` }),
  );
  await mounted(objects, ['--bind', join(victim.path, 'objects')], async () => {
    const view = await opened(path);
    const message = `another directory is mounted at ${objects}`;
    await t.rejects(collect(view, { expireMs: 0, now: Date.now }), { message });
    await view.close();
  });
  await mounted(pack, ['-t', 'tmpfs', 'none'], () =>
    t.rejects(opened(path), { message: 'objects/pack is another file system' }),
  );
  await chown(pack, 4711, 4711);
  await t.rejects(opened(path), /^objects\/pack is of another user, and core\.sharedRepository/);
});

t.test('where others may put something else in place, it is measured and nothing is deleted', async t => {
  const repository = await filled(t);
  const { path } = repository;
  const view = await repository.view(t);
  const options = { expireMs: 600_000, now: Date.now };
  for (const [place, mode] of [
    [path, 0o757],
    [path, 0o775],
    [join(path, 'objects'), 0o777],
    [dirname(path), 0o777],
    [join(path, 'objects/pack'), 0o702],
  ] as const) {
    await chmod(place, mode);
    await chown(place, 0, 4711);
    const files = await readdir(join(path, 'objects'), { recursive: true });
    await t.rejects(collect(view, options), {
      message: `nothing is deleted: users other than the worker's may write to ${place}`,
    });
    await writeBitmap(view);
    t.strictSame(await readdir(join(path, 'objects'), { recursive: true }), files);
    t.ok((await measure(view)).reachableBytes > 30_000);
    await chmod(place, 0o755);
    await chown(place, 0, 0);
  }
  await chmod(path, 0o775);
  await collect(view, options);
  t.equal(await repository.fsck(), '', 'a group that is root alone is nobody else');
});

t.test('a git that takes too much memory is ended, and says so', async t => {
  const repository = await filled(t);
  const view = await repository.view(t);
  view.limits = { ...limits, memoryBytes: 1024 * 1024 };
  await t.rejects(measure(view), /git rev-list: /);
});

t.test('reflogs that are not copied in time are a fault, and nobody waits for them', async t => {
  const { path } = await filled(t);
  await mkdir(join(path, 'logs/refs/heads'), { recursive: true });
  await writeFile(join(path, 'logs/refs/heads/main'), '');
  const stop = new AbortController();
  const view = await opened(path);
  t.teardown(() => view.close());
  stop.abort();
  view.limits = { ...limits, signal: stop.signal };
  await t.rejects(view.refreshReflogs(), { name: 'AbortError' });
});
