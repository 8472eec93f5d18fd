/** Pushes of an owner over the limit that make the repository smaller go on; no others do. */

import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { until } from '../../../e2e/ask.ts';
import { type Manner, World } from './world.ts';

const accepted = /^this push makes the repository smaller, by [\d.]+ [kM]?B, so it is accepted/;

/** A world with a file of 300 kB in its history, whose owner is over the limit from now on. */
async function full(t: Test, over: Manner = 'any'): Promise<World> {
  const world = await World.open(t);
  await world.add('small', 1000);
  await world.add('large', 300_000);
  await world.add('last', 1000);
  await world.passes('HEAD:main');
  world.over = over;
  return world;
}

/** The history without the large file. */
async function withoutLarge(world: World): Promise<void> {
  await world.git('rebase', '-q', '--onto', 'HEAD~2', 'HEAD~1');
}

t.test('a history that is rewritten smaller may replace the larger one', async t => {
  const world = await full(t);
  const before = await world.reachable();
  await withoutLarge(world);
  const push = await world.push(['--force', 'HEAD:main']);
  t.equal(push.code, 0, push.stderr);
  t.match(world.last, accepted);
  const after = await world.reachable();
  t.ok(before - after > 290_000, `${before} ${after}`);
  t.same(
    (await readdir(world.bare)).filter(name => name.startsWith('softquota')),
    [],
    'nothing is kept in the repository',
  );
});

t.test('a detached HEAD that holds the history is named', async t => {
  const world = await full(t);
  await writeFile(join(world.bare, 'HEAD'), `${await world.server('rev-parse', 'main')}\n`);
  await withoutLarge(world);
  t.equal((await world.push(['--force', 'HEAD:main'])).code, 1);
  t.match(world.last, /Its HEAD is detached at [0-9a-f]{12}, and holds that history/);
});

t.test('one that is not smaller is refused, with both figures', async t => {
  const world = await full(t);
  const refs = await world.refs();
  await world.git('reset', '-q', '--hard', 'HEAD~1');
  await world.add('another', 5000);
  t.equal((await world.push(['--force', 'HEAD:main'])).code, 1);
  t.match(
    world.last,
    /^this push would not make the repository smaller: its branches and tags take 30\d kB now, and would take 30\d kB afterwards/,
  );
  t.equal(await world.refs(), refs);
});

t.test('branches that are replaced without the tags of their history are told about these', async t => {
  const world = await full(t);
  await world.git('tag', 'v1');
  t.equal((await world.push(['v1'])).code, 0, 'a tag of what is there');
  await withoutLarge(world);
  t.equal((await world.push(['--force', '--all'])).code, 1);
  t.match(
    world.last,
    /It leaves refs\/tags\/v1, which may hold the history that it replaces: replace or delete these refs in the same push, for example: git push --force origin 'refs\/heads\/\*' 'refs\/tags\/\*'$/,
  );
  t.equal((await world.push(['v1:refs/notes/$x'])).code, 0, 'a ref that neither of these patterns has');
  t.equal((await world.push(['--force', 'HEAD:main', ':v1'])).code, 1);
  t.match(
    world.last,
    /It leaves refs\/notes\/\$x, .* delete it: git push origin --delete 'refs\/notes\/\$x'$/,
  );
  t.equal((await world.push(['--force', 'HEAD:main', ':v1', ':refs/notes/$x'])).code, 0);
});

t.test('a command that could be cut is not given, and names of refs are shortened', async t => {
  const world = await full(t);
  const long = Array.from({ length: 3 }, (_, index) => `refs/notes/${index}${'x'.repeat(200)}`);
  for (const name of long) t.equal((await world.push([`HEAD:${name}`])).code, 0);
  await withoutLarge(world);
  t.equal((await world.push(['--force', '--all'])).code, 1);
  t.match(world.last, /It leaves refs\/notes\/0x{68}\.{3}, .* for example: git push --force origin/);
  t.notMatch(world.last, /--delete/);
  t.ok(world.last.length < 1000, world.last);
});

