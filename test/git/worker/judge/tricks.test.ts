/**
 * Tricks to grow over the limit, and what keeps them from it: a client that makes git do only a part of what
 * was judged, and settings and places that have git refuse a part.
 */

import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { until } from '../../../e2e/ask.ts';
import { noise } from '../../../noise.ts';
import { World } from './world.ts';

/**
 * A world with 100 kB in main and 300 kB in another branch, whose owner is over the limit; `fresh` is new and
 * 200 kB.
 */
async function full(t: Test): Promise<World> {
  const world = await World.open(t);
  await world.add('begin', 100_000, { orphan: true });
  await world.add('old', 300_000, { orphan: true });
  await world.passes('begin:main', 'old');
  await world.add('fresh', 200_000, { orphan: true });
  world.over = 'any';
  return world;
}

/** The arguments of a push that replaces `old` by `fresh`. */
const replacement = ['--force', ':old', 'fresh'];

async function stays(t: Test, world: World, args: readonly string[] = replacement): Promise<void> {
  const refs = await world.refs();
  t.equal((await world.push(args)).code, 1);
  t.match(world.last, /smaller/);
  t.equal(await world.refs(), refs);
}

t.test('nothing stands in the way of it without these', async t => {
  const world = await full(t);
  t.equal((await world.push(replacement)).code, 0);
});

t.test('the settings of the user whom git runs as count, too', async t => {
  const world = await full(t);
  const { HOME } = process.env;
  t.teardown(() => {
    process.env.HOME = HOME;
  });
  process.env.HOME = world.folder;
  await writeFile(join(world.folder, '.gitconfig'), '[receive]\n\tdenyDeletes\n');
  await stays(t, world);
});

/** Has git itself take a push that no client sends, and gives what it says. */
async function send(world: World, orders: readonly string[], tips: string): Promise<string> {
  const packet = (line: string) => `${(line.length + 4).toString(16).padStart(4, '0')}${line}`;
  const options = { cwd: world.work, input: `${tips}\n`, encoding: 'latin1' } as const;
  const pack = await world.run('git', ['pack-objects', '--stdout', '--revs', '-q'], options);
  const [first = '', ...others] = orders;
  const text = `${[`${first}\0 report-status`, ...others].map(packet).join('')}0000`;
  const { stderr } = await world.run('git', ['receive-pack', world.bare], {
    input: Buffer.concat([Buffer.from(text), Buffer.from(pack.stdout, 'latin1')]),
  });
  return stderr;
}

const none = '0'.repeat(40);

t.test('a ref that git hides is not deleted, also if a client names it', async t => {
  const world = await full(t);
  const hidden = 'refs/pull/1/head';
  await world.server('update-ref', hidden, 'old');
  await world.server('update-ref', '-d', 'refs/heads/old');
  const [old = '', fresh = ''] = (await world.git('rev-parse', 'old', 'fresh')).split('\n');
  const orders = [`${old} ${none} ${hidden}`, `${none} ${fresh} refs/heads/fresh`];
  const refs = await world.refs();
  await world.configure('receive.hideRefs', 'refs/pull/');
  t.match(await send(world, orders, fresh), 'would not make the repository smaller');
  await world.must('git', ['config', '--file', join(world.bare, 'config'), '--unset', 'receive.hideRefs']);
  world.hidden = ['refs/pull/'];
  t.match(await send(world, orders, fresh), 'would not make the repository smaller', 'those of the server');
  t.equal(await world.refs(), refs);
});

t.test('the words name no ref that nobody can push to, but who keeps it and where it goes', async t => {
  const world = await full(t);
  await world.server('update-ref', 'refs/keep-around/1234', 'old');
  world.hidden = ['refs/keep-around/'];
  await stays(t, world);
  t.match(world.last, /GitLab keeps it for merge requests and pipelines/);
  t.match(world.last, /Settings, Repository, Repository\s+maintenance/);
  t.notMatch(world.last, /keep-around|--delete/);
});

t.test('a branch takes commits only', async t => {
  const world = await full(t);
  const blob = await world.git('rev-parse', 'fresh:fresh');
  await stays(t, world, ['--force', `${blob}:refs/heads/old`, 'fresh']);
});

t.test('a branch that is checked out stays, but where git is told to update it', async t => {
  const world = await full(t);
  await world.server('worktree', 'add', '-q', join(world.folder, 'tree'), 'old');
  await stays(t, world);
  await stays(t, world, ['--force', 'fresh:old']);
  await world.configure('receive.denyCurrentBranch', 'updateInstead');
  await stays(t, world);
  t.equal((await world.push(['--force', 'fresh:old'])).code, 0, world.last);
  await world.ended();
  await world.add('fresher', 150_000, { orphan: true });
  await world.configure('receive.denyCurrentBranch', 'warn');
  t.equal((await world.push(['--force', 'fresher:old'])).code, 0, world.last);
  await world.ended();
  await world.configure('receive.denyDeleteCurrent', 'ignore');
  await world.add('freshest', 120_000, { orphan: true });
  t.equal((await world.push(['--force', ':old', 'freshest'])).code, 0, world.last);
});

t.test('two names for one ref are not followed up', async t => {
  const world = await full(t);
  await world.server('symbolic-ref', 'refs/heads/alias', 'refs/heads/old');
  await stays(t, world, ['--force', ':alias', 'fresh']);
});

