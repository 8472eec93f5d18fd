/** Questions of the hooks, and what becomes of a push by the answer. */

import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { allowed, judging, plain, refused, warned } from './gate.ts';
import { byEachClient, creates, World, zeros } from './world.ts';

byEachClient(
  'an allowed push passes without a word, and the daemon hears of it before and after',
  async (t, client) => {
    const world = await World.open(t, { client });
    await world.commit('first');
    const push = await world.push(['HEAD:main'], { LOGNAME: 'alice', SSH_CONNECTION: '1 2 3 4' });
    t.match(push, { code: 0 });
    t.equal(World.said(push), '');
    await world.gate.heard(1);
    const line = `${zeros} ${await world.git('rev-parse', 'HEAD')} refs/heads/main\n`;
    for (const hook of ['pre-receive', 'post-receive']) {
      const [question, ...others] = world.gate.pushes(hook);
      t.same(others, []);
      t.match(question, { method: 'POST', lines: line });
      t.match(Object.fromEntries(question?.parameters ?? []), {
        script: /hooks\/(pre|post)-receive$/,
        directory: world.bare,
        process: /^\d+$/,
        LOGNAME: 'alice',
        SSH_CONNECTION: '1 2 3 4',
      });
    }
    t.match(world.gate.pushes()[0]?.parameters.get('GIT_QUARANTINE_PATH'), /objects\/tmp_objdir-incoming-/);
  },
);

t.test('the text of an answer is shown as it came', async t => {
  const world = await World.open(t);
  await world.commit('first');
  world.gate.answer = warned('Nearly full: ünï.\nAsk for more.\n');
  t.equal(World.said(await world.push(['HEAD:main'])), 'Nearly full: ünï.\nAsk for more.');
  world.gate.answer = plain(404, 'not managed\n');
  t.equal(World.said(await world.push(['HEAD:other'])), 'not managed');
});

for (const unpackLimit of ['1', '100']) {
  for (const format of ['sha1', 'sha256'] as const) {
    t.test(`of a refused push nothing stays (${format}, unpackLimit ${unpackLimit})`, async t => {
      const world = await World.open(t, { format });
      await world.server('config', 'receive.unpackLimit', unpackLimit);
      world.gate.answer = refused('over quota\n');
      await world.commit('first');
      const push = await world.push(['HEAD:main']);
      t.equal(push.code, 1);
      t.equal(World.said(push), 'over quota');
      t.equal(await world.refs(), '');
      t.equal(await world.objects(), 0);
      t.match((await world.hook(creates())).stderr, /^over quota\n$/);
    });
  }
}

/** A quarantine with two objects, as git makes it. */
async function quarantine(folder: string): Promise<string> {
  await mkdir(join(folder, 'pack'), { recursive: true });
  await writeFile(join(folder, 'pack/pack-1.pack'), 'pack');
  await mkdir(join(folder, '12'));
  await writeFile(join(folder, '12/34'), 'loose');
  return folder;
}

for (const name of ['tmp_objdir-incoming-Ab12Cd', 'incoming-Ab12Cd']) {
  t.test(`a refused push is emptied by the hook itself before its text is shown: ${name}`, async t => {
    const world = await World.open(t);
    const path = await quarantine(join(world.bare, 'objects', name));
    world.gate.answer = refused('no\n');
    // The rest of the path is not used: a server that was started through a link names another one.
    const elsewhere = await quarantine(join(world.folder, 'link/objects', name));
    t.match(await world.hook(creates(), { GIT_QUARANTINE_PATH: elsewhere }), { code: 1, stderr: 'no\n' });
    t.same(await readdir(path), []);
    t.not((await readdir(elsewhere)).length, 0);

    await quarantine(path);
    world.gate.answer = allowed;
    await world.script(join(world.bare, 'hooks/pre-receive.d/10'), '#!/bin/sh\nexit 3\n');
    t.match(await world.hook(creates(), { GIT_QUARANTINE_PATH: path }), { code: 3, stderr: '' });
    t.same(await readdir(path), [], 'also when a later hook refuses');
    await world.script(join(world.bare, 'hooks/pre-receive.d/10'), '#!/bin/sh\nexit 0\n');
    await quarantine(path);
    t.match(await world.hook(creates(), { GIT_QUARANTINE_PATH: path }), { code: 0, stderr: '' });
    t.not((await readdir(path)).length, 0, 'an allowed push keeps what it brought');
  });
}