t.test('equal sizes are told to the byte', async t => {
  const world = await full(t);
  await world.git('commit', '-q', '--amend', '-m', 'the same with other words');
  t.equal((await world.push(['--force', 'HEAD:main'])).code, 1);
  t.match(world.last, /take \d{6} B now, and would take \d{6} B afterwards/);
});

t.test('a fast-forward is refused as before, and so is a push that only creates', async t => {
  const world = await full(t);
  await world.add('more', 10);
  for (const ref of ['main', 'new']) {
    t.equal((await world.push([`HEAD:${ref}`])).code, 1);
    t.equal(world.last, '', 'nothing is said behind the refusal');
  }
});

t.test('what git will not do does not count: the branch of HEAD, denied deletions and rewinds', async t => {
  const world = await full(t);
  await world.add('fresh', 1000, { orphan: true });
  t.not((await world.push([':main', 'fresh'])).code, 0);
  t.notMatch(await world.refs(), 'fresh', 'main stays, because HEAD is on it');

  await world.passes('main:refs/heads/second');
  await world.server('symbolic-ref', 'HEAD', 'refs/heads/second');
  await world.configure('receive.denyDeletes', 'true');
  await world.push([':main', 'fresh']);
  t.notMatch(await world.refs(), 'fresh', 'receive.denyDeletes');
  await world.configure('receive.denyDeletes', 'false');
  await world.configure('receive.denyNonFastForwards', 'true');
  await world.push(['--force', 'fresh:main', 'fresh:second', 'fresh']);
  t.notMatch(await world.refs(), 'fresh', 'receive.denyNonFastForwards');
});

t.test('replaced objects make nothing smaller', async t => {
  const world = await full(t);
  const main = await world.git('rev-parse', 'HEAD');
  await world.add('fresh', 1000, { orphan: true });
  await world.passes('fresh:refs/heads/gone');
  await world.add('fresher', 1500);
  t.equal((await world.push([':gone', `HEAD:refs/replace/${main}`])).code, 1);
});

t.test('what was deleted is not brought back', async t => {
  const world = await full(t);
  await world.add('topic', 50_000);
  await world.passes('HEAD:refs/heads/topic');
  await world.passes(':topic');
  t.equal((await world.push(['HEAD:refs/heads/again'])).code, 1);
  t.equal((await world.push(['main~1:refs/heads/known'])).code, 0, 'a branch of what is there passes');
});

t.test('far over the limit a push must not bring more than it frees', async t => {
  const world = await full(t, 'less');
  await world.add('nearly-as-large', 200_000, { orphan: true });
  t.equal((await world.push(['--force', 'HEAD:main'])).code, 1);
  t.match(world.last, /it brings \d+ kB, more than it frees/);
  await world.git('rm', '-q', '--cached', 'nearly-as-large');
  await world.git('commit', '-q', '--amend', '--allow-empty', '-m', 'small');
  t.equal((await world.push(['--force', 'HEAD:main'])).code, 0);
});

t.test('what a repository borrows takes nothing there', async t => {
  const world = await full(t);
  const lender = join(world.folder, 'lender.git');
  await world.must('git', ['clone', '-q', '--bare', world.bare, lender]);
  await writeFile(join(world.bare, 'objects/info/alternates'), `${lender}/objects\n`);
  await world.must('sh', ['-c', `rm -r ${world.bare}/objects/??`]);
  await world.add('of its own', 40_000);
  await world.passes('HEAD:refs/heads/topic');
  await world.git('reset', '-q', '--hard', 'HEAD~1');
  await world.add('more', 45_000);
  t.equal((await world.push(['--force', 'HEAD:topic'])).code, 1);
  t.match(world.last, /take 4\d(?:\.\d)? kB now, and would take 4\d(?:\.\d)? kB afterwards/);
  await world.git('reset', '-q', '--hard', 'HEAD~1');
  await world.add('less', 10_000);
  t.equal((await world.push(['--force', 'HEAD:topic'])).code, 0);
});

