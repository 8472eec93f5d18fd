/** Pushes of an owner over the limit that make the repository smaller go on; no others do. */

import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { allowed, refused } from './gate.ts';
import { noise } from './noise.ts';
import { World } from './world.ts';

const refusal = 'Quota exceeded: alice uses 12.4 GB of 10 GB (124 %).\n';
const accepted = /this push makes the repository smaller, by [\d.]+ [kM]?B, so it is accepted/;

async function add(world: World, name: string, bytes: number): Promise<void> {
  await writeFile(join(world.work, name), noise(name, bytes));
  await world.git('add', name);
  await world.git('commit', '-q', '-m', name);
}

/** A world with a file of 300 kB in its history, whose owner is over the limit from now on. */
async function full(t: Test, judge: 'any' | 'less' | null = 'any'): Promise<World> {
  const world = await World.open(t);
  await add(world, 'small', 1000);
  await add(world, 'large', 300_000);
  await add(world, 'last', 1000);
  t.equal((await world.push(['HEAD:main'])).code, 0);
  await world.gate.heard(1);
  world.gate.answer = refused(refusal, judge);
  return world;
}

function reachable(world: World): Promise<string> {
  return world.server('rev-list', '--all', '--objects', '--disk-usage');
}

/** The history without the large file. */
async function withoutLarge(world: World): Promise<void> {
  await world.git('rebase', '-q', '--onto', 'HEAD~2', 'HEAD~1');
}

t.test('a history that is rewritten smaller may replace the larger one', async t => {
  const world = await full(t);
  const before = Number(await reachable(world));
  await withoutLarge(world);
  const push = await world.push(['--force', 'HEAD:main']);
  t.equal(push.code, 0, push.stderr);
  t.match(World.said(push), accepted);
  t.notMatch(World.said(push), 'Quota exceeded');
  const after = Number(await reachable(world));
  t.ok(before - after > 290_000, `${before} ${after}`);
});

t.test('only a push that stays refused is put on record', async t => {
  const world = await full(t);
  const judges = () => world.gate.checks.slice(1).map(({ parameters }) => parameters.get('judges'));
  await add(world, 'new', 10);
  await world.push(['HEAD:created']);
  t.same(judges(), [null], 'one that can only bring more is refused at once');
  await world.git('reset', '-q', '--hard', 'HEAD~1');
  await world.git('commit', '-q', '--amend', '-m', 'the same');
  await world.push(['--force', 'HEAD:main']);
  t.same(judges().slice(1), ['yes', null]);
  await withoutLarge(world);
  t.equal((await world.push(['--force', 'HEAD:main'])).code, 0);
  t.same(judges().slice(3), ['yes']);
});

t.test('a detached HEAD that holds the history is named', async t => {
  const world = await full(t);
  await writeFile(join(world.bare, 'HEAD'), `${await world.server('rev-parse', 'main')}\n`);
  await withoutLarge(world);
  const push = await world.push(['--force', 'HEAD:main']);
  t.equal(push.code, 1);
  t.match(
    World.said(push).replaceAll(/\s+/g, ' '),
    /Its HEAD is detached at [0-9a-f]{12}, and holds that history/,
  );
});

t.test('one that is not smaller is refused, with both figures', async t => {
  const world = await full(t);
  const refs = await world.refs();
  await world.git('reset', '-q', '--hard', 'HEAD~1');
  await add(world, 'another', 5000);
  const push = await world.push(['--force', 'HEAD:main']);
  t.equal(push.code, 1);
  t.match(World.said(push), /^Quota exceeded: alice/);
  t.match(
    World.said(push),
    /would not make the repository smaller: its branches and tags take 30\d kB now, and would take 30\d kB afterwards/,
  );
  t.equal(await world.refs(), refs);
  t.notOk(existsSync(join(world.bare, 'softquota-judging')));
});

t.test('branches that are replaced without the tags of their history are told about these', async t => {
  const world = await full(t);
  await world.git('tag', 'v1');
  t.equal((await world.push(['v1'])).code, 0, 'a tag of what is there');
  await withoutLarge(world);
  const push = await world.push(['--force', '--all']);
  t.equal(push.code, 1);
  t.match(
    World.said(push).replaceAll(/\s+/g, ' '),
    /It leaves refs\/tags\/v1, which may hold the history that it replaces: replace or delete these refs in the same push, for example: git push --force origin 'refs\/heads\/\*' 'refs\/tags\/\*'$/,
  );
  t.equal((await world.push(['--force', 'HEAD:main', ':v1'])).code, 0);
});

t.test('a tag of a large file that becomes one of a small file makes it smaller', async t => {
  const world = await full(t);
  world.gate.answer = allowed;
  for (const [name, bytes] of [
    ['big', 50_000],
    ['little', 500],
  ] as const) {
    await writeFile(join(world.work, name), noise(name, bytes));
    await world.git('tag', name, await world.git('hash-object', '-w', name));
  }
  await world.push(['big:refs/tags/file']);
  world.gate.answer = refused(refusal, 'any');
  t.equal((await world.push(['--force', 'little:refs/tags/file'])).code, 0);
});

