/**
 * A push through receive-pack/git: what brings much to an owner over the limit ends at once, all else is
 * git's.
 */

import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { allowed, plain, refused, warned } from './gate.ts';
import { World, type WorldOptions } from './world.ts';

const words = 'Quota exceeded: alice uses 12.4 GB of 10 GB (124 %).\nAsk for more: https://git.example/quota';
const atOnce = /unpacker error/;
const byTheHook = /pre-receive hook declined/;

/** A world whose clone pushes through the folder of receive-pack/git. */
async function open(t: Test, options: WorldOptions = {}) {
  const world = await World.open(t, options);
  const folder = join(world.folder, 'package', 'receive-pack');
  await world.put('receive-pack/git', join(folder, 'git'));
  await world.git('config', 'remote.origin.receivepack', `${folder}/git receive-pack`);
  await world.commit('first');
  await world.must('git', ['push', '-q', 'origin', 'HEAD:main'], { cwd: world.work });
  await world.gate.heard(1);
  world.gate.questions.length = 0;
  return {
    world,
    folder,
    big: () => world.commit(randomBytes(100_000).toString('hex')),
    push: async (args: readonly string[] = ['HEAD:main'], env: Readonly<Record<string, string>> = {}) => {
      const push = await world.push(args, env);
      return { ...push, said: World.said(push) };
    },
  };
}

for (const [format, unpackLimit] of [
  ['sha1', '1'],
  ['sha1', '100'],
  ['sha256', '1'],
  ['sha256', '100'],
] as const) {
  t.test(`an upload over the limit gets the gate's words (${format}, ${unpackLimit})`, async t => {
    const { world, big, push } = await open(t, { format });
    await world.server('config', 'receive.unpackLimit', unpackLimit);
    const before = [await world.objects(), await world.refs()];
    await big();
    world.gate.answer = refused(`${words}\n`);
    const { code, said, stderr } = await push(['HEAD:main'], { LOGNAME: 'bob' });
    t.equal(code, 1);
    t.equal(said, words, 'and no words of git about some size');
    t.match(stderr, atOnce);
    t.strictSame([await world.objects(), await world.refs()], before);
    const names = await readdir(join(world.bare, 'objects'));
    t.notOk(
      names.some(name => name.includes('incoming')),
      'no quarantine is left behind',
    );
    t.equal(world.gate.pushes('receive-pack').length, 1);
    t.match(Object.fromEntries(world.gate.pushes('receive-pack')[0]?.parameters ?? []), {
      directory: world.bare,
      LOGNAME: 'bob',
    });
  });
}

for (const shell of ['/bin/dash', '/bin/bash', '/bin/busybox ash']) {
  t.test(`it works the same in ${shell}`, async t => {
    const { world, big, push } = await open(t, { shell });
    world.gate.answer = refused(`${words}\n`);
    await world.commit('small');
    t.match(await push(), { code: 1, said: words, stderr: byTheHook });
    await big();
    t.match(await push(), { code: 1, said: words, stderr: atOnce });
    world.gate.answer = allowed;
    t.match(await push(), { code: 0, said: '' });
  });
}

t.test('deletions, and refs to what is there already, are not asked about early', async t => {
  const { world, push } = await open(t);
  await world.commit('second');
  await push(['HEAD:main', 'HEAD:other']);
  world.gate.questions.length = 0;
  t.match(await push(['+HEAD~1:main']), { code: 0, said: '' }, 'a rollback');
  t.match(await push(['HEAD:main']), { code: 0, said: '' }, 'and forward again');
  t.match(await push([':other']), { code: 0, said: '' });
  t.strictSame(world.gate.pushes('receive-pack'), []);
});

t.test('what is still there from before it was deleted is asked about when it comes back', async t => {
  const { world, push } = await open(t);
  await world.commit('second');
  await push();
  await push(['+HEAD~1:main']);
  world.gate.answer = refused(words);
  t.match(await push(), { code: 1, said: words.trim() });
  world.gate.answer = allowed;
  t.match(await push(), { code: 0, said: '' });
  t.match(await world.refs(), await world.git('rev-parse', 'HEAD'));
});