t.test('the quarantine goes first where nobody takes the text any more', async t => {
  const world = await World.open(t);
  const path = await quarantine(join(world.bare, 'objects/tmp_objdir-incoming-Ab12Cd'));
  world.gate.answer = refused('x'.repeat(200_000));
  const script = 'hooks/pre-receive 2>&1 >/dev/null | true';
  await world.run('sh', ['-c', script], {
    cwd: world.bare,
    input: creates(),
    env: { GIT_QUARANTINE_PATH: path },
  });
  t.same(await readdir(path), []);
});

t.test('deletions pass without a question, with the daemon away, and whatever a variable says', async t => {
  const world = await World.open(t, { onError: 'deny' });
  await world.commit('first');
  const names = Array.from({ length: 120 }, (_, index) => `b${index}`);
  await world.push(['HEAD:main', ...names.map(name => `HEAD:${name}`)]);
  await world.gate.heard(1);
  const asked = world.gate.pushes().length;
  await world.gate.close();
  const path = await quarantine(join(world.bare, 'objects/tmp_objdir-incoming-Ab12Cd'));
  t.match(await world.push(names.slice(0, 1).map(name => `:${name}`)), { code: 0 });
  t.match(await world.push(names.slice(1).map(name => `:${name}`)), { code: 0 });
  await world.script(join(world.bare, 'hooks/pre-receive.d/10'), '#!/bin/sh\nexit 1\n');
  const line = `${'1'.repeat(40)} ${zeros} refs/heads/main\n`;
  for (const input of [line, line.repeat(70)])
    t.match(await world.hook(input, { GIT_QUARANTINE_PATH: path }), { code: 1, stderr: '' });
  t.not((await readdir(path)).length, 0, 'the quarantine of another push is not touched');
  t.equal(world.gate.pushes().length, asked);
});

t.test('every line is handed over, and the daemon is told where a list is cut at 1 MiB', async t => {
  const world = await World.open(t);
  for (const [count, cut] of [
    [49, false],
    [50, false],
    [51, false],
    [40_000, true],
  ] as const) {
    const input = Array.from({ length: count }, (_, index) => creates(`refs/heads/${index}`)).join('');
    await world.script(join(world.bare, 'hooks/pre-receive.d/10'), '#!/bin/sh\nwc -c >&2\n');
    t.match(await world.hook(input), { code: 0, stderr: `${input.length}\n` });
    const question = world.gate.pushes().at(-1);
    t.equal(question?.parameters.get('more'), cut ? 'yes' : null);
    t.ok(input.startsWith(question?.lines ?? '-') && question?.lines.endsWith('\n'), 'whole lines');
    t.ok((question?.lines.length ?? 0) <= 1024 * 1024);
    if (!cut) t.equal(question?.lines, input);
    else t.ok((question?.lines.length ?? 0) > 1_000_000);
  }
  const telling = ['x/HEAD', 'x/objects/a', 'y/refs/a', 'y/commondir'].map(name =>
    creates(`refs/heads/${name}`),
  );
  const many = Array.from({ length: 40_000 }, (_, index) => creates(`refs/heads/${index}`)).join('');
  await world.hook(`${many}${telling.join('')}`);
  const { lines = '' } = world.gate.pushes().at(-1) ?? {};
  t.ok(lines.startsWith(telling.join('')), 'a list that is cut begins with what may make a repository');
  const last = `${`${'1'.repeat(40)} ${zeros} refs/heads/x\n`.repeat(60)}${creates()}`;
  await world.hook(last);
  t.equal(world.gate.pushes().length, 6, 'one ref behind many deletions is enough');
});