t.test('equal sizes are told to the byte', async t => {
  const world = await full(t);
  await world.git('commit', '-q', '--amend', '-m', 'the same with other words');
  const push = await world.push(['--force', 'HEAD:main']);
  t.equal(push.code, 1);
  t.match(World.said(push), /take \d{6} B now, and would take \d{6} B afterwards/);
});

t.test('a fast-forward is refused as before, and so is a push that only creates', async t => {
  const world = await full(t);
  await add(world, 'more', 10);
  for (const ref of ['main', 'new']) {
    const push = await world.push([`HEAD:${ref}`]);
    t.equal(push.code, 1);
    t.equal(World.said(push), refusal.trim());
  }
});

t.test('a branch goes, and a smaller one comes with the same push', async t => {
  const world = await full(t);
  world.gate.answer = allowed;
  await world.git('checkout', '-q', '-b', 'topic');
  await add(world, 'of the topic', 50_000);
  await world.push(['topic']);
  world.gate.answer = refused(refusal, 'any');
  await world.git('checkout', '-q', '-b', 'other', 'main');
  await add(world, 'instead', 20_000);
  t.equal((await world.push([':topic', 'other'])).code, 0);
  await world.git('checkout', '-q', '-b', 'larger', 'main');
  await add(world, 'too much', 30_000);
  t.equal((await world.push([':other', 'larger'])).code, 1);
});

t.test('what git will not do does not count: the branch of HEAD, denied deletions and rewinds', async t => {
  const world = await full(t);
  await world.git('checkout', '-q', '--orphan', 'fresh');
  await world.git('rm', '-q', '-r', '--cached', '.');
  await add(world, 'fresh', 1000);
  const headDeleted = await world.push([':main', 'fresh']);
  t.not(headDeleted.code, 0);
  t.notMatch(await world.refs(), 'fresh', 'main stays, because HEAD is on it');

  world.gate.answer = allowed;
  await world.push(['main:refs/heads/second']);
  await world.server('symbolic-ref', 'HEAD', 'refs/heads/second');
  world.gate.answer = refused(refusal, 'any');
  await world.configure('receive.denyDeletes', 'true');
  await world.push([':main', 'fresh']);
  t.notMatch(await world.refs(), 'fresh', 'receive.denyDeletes');
  await world.configure('receive.denyDeletes', 'false');
  await world.configure('receive.denyNonFastForwards', 'true');
  await world.push(['--force', 'fresh:main', 'fresh:second', 'fresh']);
  t.notMatch(await world.refs(), 'fresh', 'receive.denyNonFastForwards');
});

t.test('what a hook of the server refuses to delete is made up for by the next push', async t => {
  const world = await full(t);
  world.gate.answer = allowed;
  await world.push(['HEAD:refs/heads/kept']);
  await world.server('symbolic-ref', 'HEAD', 'refs/heads/main');
  await world.script(join(world.bare, 'hooks/update'), '#!/bin/sh\n[ "$1" != refs/heads/kept ]\n');
  await world.git('checkout', '-q', '--orphan', 'fresh');
  await world.git('rm', '-q', '-r', '--cached', '.');
  world.gate.answer = refused(refusal, 'any');
  for (const round of [1, 2, 3]) {
    await add(world, `fresh ${round}`, 2000);
    const push = await world.push(['--force', ':kept', `fresh:fresh${round}`, 'fresh:main']);
    t.equal(push.code, 1);
  }
  t.match(await world.refs(), 'fresh1', 'once the update hook was not expected');
  t.notMatch(await world.refs(), 'fresh2');
  t.notMatch(await world.refs(), 'fresh3');
});

t.test('replaced objects make nothing smaller', async t => {
  const world = await full(t);
  const main = await world.git('rev-parse', 'HEAD');
  await world.git('checkout', '-q', '--orphan', 'fresh');
  await world.git('rm', '-q', '-r', '--cached', '.');
  await add(world, 'fresh', 1000);
  world.gate.answer = allowed;
  await world.push(['fresh:refs/heads/gone']);
  world.gate.answer = refused(refusal, 'any');
  await add(world, 'fresher', 1500);
  const push = await world.push([':gone', `HEAD:refs/replace/${main}`]);
  t.equal(push.code, 1);
});

t.test('what was deleted is not brought back without a question', async t => {
  const world = await full(t);
  world.gate.answer = allowed;
  await add(world, 'topic', 50_000);
  await world.push(['HEAD:refs/heads/topic']);
  await world.push([':topic']);
  world.gate.answer = refused(refusal, 'any');
  const asked = world.gate.checks.length;
  const push = await world.push(['HEAD:refs/heads/again']);
  t.equal(push.code, 1);
  t.equal(world.gate.checks.length, asked + 1);
  t.equal((await world.push(['main~1:refs/heads/known'])).code, 0, 'a branch of what is there passes');
  t.equal(world.gate.checks.length, asked + 1, 'unasked');
});