t.test('what a push under way is about to delete gets no other name meanwhile', async t => {
  const world = await full(t);
  const [waits = '', go = ''] = ['waits', 'go'].map(name => join(world.folder, name));
  await world.script(
    join(world.bare, 'hooks/update'),
    `#!/bin/sh\n[ "$1" = refs/heads/old ] || exit 0\ntouch ${waits}\nwhile [ ! -e ${go} ]; do sleep 0.05; done\n`,
  );
  const first = world.push(['--force', 'fresh', ':old']);
  await until(async () => (existsSync(waits) ? true : null));
  t.equal((await world.push(['old:refs/heads/keep'])).code, 1);
  await writeFile(go, '');
  t.equal((await first).code, 0);
  await world.ended();
  t.equal((await world.push(['fresh:refs/heads/name'])).code, 0, 'afterwards other names are free again');
});

t.test('a push of which git stored all and did nothing is the last that is judged', async t => {
  const world = await full(t);
  const update = join(world.bare, 'hooks/update');
  await world.script(update, '#!/bin/sh\nexit 1\n');
  await world.add('tiny', 4, { orphan: true });
  t.equal((await world.push(['--force', 'tiny:old'])).code, 1);
  await world.ended();
  await rm(update);
  t.equal((await world.push(replacement)).code, 1);
  t.match(world.last, /git did only a part of it/);
  t.equal((await world.push([':old'])).code, 0, 'deleting always passes');
});

t.test('a client that goes away between two refs gains that one push, and no other', async t => {
  const world = await full(t);
  const atFirst = await world.reachable();
  // This leaves the same state.
  await world.script(
    join(world.bare, 'hooks/update'),
    '#!/bin/sh\ncase $3 in *[!0]*) ;; *) exit 1 ;; esac\n',
  );
  for (let n = 0; n < 4; n++) {
    await world.add(`again${n}`, 190_000 - n * 100, { orphan: true });
    const names = (await world.server('for-each-ref', '--format=:%(refname)')).split('\n');
    const others = names.filter(name => name !== ':refs/heads/main');
    await world.push(['--force', `again${n}`, ...others]);
    await world.ended();
  }
  t.ok((await world.reachable()) < atFirst + 200_000, `${atFirst} became ${await world.reachable()}`);
  await rm(join(world.bare, 'hooks/update'));
  const names = (await world.server('for-each-ref', '--format=:%(refname)')).split('\n');
  t.equal((await world.push(names.filter(name => name !== ':refs/heads/main'))).code, 0);
  t.ok((await world.reachable()) < atFirst);
});

t.test('more than twice of what there is is not brought, whatever no ref reaches', async t => {
  const world = await full(t);
  const garbage = join(world.work, 'garbage');
  await writeFile(garbage, noise('garbage', 1_000_000));
  const [old = '', fresh = ''] = (await world.git('rev-parse', 'old', 'fresh')).split('\n');
  const blob = await world.git('hash-object', '-w', garbage);
  await world.configure('receive.unpackLimit', '1');
  const orders = [`${old} ${none} refs/heads/old`, `${none} ${fresh} refs/heads/fresh`];
  t.match(await send(world, orders, `${fresh}\n${blob}`), /this push brings 1\.2 MB, although/);
  const tree = await world.must('git', ['mktree'], {
    cwd: world.work,
    input: `100644 blob ${blob}\tgarbage\n`,
  });
  t.equal((await world.push(['--force', ':old', 'fresh', `${tree}:refs/tags/garbage`])).code, 1);
  t.match(world.last, /would not make the repository smaller/);
});

t.test('nothing that repository or request name is run, and no other quarantine is read', async t => {
  const world = await full(t);
  const marker = join(world.folder, 'ran');
  await world.script(join(world.folder, 'program'), `#!/bin/sh\necho ran >>${marker}\n`);
  const program = join(world.folder, 'program');
  await writeFile(
    join(world.bare, 'config'),
    `[core]\n\tbare = true\n\tfsmonitor = ${program}\n\talternateRefsCommand = ${program}\n[alias]\n\trev-list = !${program}\n`,
  );
  await world.script(join(world.folder, 'exec/git'), `#!/bin/sh\necho ran >>${marker}\n`);
  const [old = '', fresh = ''] = (await world.git('rev-parse', 'old', 'fresh')).split('\n');
  const other = join(world.folder, 'other');
  await mkdir(join(other, 'pack'), { recursive: true });
  const judged = (quarantine: string | null) =>
    world.judgements.judge(
      {
        path: world.bare,
        quarantine,
        lines: `${old} ${none} refs/heads/old\n${none} ${fresh} refs/heads/fresh\n`,
        manner: 'any',
        hidden: [],
        exec_path: join(world.folder, 'exec'),
      },
      performance.now(),
      AbortSignal.timeout(30_000),
    );
  await symlink(other, join(world.bare, 'objects/tmp_objdir-incoming-abcdef'));
  for (const name of [
    null,
    'tmp_objdir-incoming-abcdef',
    '../../../other',
    'pack',
    'tmp_objdir-incoming-none00',
  ])
    t.match(await judged(name), { smaller: false, words: /git cannot tell here/ }, String(name));
  await rm(join(world.bare, 'objects/tmp_objdir-incoming-abcdef'));
  t.notOk(existsSync(marker));
  t.equal((await world.push(replacement)).code, 0);
  t.same(await readdir(other), ['pack']);
});