t.test('an allowed push is as it is without: warned once, with its options, all or nothing', async t => {
  const { world, big, push } = await open(t);
  await world.server('config', 'receive.advertisePushOptions', 'true');
  await world.script(
    join(world.bare, 'hooks/pre-receive.d/10-options'),
    '#!/bin/sh\necho "$GIT_PUSH_OPTION_COUNT $GIT_PUSH_OPTION_0"\n',
  );
  world.gate.answer = warned('Nearly full.\n');
  for (const version of ['0', '1', '2']) {
    await big();
    const args = ['--atomic', '-o', 'ci.skip', 'HEAD:main', `HEAD:refs/heads/v${version}`];
    const { code, said } = await push(args, { GIT_PROTOCOL: `version=${version}` });
    t.equal(code, 0);
    t.equal(said, 'Nearly full.\n1 ci.skip');
  }
  world.gate.answer = allowed;
  await big();
  await world.git('branch', 'behind', 'HEAD~2');
  const { code, stderr } = await push(['--atomic', 'HEAD:main', 'behind:v2']);
  t.equal(code, 1);
  t.match(stderr, /main -> main|HEAD -> main/);
  t.notMatch(await world.refs(), await world.git('rev-parse', 'HEAD'));
});

t.test('a push out of a shallow clone is asked about like any other', async t => {
  const { world, big, push } = await open(t);
  for (const text of ['second', 'third']) await world.commit(text);
  await push();
  await rm(world.work, { recursive: true });
  await world.must('git', ['clone', '-q', '--depth=1', `file://${world.bare}`, world.work]);
  const receivePack = `${join(world.folder, 'package/receive-pack')}/git receive-pack`;
  await world.git('config', 'remote.origin.receivepack', receivePack);
  await world.server('config', 'receive.shallowUpdate', 'true');
  await big();
  world.gate.answer = refused(words);
  t.match(await push(), { code: 1, said: words, stderr: atOnce });
  world.gate.answer = allowed;
  t.match(await push(['HEAD:main', 'HEAD:refs/heads/other']), { code: 0, said: '' });

  await world.server('update-ref', '-d', 'refs/heads/main');
  await world.server('update-ref', '-d', 'refs/heads/other');
  await world.server('prune', '--expire=now');
  world.gate.answer = refused(words);
  t.match(await push(), { code: 1, said: words, stderr: atOnce }, 'the history ends in what is shallow');
});

t.test('what lies under no storage template is left alone', async t => {
  const { world, big, push } = await open(t);
  await big();
  world.gate.answer = plain(404);
  t.match(await push(), { code: 0, said: '' });
});

t.test('when the daemon does not answer, onError decides, and says so once', async t => {
  const { world, folder, big, push } = await open(t);
  await world.gate.close();
  await big();
  const passes = { code: 0, said: 'softquota: the quota could not be checked, so this push is allowed.' };
  t.match(await push(), passes);
  const list = world.gate.socket.replace(/\.sock$/, '.refused');
  await writeFile(list, `path\t${world.bare}\tno more\n`);
  const [now, soon] = [new Date(), new Date(Date.now() + 3600_000)];
  await utimes(list, soon, soon);
  await big();
  t.match(await push(), passes, 'a list from the future');
  await utimes(list, now, now);
  await big();
  const known = 'softquota: the quota could not be checked. Last known: no more';
  t.match(await push(), { code: 1, stderr: atOnce, said: known });
  await world.put('receive-pack/git', join(folder, 'git'), { ...world.settings, onError: 'deny' });
  const denied = 'softquota: the quota could not be checked, so this push is refused. Try again later.';
  t.match(await push(), { code: 1, stderr: atOnce, said: denied });
});