t.test('while the daemon looks the same question is asked again, at most each second', async t => {
  const world = await World.open(t);
  let asked = 0;
  world.gate.answer = (...args) => (++asked < 3 ? judging(...args) : warned('smaller\n')(...args));
  const begun = performance.now();
  t.match(await world.hook(creates()), { code: 0, stderr: 'smaller\n' });
  const took = performance.now() - begun;
  t.ok(took > 1900 && took < 5000, `${took} ms`);
  const bodies = new Set(world.gate.pushes().map(({ raw }) => raw.toString('latin1')));
  t.equal(bodies.size, 1);
  t.equal(world.gate.pushes().length, 3);
});

t.test('a daemon that is gone while it looks at a push has refused it, whatever onError says', async t => {
  const world = await World.open(t, { onError: 'allow' });
  world.gate.answer = (...args) => {
    judging(...args);
    void world.gate.close();
  };
  t.match(await world.hook(creates()), { code: 1, stderr: /could not be checked, so this push is refused/ });
});

t.test('any other status refuses, with the daemon’s words or ours', async t => {
  const world = await World.open(t, { onError: 'allow' });
  for (const status of [201, 302, 400, 403, 429]) {
    world.gate.answer = plain(status, status === 400 ? 'hook is none of these\n' : '');
    t.match(await world.hook(creates()), {
      code: 1,
      stderr: status === 400 ? 'hook is none of these\n' : 'softquota: this push is refused.\n',
    });
  }
});

t.test('a linked worktree names no repository: the objects are those of the common directory', async t => {
  const world = await World.open(t);
  await world.commit('first');
  await world.push(['HEAD:main']);
  await world.server('worktree', 'add', '-q', '--detach', join(world.folder, 'deploy'), 'main');
  const worktree = join(world.bare, 'worktrees/deploy');
  world.gate.answer = refused('no\n');
  await world.commit('second');
  const before = await world.objects();
  const push = await world.run('git', ['push', worktree, 'HEAD:refs/heads/two'], { cwd: world.work });
  t.match(push, { code: 1, stderr: /remote: no/ });
  t.equal(world.gate.pushes().at(-1)?.parameters.get('directory'), worktree);
  t.equal(await world.objects(), before);
  const path = await quarantine(join(world.bare, 'objects/tmp_objdir-incoming-Ab12Cd'));
  await world.run('../../hooks/pre-receive', [], {
    cwd: worktree,
    input: creates(),
    env: { GIT_QUARANTINE_PATH: path },
  });
  t.same(await readdir(path), []);
});

t.test('what post-receive reports makes no push wait, and is tried again', async t => {
  const world = await World.open(t);
  await world.commit('first');
  const begun = performance.now();
  let times = 0;
  world.gate.taking = (response, question) => {
    times += 1;
    if (times < 2) response.destroy();
    else if (times === 2) plain(202)(response, question);
  };
  t.match(await world.push(['HEAD:main']), { code: 0 });
  t.ok(performance.now() - begun < 1000);
  await world.gate.heard(2);
  t.same(
    world.gate.pushes('post-receive').map(({ lines }) => lines.split(' ')[2]),
    ['refs/heads/main\n', 'refs/heads/main\n'],
  );
});

for (const shell of ['/bin/dash', '/bin/bash', '/usr/bin/busybox ash']) {
  byEachClient(`${shell} does the same`, async (t, client) => {
    const world = await World.open(t, { shell, client });
    const ref = 'refs/heads/größe-日本';
    t.match(await world.hook(creates(ref), { LC_ALL: 'C.UTF-8', LOGNAME: 'jürgen' }), {
      code: 0,
      stderr: '',
    });
    t.equal(world.gate.pushes()[0]?.lines, creates(ref), 'the length is told in bytes');
    t.equal(world.gate.pushes()[0]?.parameters.get('LOGNAME'), 'jürgen');
    world.gate.answer = refused('voll: ü\n');
    const path = await quarantine(join(world.bare, 'objects/tmp_objdir-incoming-Ab12Cd'));
    t.match(await world.hook(creates(), { GIT_QUARANTINE_PATH: path }), { code: 1, stderr: 'voll: ü\n' });
    t.same(await readdir(path), []);
    await world.gate.close();
    t.match(await world.hook(creates()), {
      code: 0,
      stderr: /could not be checked, so this push is allowed\.\n$/,
    });
  });
}
