/**
 * Tricks to grow over the limit, and what keeps them from it: a client that makes git do only a part of what
 * was judged, and settings and places that have git refuse a part.
 */

import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { refused } from './gate.ts';
import { noise } from './noise.ts';
import { World } from './world.ts';

const refusal = 'Quota exceeded: alice uses 12.4 GB of 10 GB (124 %).\n';

/**
 * A world with 100 kB in main and 300 kB in another branch, whose owner is over the limit; `fresh` is new and
 * 200 kB.
 */
async function full(t: Test): Promise<World> {
  const world = await World.open(t);
  const branch = async (name: string, bytes: number) => {
    await world.git('checkout', '-q', '--orphan', name);
    await world.git('rm', '-q', '-r', '--cached', '--ignore-unmatch', '.');
    await writeFile(join(world.work, name), noise(name, bytes));
    await world.git('add', name);
    await world.git('commit', '-q', '-m', name);
  };
  await branch('begin', 100_000);
  await branch('old', 300_000);
  await world.push(['begin:main', 'old']);
  await world.gate.heard(1);
  await branch('fresh', 200_000);
  world.gate.answer = refused(refusal, 'any');
  return world;
}

/** The arguments of a push that replaces `old` by `fresh`. */
const replacement = ['--force', ':old', 'fresh'];

async function stays(t: Test, world: World, args: readonly string[] = replacement): Promise<void> {
  const refs = await world.refs();
  const push = await world.push(args);
  t.equal(push.code, 1);
  t.match(World.said(push), /smaller/);
  t.equal(await world.refs(), refs);
}

t.test('nothing stands in the way of it without these', async t => {
  const world = await full(t);
  t.equal((await world.push(replacement)).code, 0);
});

t.test('the settings of the user whom git runs as count, too', async t => {
  const world = await full(t);
  await writeFile(join(world.folder, '.gitconfig'), '[receive]\n\tdenyDeletes\n');
  await stays(t, world);
});

t.test('a ref that git hides is not deleted, also if a client names it', async t => {
  const world = await full(t);
  const hidden = 'refs/pull/1/head';
  await world.server('update-ref', hidden, 'old');
  await world.server('update-ref', '-d', 'refs/heads/old');
  const [old = '', fresh = ''] = (await world.git('rev-parse', 'old', 'fresh')).split('\n');
  await world.configure('receive.hideRefs', 'refs/pull/');
  const none = '0'.repeat(40);
  const packet = (line: string) => `${(line.length + 4).toString(16).padStart(4, '0')}${line}`;
  const pack = await world.run('git', ['pack-objects', '--stdout', '--revs', '-q'], {
    ...{ cwd: world.work, input: `${fresh}\n`, encoding: 'latin1' },
  });
  const orders = `${packet(`${old} ${none} ${hidden}\0 report-status`)}${packet(`${none} ${fresh} refs/heads/fresh`)}0000`;
  const refs = await world.refs();
  const { stderr } = await world.run('git', ['receive-pack', world.bare], {
    input: Buffer.concat([Buffer.from(orders), Buffer.from(pack.stdout, 'latin1')]),
  });
  t.match(stderr, 'would not make the repository smaller');
  t.equal(await world.refs(), refs);
});

t.test('a branch takes commits only', async t => {
  const world = await full(t);
  const blob = await world.git('rev-parse', 'fresh:fresh');
  await stays(t, world, ['--force', `${blob}:refs/heads/old`, 'fresh']);
});

t.test('a branch that is checked out stays', async t => {
  const world = await full(t);
  await world.server('worktree', 'add', '-q', join(world.folder, 'tree'), 'old');
  await stays(t, world);
});

t.test('two names for one ref are not followed up', async t => {
  const world = await full(t);
  await world.server('symbolic-ref', 'refs/heads/alias', 'refs/heads/old');
  await stays(t, world, ['--force', ':alias', 'fresh']);
});

t.test('what a push under way is about to delete gets no other name meanwhile', async t => {
  const world = await full(t);
  const [waits, go] = ['waits', 'go'].map(name => join(world.folder, name));
  await world.script(
    join(world.bare, 'hooks/update'),
    `#!/bin/sh\n[ "$1" = refs/heads/old ] || exit 0\ntouch ${waits}\nwhile [ ! -e ${go} ]; do sleep 0.05; done\n`,
  );
  const first = world.push(['--force', 'fresh', ':old']);
  while (!existsSync(waits ?? '')) await world.must('sleep', ['0.05']);
  t.equal((await world.push(['old:refs/heads/keep'])).code, 1);
  await writeFile(go ?? '', '');
  t.equal((await first).code, 0);
  t.equal((await world.push(['fresh:refs/heads/name'])).code, 0, 'afterwards other names are free again');
});