t.test('what git finds wrong with a push over the limit is told with the reason', async t => {
  const { world, push } = await open(t);
  await world.server('config', 'receive.fsckObjects', 'true');
  const raw = (await world.git('cat-file', 'commit', 'HEAD')).replace(/^(author [^>]*>).*$/m, '$1 never');
  const broken = await world.must('git', ['hash-object', '-t', 'commit', '-w', '--literally', '--stdin'], {
    cwd: world.work,
    input: raw,
  });
  world.gate.answer = refused(words);
  const { code, said } = await push([`${broken}:refs/heads/broken`]);
  t.equal(code, 1);
  t.match(said, /badDate/);
  t.ok(said.endsWith(words));
});

t.test('hooks find all of git’s programs, and what they fetch is not asked about', async t => {
  const { world, push } = await open(t);
  const mirror = join(world.folder, 'mirror.git');
  await world.must('git', ['init', '-q', '--bare', mirror]);
  await world.script(
    join(world.bare, 'hooks/post-receive.d/10-programs'),
    [
      '#!/bin/sh',
      'unset GIT_DIR',
      `git -C ${mirror} fetch -q ${world.bare} main:main`,
      'git http-backend',
      'test -d "$(git --exec-path)" && echo found',
      '(PATH=/usr/bin:/bin; git http-backend)',
    ].join('\n'),
  );
  await world.commit('second');
  const { code, said } = await push();
  t.equal(code, 0);
  t.equal(said.match(/No REQUEST_METHOD from server/g)?.length, 2, said);
  t.match(said, /^found$/m);
  t.equal(await world.must('git', ['-C', mirror, 'rev-parse', 'main']), await world.git('rev-parse', 'HEAD'));
  t.equal(
    world.gate.pushes('receive-pack').length + world.gate.pushes().length,
    2,
    'early, and before it is taken',
  );
});

t.test('all else that it is asked to do is git, whichever way it is found', async t => {
  const { world, folder } = await open(t);
  const real = await world.must('git', ['--version']);
  const path = process.env.PATH;
  const both = (PATH: string, args: readonly string[], cwd = world.folder) =>
    world.run('git', args, { cwd, env: { PATH } });
  t.match(await both(`${folder}:${path}`, ['--version']), { code: 0, stdout: `${real}\n` });
  t.match(await both(`${folder}:${folder}:${path}:${folder}`, ['--version']), { stdout: `${real}\n` });
  t.match(await both(`package/receive-pack:${path}`, ['--version']), { stdout: `${real}\n` });
  t.match(await both(`${folder}:${path}`, ['no-such-command']), { code: 1, stderr: /not a git command/ });
  const nowhere = await both(`${folder}:${path}`, ['receive-pack', '/nonexistent']);
  t.strictSame(nowhere.code, (await world.run('git', ['receive-pack', '/nonexistent'])).code);
  t.match(nowhere.stderr, /^fatal: '\/nonexistent' does not appear to be a git repository$/m);
  const own = join(world.folder, 'programs');
  await mkdir(own);
  const told = await world.run(`${folder}/git`, ['--exec-path'], {
    env: { GIT_EXEC_PATH: `${folder}:${own}` },
  });
  t.equal(told.stdout.trim(), own, 'another folder of git’s programs stays in force');
  const alone = await world.run(`${folder}/git`, ['--exec-path'], { env: { GIT_EXEC_PATH: folder } });
  t.equal(alone.stdout.trim(), await world.must('git', ['--exec-path']));
});

t.test('found by a relative name, it is as good', async t => {
  const { world, big } = await open(t);
  await big();
  world.gate.answer = refused(words);
  const push = await world.push(['--receive-pack=../package/receive-pack/git receive-pack', 'HEAD:main']);
  t.match(push, { code: 1, stderr: atOnce });
  t.equal(World.said(push), words);
});

t.test('a hook of the repository that runs early would be a mistake: none does', async t => {
  const { world, big, push } = await open(t);
  const log = join(world.folder, 'log');
  await writeFile(log, '');
  await world.script(join(world.bare, 'hooks/pre-receive.d/10-log'), `#!/bin/sh\necho ran >>${log}\n`);
  await big();
  world.gate.answer = refused(words);
  await push();
  t.equal(await readFile(log, 'utf8'), '');
  world.gate.answer = allowed;
  await push();
  t.equal(await readFile(log, 'utf8'), 'ran\n');
});
