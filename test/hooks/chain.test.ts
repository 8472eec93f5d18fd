/** The hooks that run after ours: all of them, with the same input, and the first failure is the result. */

import { chmod, cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { makeForgeHooks } from '../git/hooks/forge-hooks.ts';
import { refused } from './gate.ts';
import { creates, World, zeros } from './world.ts';

const logs = (log: string, word: string, code = 0) =>
  `#!/bin/sh\n{ echo "${word} $#"; cat; } >>${log}\necho "${word} speaks" >&2\nexit ${code}\n`;

async function withLog(t: Test) {
  const world = await World.open(t);
  const log = join(world.folder, 'log');
  await writeFile(log, '');
  await world.commit('first');
  const tip = await world.git('rev-parse', 'HEAD');
  const line = `${zeros} ${tip} refs/heads/main\n`;
  return {
    world,
    line,
    file: (path: string) => join(world.bare, path),
    /** Copies the hooks to where core.hooksPath leads from now on, and returns that place. */
    site: async (path = join(world.folder, 'site')) => {
      await cp(join(world.bare, 'hooks'), path, { recursive: true });
      await world.server('config', 'core.hooksPath', path);
      return path;
    },
    log,
    read: () => readFile(log, 'utf8'),
  };
}

t.test('every executable of pre-receive.d and post-receive.d runs in order with what git said', async t => {
  const { world, line, file, log, read } = await withLog(t);
  for (const name of ['pre-receive', 'post-receive']) {
    await world.script(file(`hooks/${name}.d/20-b`), logs(log, `${name}-b`));
    await world.script(file(`hooks/${name}.d/10-a b`), logs(log, `${name}-a`));
    await world.script(file(`hooks/${name}.d/30-deaf`), '#!/bin/sh\nexec true <&-\n');
    await world.script(file(`hooks/${name}.d/40-off`), logs(log, 'off'));
    await chmod(file(`hooks/${name}.d/40-off`), 0o644);
    await mkdir(file(`hooks/${name}.d/50-folder`));
  }
  const push = await world.push(['HEAD:main']);
  t.equal(push.code, 0);
  t.equal(
    World.said(push),
    'pre-receive-a speaks\npre-receive-b speaks\npost-receive-a speaks\npost-receive-b speaks',
  );
  const words = ['pre-receive-a', 'pre-receive-b', 'post-receive-a', 'post-receive-b'];
  t.equal(await read(), words.map(word => `${word} 0\n${line}`).join(''));
});

t.test('all run, and the first exit status that is not 0 is the hook’s', async t => {
  const { world, file, log, read } = await withLog(t);
  for (const [name, code] of [
    ['10', 0],
    ['20', 7],
    ['30', 9],
    ['40', 0],
  ] as const) {
    await world.script(file(`hooks/pre-receive.d/${name}`), logs(log, name, code));
  }
  const hook = await world.run(file('hooks/pre-receive'), [], { cwd: world.bare, input: 'a b c\n' });
  t.equal(hook.code, 7);
  t.equal(await read(), ['10', '20', '30', '40'].map(name => `${name} 0\na b c\n`).join(''));
  const push = await world.push(['HEAD:main']);
  t.equal(push.code, 1);
  t.equal(await world.refs(), '');
  await world.script(file('hooks/pre-receive.d/15'), '#!/bin/sh\nkill -TERM $$\n');
  t.equal((await world.hook(creates())).code, 143);
});

t.test('a post-receive hook that fails does not undo the push, and the gate has heard of it', async t => {
  const { world, file, log } = await withLog(t);
  await world.script(file('hooks/post-receive.d/10'), logs(log, 'post', 4));
  t.equal((await world.push(['HEAD:main'])).code, 0);
  await world.gate.heard(1);
  t.equal(world.gate.pushes('post-receive').length, 1);
  t.equal((await world.run(file('hooks/post-receive'), [], { cwd: world.bare })).code, 4);
});

t.test('after a refusal no other hook runs', async t => {
  const { world, file, log, read } = await withLog(t);
  await world.script(file('hooks/pre-receive.d/10'), logs(log, 'ran'));
  world.gate.answer = refused('no\n');
  t.equal((await world.push(['HEAD:main'])).code, 1);
  t.equal(await read(), '');
});

t.test('the other hooks have the environment that git gave, and read more than a pipe holds', async t => {
  const { world, file, log, read } = await withLog(t);
  const script = `#!/bin/sh\necho "$HOME $PATH $LC_ALL $GIT_PUSH_OPTION_0 $GIT_DIR" >${log}\nwc -l >>${log}\n`;
  await world.script(file('hooks/pre-receive.d/10'), script);
  const env = { HOME: '/h', LC_ALL: 'C', GIT_PUSH_OPTION_0: 'o', GIT_PUSH_OPTION_COUNT: '1', GIT_DIR: '.' };
  const input = `${'0'.repeat(40)} ${'1'.repeat(40)} refs/heads/odd*[name]?\\n$HOME\n`.repeat(20_000);
  const hook = await world.run(file('hooks/pre-receive'), [], { cwd: world.bare, env, input });
  t.equal(hook.code, 0);
  t.equal((await read()).replace(/ +(?=\d+\n$)/, ''), `/h ${process.env.PATH} C o .\n20000\n`);
});

for (const place of ['absolute', 'relative to the repository'] as const) {
  t.test(`under core.hooksPath, ${place}, the repository’s own hook runs too`, async t => {
    const { world, line, file, log, read } = await withLog(t);
    const site = place === 'absolute' ? join(world.folder, 'site') : file('site');
    await cp(file('hooks'), site, { recursive: true });
    await world.script(join(site, 'pre-receive.d/10'), logs(log, 'site'));
    await world.server('config', 'core.hooksPath', place === 'absolute' ? site : 'site');
    await world.script(file('hooks/pre-receive'), logs(log, 'own'));
    t.equal((await world.push(['HEAD:main'])).code, 0);
    t.equal(await read(), `site 0\n${line}own 0\n${line}`);
    t.equal(world.gate.pushes().length, 1);

    await world.script(file('hooks/pre-receive'), logs(log, 'own', 5));
    await world.commit('second');
    t.equal((await world.push(['HEAD:main'])).code, 1);
  });
}

t.test('a hook of ours both in core.hooksPath and in the repository asks once', async t => {
  const { world, file, site, log, read } = await withLog(t);
  await site();
  await world.script(file('hooks/pre-receive.d/10'), logs(log, 'folder'));
  t.equal((await world.push(['HEAD:main'])).code, 0);
  t.equal(world.gate.pushes().length, 1);
  await world.server('config', 'core.hooksPath', file('hooks'));
  await world.commit('second');
  t.equal((await world.push(['HEAD:main'])).code, 0);
  t.equal((await read()).match(/folder/g)?.length, 2);
  t.equal(world.gate.pushes().length, 2);
});

t.test('a hook in core.hooksPath asks, whatever lies in the pre-receive.d of the repository', async t => {
  const { world, file, site } = await withLog(t);
  world.gate.answer = refused('no\n');
  await site();
  const marked = '#!/bin/sh\n# softquota hook: pre-receive\nexit 0\n';
  await world.script(file('hooks/pre-receive.d/00-softquota'), marked);
  t.equal((await world.push(['HEAD:main'])).code, 1);
  t.equal(world.gate.pushes().length, 1);
});

t.test('under core.hooksPath a forge’s own hook is left to run pre-receive.d itself', async t => {
  const { world, line, file, site, log, read } = await withLog(t);
  await site();
  await makeForgeHooks(world.bare);
  await world.script(file('hooks/pre-receive.d/gitea'), logs(log, 'gitea'));
  t.equal((await world.push(['HEAD:main'])).code, 0);
  t.equal(await read(), `gitea 0\n${line}`);
  t.equal(world.gate.pushes().length, 1);
});