t.test('a push of which nothing was done promises nothing', async t => {
  const world = await full(t);
  const update = join(world.bare, 'hooks/update');
  await world.script(update, '#!/bin/sh\nexit 1\n');
  const tiny = join(world.work, 'tiny');
  await world.git('checkout', '-q', '--orphan', 'tiny');
  await world.git('rm', '-q', '-r', '--cached', '.');
  await writeFile(tiny, 'tiny');
  await world.git('add', 'tiny');
  await world.git('commit', '-q', '-m', 'tiny');
  t.equal((await world.push(['--force', 'tiny:old'])).code, 1);
  t.ok(existsSync(join(world.bare, 'softquota-promise')));
  await rm(update);
  t.equal((await world.push(replacement)).code, 0);
});

t.test('what was promised holds until it is done', async t => {
  const world = await full(t);
  const promise = join(world.bare, 'softquota-promise');
  // This leaves the same state as a client that goes away between two refs.
  const update = join(world.bare, 'hooks/update');
  await world.script(update, '#!/bin/sh\n[ "$1" != refs/heads/old ]\n');
  await world.push(replacement);
  t.match(await world.refs(), /fresh[\s\S]*old/);
  await rm(update);
  const [line] = (await readFile(promise, 'utf8')).split('\n');
  t.match(line, /^30\d{4} 40\d{4} 40\d{4} [0-9a-f]{40}$/);
  await world.git('checkout', '-q', '--orphan', 'larger');
  await writeFile(join(world.work, 'larger'), noise('larger', 250_000));
  await world.git('add', 'larger');
  await world.git('commit', '-q', '-m', 'larger');
  const held = await world.push(['--force', ':fresh', ':old', 'larger']);
  t.equal(held.code, 1);
  t.match(
    World.said(held),
    /an earlier push was accepted because only 30\d kB were to remain, but more remained/,
  );
  t.equal((await world.push([':old'])).code, 0);
  t.notOk(existsSync(promise), 'another push has done what was left');
});

t.test(
  'a promise that is kept at once is forgotten: objects may take more when they are packed anew',
  async t => {
    const world = await full(t);
    t.equal((await world.push(replacement)).code, 0);
    t.notOk(existsSync(join(world.bare, 'softquota-promise')));
  },
);

t.test('what is done by halves again and again does not grow without bound', async t => {
  const world = await full(t);
  const reachable = async () => Number(await world.server('rev-list', '--all', '--objects', '--disk-usage'));
  const atFirst = await reachable();
  // Nothing is ever deleted, as where a client goes away between two refs.
  await world.script(
    join(world.bare, 'hooks/update'),
    '#!/bin/sh\ncase $3 in *[!0]*) ;; *) exit 1 ;; esac\n',
  );
  let said = '';
  for (let n = 0; n < 8; n++) {
    await world.git('checkout', '-q', '--orphan', `again${n}`);
    await world.git('rm', '-q', '-r', '--cached', '.');
    await writeFile(join(world.work, 'again'), noise(`again${n}`, 190_000 - n * 100));
    await world.git('add', 'again');
    await world.git('commit', '-q', '-m', 'again');
    const names = (await world.server('for-each-ref', '--format=:%(refname)')).split('\n');
    const others = names.filter(name => name !== ':refs/heads/main');
    said = World.said(await world.push(['--force', `again${n}`, ...others]));
  }
  t.match(said.replaceAll(/\s+/g, ' '), /more remained: .* Delete branches and tags first/);
  t.ok((await reachable()) <= 3 * atFirst, `${atFirst} became ${await reachable()}`);
  await rm(join(world.bare, 'hooks/update'));
  const names = (await world.server('for-each-ref', '--format=:%(refname)')).split('\n');
  t.equal((await world.push(names.filter(name => name !== ':refs/heads/main'))).code, 0);
  t.ok((await reachable()) < atFirst);
});

t.test('the number of a push that has ended may be another program now', async t => {
  const world = await full(t);
  const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
  const space = await world.must('readlink', ['/proc/self/ns/pid']);
  await writeFile(join(world.bare, 'softquota-judging'), `${boot} ${space} ${process.pid}\n`);
  t.equal((await world.push(replacement)).code, 0);
});

t.test('more than it frees twice is not brought, whatever no ref reaches', async t => {
  const world = await full(t);
  const garbage = join(world.work, 'garbage');
  await writeFile(garbage, noise('garbage', 1_000_000));
  const blob = await world.git('hash-object', '-w', garbage);
  const tree = await world.must('git', ['mktree'], {
    cwd: world.work,
    input: `100644 blob ${blob}\tgarbage\n`,
  });
  // In a tag that names the tree as its own, and that the server drops with the ref that it denies.
  await world.configure('receive.unpackLimit', '1');
  const push = await world.push(['--force', ':old', 'fresh', `${tree}:refs/tags/garbage`]);
  t.equal(push.code, 1);
  t.match(World.said(push), /would not make the repository smaller/);
});

t.test('where the hook cannot write its files, it says so', async t => {
  const world = await full(t);
  await mkdir(join(world.bare, 'softquota-judging'));
  const push = await world.push(replacement);
  t.equal(push.code, 1);
  t.match(World.said(push), 'cannot write softquota-judging');
});