t.test('the branch to which HEAD leads through a symbolic ref stays, as git keeps it', async t => {
  const world = await full(t);
  for (const [name = '', to = ''] of [
    ['refs/heads/master', 'refs/heads/main'],
    ['HEAD', 'refs/heads/master'],
  ])
    await world.must('git', ['-C', world.bare, 'symbolic-ref', name, to]);
  await world.add('fresh', 290_000, { orphan: true });
  t.equal((await world.push([':main', 'fresh'])).code, 1);
  t.match(world.last, /would not make the repository smaller/);
});

t.test('copies of what is borrowed do not make a repository look larger before', async t => {
  const world = await full(t);
  const lender = join(world.folder, 'lender.git');
  await world.must('git', ['clone', '-q', '--bare', world.bare, lender]);
  await writeFile(join(world.bare, 'objects/info/alternates'), `${lender}/objects\n`);
  await world.must('sh', ['-c', `rm -r ${world.bare}/objects/??`]);
  await world.must('git', ['-C', world.bare, 'config', 'receive.unpackLimit', '1']);
  await world.add('fresh', 150_000, { orphan: true });
  // A pack that brings what is borrowed, too.
  const all = await world.git('rev-list', '--objects', '--no-object-names', 'main', 'fresh', '--');
  const packing = { cwd: world.work, input: `${all}\n`, encoding: 'latin1' } as const;
  const { stdout: pack } = await world.run('git', ['pack-objects', '-q', '--stdout'], packing);
  const [before, after] = [await world.git('rev-parse', 'main'), await world.git('rev-parse', 'fresh')];
  const command = `${before} ${after} refs/heads/main\0report-status`;
  const line = `${(command.length + 4).toString(16).padStart(4, '0')}${command}0000`;
  const input = Buffer.from(`${line}${pack}`, 'latin1');
  const { stdout } = await world.run('git', ['receive-pack', world.bare], { input });
  t.match(stdout, /ng refs\/heads\/main pre-receive hook declined/);
  t.match(world.last, /take 0 B now, and would take 15\d(?:\.\d)? kB afterwards/);
});

/** A worker whose git does this and then waits, where it is to sum up bytes. */
async function slowed(world: World, act: string): Promise<void> {
  await world.worker?.close();
  const program = join(world.folder, 'slow');
  const script = `case "$*" in *disk-usage*) ${act}; exec sleep 60;; esac`;
  await world.script(program, `#!/bin/sh\n${script}\nexec git "$@"\n`);
  await world.startWorker({ gits: [{ program, major: 2, minor: 39, version: '', execPaths: [] }] });
}

t.test('if git takes longer than the daemon waits the push is refused, and git is ended', async t => {
  const world = await full(t);
  await slowed(world, `echo $$ >>${world.folder}/pids`);
  world.waitedMs = 59_000;
  await withoutLarge(world);
  t.equal((await world.push(['--force', 'HEAD:main'])).code, 1);
  t.match(world.last, /git took longer than 60 s\. Delete branches and tags first/);
  const pids = (await world.must('cat', [`${world.folder}/pids`])).split('\n');
  await until(async () => {
    const alive = await Promise.all(pids.map(pid => world.run('kill', ['-0', pid])));
    return alive.every(({ code }) => code !== 0) ? true : null;
  });
});

t.test('a judgement ends with its push', async t => {
  const world = await full(t);
  await slowed(world, `rm -rf ${world.bare}/objects/tmp_objdir-incoming-*`);
  await withoutLarge(world);
  const begun = performance.now();
  t.equal((await world.push(['--force', 'HEAD:main'])).code, 1);
  t.ok(performance.now() - begun < 30_000);
  t.notOk(world.judgements.isUnderWay(world.bare));
});

t.test('what another hook refuses is forgotten', async t => {
  const world = await full(t);
  await world.later('exit 3');
  await withoutLarge(world);
  t.equal((await world.push(['--force', 'HEAD:main'])).code, 1);
  await rm(join(world.bare, 'hooks/later'));
  await world.ended();
  t.equal((await world.push(['--force', 'HEAD:main'])).code, 0);
});