t.test('far over the limit a push must not bring more than it frees', async t => {
  const world = await full(t, 'less');
  await world.git('checkout', '-q', '--orphan', 'fresh');
  await world.git('rm', '-q', '-r', '--cached', '.');
  await add(world, 'nearly as large', 200_000);
  const push = await world.push(['--force', 'HEAD:main']);
  t.equal(push.code, 1);
  t.match(World.said(push), /it brings \d+ kB, more than it frees/);
  await world.git('rm', '-q', '--cached', 'nearly as large');
  await world.git('commit', '-q', '--amend', '--allow-empty', '-m', 'small');
  t.equal((await world.push(['--force', 'HEAD:main'])).code, 0);
});

t.test('a daemon that says nothing of it has such pushes refused as before', async t => {
  const world = await full(t, null);
  await withoutLarge(world);
  const push = await world.push(['--force', 'HEAD:main']);
  t.equal(push.code, 1);
  t.equal(World.said(push), refusal.trim());
});

t.test('without the daemon it is judged, too', async t => {
  const world = await full(t);
  await world.configure('softquota.onError', 'deny');
  await world.configure('softquota.timeout', '0.2');
  await world.gate.close();
  await withoutLarge(world);
  t.equal((await world.push(['--force', 'HEAD:main'])).code, 0);
  await add(world, 'more', 10);
  const push = await world.push(['HEAD:main']);
  t.equal(push.code, 1);
  t.match(World.said(push), 'is refused. Try again later.');
});

t.test('if git needs longer than judgeTimeout, the push is refused and told why', async t => {
  const world = await full(t);
  await world.configure('softquota.judgeTimeout', '0.3');
  await withoutLarge(world);
  await world.script(
    join(world.folder, 'slow/git'),
    `#!/bin/sh\ncase "$*" in *disk-usage*) exec sleep 60;; esac\nexec /usr/bin/git "$@"\n`,
  );
  await world.put('pre-receive', join(world.bare, 'hooks/pre-receive'), text =>
    text.replace('PATH="/usr/local/bin:', `PATH="${world.folder}/slow:/usr/local/bin:`),
  );
  const push = await world.push(['--force', 'HEAD:main']);
  t.equal(push.code, 1);
  t.match(World.said(push), /git could not tell within 0\.3 s whether.*Delete branches and tags first/s);
});

t.test('two such pushes at once cannot count on the same deletion', async t => {
  const world = await full(t);
  world.gate.answer = allowed;
  await add(world, 'topic', 50_000);
  await world.push(['HEAD:refs/heads/topic']);
  await world.git('reset', '-q', '--hard', 'HEAD~1');
  world.gate.answer = refused(refusal, 'any');
  const before = Number(await reachable(world));
  // The hook after ours holds each push until both have been judged or one was refused.
  await world.script(
    join(world.bare, 'hooks/pre-receive.d/99-wait'),
    `#!/bin/sh\ntouch ${world.folder}/waits\nwhile [ ! -e ${world.folder}/go ]; do sleep 0.05; done\n`,
  );
  await add(world, 'one', 40_000);
  const first = world.push([':topic', 'HEAD:refs/heads/one']);
  while (!existsSync(join(world.folder, 'waits'))) await world.must('sleep', ['0.05']);
  await world.git('reset', '-q', '--hard', 'HEAD~1');
  await add(world, 'two', 40_001);
  const second = await world.push([':topic', 'HEAD:refs/heads/two']);
  t.equal(second.code, 1);
  t.match(World.said(second), 'another push that makes this repository smaller is under way');
  await writeFile(join(world.folder, 'go'), '');
  t.equal((await first).code, 0);
  t.ok(Number(await reachable(world)) < before);
});

t.test('what another hook refuses is forgotten, and nothing is left behind', async t => {
  const world = await full(t);
  const after = join(world.bare, 'hooks/pre-receive.d/99-no');
  await world.script(after, '#!/bin/sh\nexit 3\n');
  await withoutLarge(world);
  t.equal((await world.push(['--force', 'HEAD:main'])).code, 1);
  t.notOk(existsSync(join(world.bare, 'softquota-promise')));
  t.notOk(existsSync(join(world.bare, 'softquota-judging')));
  await rm(after);
  t.equal((await world.push(['--force', 'HEAD:main'])).code, 0);
  world.gate.answer = allowed;
  await add(world, 'more', 10);
  t.equal((await world.push(['HEAD:main'])).code, 0);
  t.notOk(existsSync(join(world.bare, 'softquota-promise')), 'an allowed push ends it');
});
