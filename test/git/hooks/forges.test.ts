/**
 * Hooks in the repositories of forges, which replace the hooks of a repository and run folders beside them.
 */

import { writeFileSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rm, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Folder } from '../../../src/git/hooks/folder.ts';
import { defaultSettings } from '../../../src/git/hooks/hook.ts';
import { installInto } from '../../../src/git/hooks/install.ts';
import {
  filled,
  hooksStatus,
  installHooks,
  isProtected,
  removeHooks,
  writeForgeTemplates,
} from '../../../src/git/index.ts';
import { Gate, refused } from '../../hooks/gate.ts';
import { gogsDelegate, makeForgeHooks, makeSoftServeHooks } from './forge-hooks.ts';
import { Server } from './server.ts';

async function open(t: Test) {
  const server = await Server.open(t);
  const gate = await Gate.open(server.path('gate.sock'));
  t.teardown(() => gate.close());
  const wanted = { socket: gate.socket, client: 'nc' } as const;
  await server.git(['init', '-q', server.path('work')]);
  const install = async (repositories: readonly string[]) => installHooks(repositories, wanted);
  return {
    server,
    gate,
    wanted,
    install,
    statusOf: async (repository: string) => (await hooksStatus([repository])).every(isProtected),
    push: async (
      repository: string,
      refs = 'HEAD:refs/heads/main',
      env: Readonly<Record<string, string>> = {},
    ) => {
      await server.git(['commit', '-q', '--allow-empty', '-m', 'x'], server.path('work'));
      return server.git(['push', repository, refs], server.path('work'), env);
    },
  };
}

t.test('a repository that a forge has not finished yet is guarded before and after', async t => {
  const { server, gate, install, push, statusOf } = await open(t);
  const repository = await server.repository('git/alice/app.git');
  await makeForgeHooks(repository);
  await rm(join(repository, 'hooks/pre-receive'));
  await rm(join(repository, 'hooks/post-receive'));
  await install([repository]);
  t.ok(await statusOf(repository));
  t.equal((await push(repository)).code, 0);
  t.equal(gate.pushes().length, 1, 'asked once, though the hook lies there twice');
  await gate.heard(1);
  t.equal(gate.pushes('post-receive').length, 1);
  await makeForgeHooks(repository);
  t.ok(await statusOf(repository));
  t.equal((await push(repository)).code, 0);
  t.equal(gate.pushes().length, 2);
});

t.test('with the template every new repository is guarded before its first push', async t => {
  const { server, gate, wanted, install, push } = await open(t);
  const first = await server.repository('git/alice/app.git');
  await makeForgeHooks(first);
  const report = await install([first]);
  const [forge] = await writeForgeTemplates([server.path('git')], report, wanted);
  const template = server.path('git/.softquota/template');
  t.match(forge, {
    root: server.path('git'),
    template,
    fault: null,
    lines: ['[git.config]', `init.templateDir = ${template}`],
  });
  t.same(await writeForgeTemplates([first], report, wanted), [], 'a repository is no root');
  t.same(await readdir(template), ['hooks'], 'without settings for each new repository');

  const made = server.path('git/bob/new.git');
  const init = await server.git(['-c', `init.templateDir=${template}`, 'init', '-q', '--bare', made]);
  t.equal(init.code, 0, init.stderr);
  await makeForgeHooks(made);
  t.equal((await push(made)).code, 0);
  t.same(
    gate.pushes().map(({ parameters }) => parameters.get('directory')),
    [made],
  );
  const guard = join(template, 'hooks/pre-receive.d/00-softquota');
  const { ino } = await stat(guard);
  await writeForgeTemplates([server.path('git')], report, wanted);
  t.equal((await stat(guard)).ino, ino, 'doing it again changes nothing');
});

t.test(
  'soft-serve gets its own setting for new repositories, which are guarded before its hooks come',
  async t => {
    const { server, gate, wanted, install, push, statusOf } = await open(t);
    const first = await server.repository('git/app.git');
    await makeSoftServeHooks(first);
    const report = await install([first]);
    t.ok(await statusOf(first));
    const [forge] = await writeForgeTemplates([server.path('git')], report, wanted);
    const template = server.path('git/.softquota/template');
    const setting = `git config --global init.templateDir ${template}`;
    t.match(forge, { where: 'Run this as the user of soft-serve', lines: [setting], fault: null });
    const home = server.path('home');
    await mkdir(home);
    const env = { HOME: home, GIT_CONFIG_GLOBAL: join(home, '.gitconfig') };
    await server.git(['config', '--global', 'init.templateDir', template], undefined, env);
    const made = server.path('git/team/new.git');
    t.equal((await server.git(['init', '-q', '--bare', made], undefined, env)).code, 0);
    await makeSoftServeHooks(made);
    gate.answer = refused('no\n');
    for (const repository of [first, made])
      t.match(await push(repository), { code: 1, stderr: /remote: no/ });
    t.same(
      gate.pushes().map(({ parameters }) => parameters.get('directory')),
      [first, made],
    );
  },
);

t.test('no template is written through a link', async t => {
  const { server, wanted, install } = await open(t);
  const first = await server.repository('git/alice/app.git');
  await makeForgeHooks(first);
  const report = await install([first]);
  await mkdir(server.path('elsewhere'));
  await symlink(server.path('elsewhere'), server.path('git/.softquota'));
  t.match(await writeForgeTemplates([server.path('git')], report, wanted), [{ fault: /symbolic link/ }]);
  t.same(await readdir(server.path('elsewhere')), []);
});

t.test('in Gogs the hooks lie in custom_hooks, and one that was there goes on', async t => {
  const { server, gate, wanted, install, push, statusOf } = await open(t);
  const repository = await server.repository('git/alice/app.git');
  const log = server.path('log');
  for (const name of ['pre-receive', 'post-receive']) {
    await server.file(join(repository, 'hooks', name), gogsDelegate(name));
  }
  await server.file(join(repository, 'custom_hooks/pre-receive'), `#!/bin/sh\ncat >>${log}\n`);
  t.notOk(await statusOf(repository));
  const report = await install([repository]);
  t.match(report, [
    {
      hooks: {
        'pre-receive': {
          file: 'custom_hooks/pre-receive',
          previous: 'custom_hooks/pre-receive.d/50-previous',
        },
        'post-receive': { file: 'custom_hooks/post-receive', previous: null },
      },
    },
  ]);
  t.ok(await statusOf(repository));
  t.equal((await push(repository)).code, 0);
  t.equal(gate.pushes().length, 1);
  t.match(await readFile(log, 'utf8'), /refs\/heads\/main\n$/);
  await gate.heard(1);
  gate.answer = refused('no\n');
  t.match(await push(repository), { code: 1, stderr: /remote: no/ });
  const [forge] = await writeForgeTemplates([server.path('git')], report, wanted);
  t.match(forge, { lines: [/^git config --global init\.templateDir /], fault: null });
  t.same((await readdir(forge?.template ?? '')).sort(), ['custom_hooks', 'hooks'], 'with its own place');
  await removeHooks([repository]);
  t.match(await readFile(join(repository, 'custom_hooks/pre-receive'), 'utf8'), /cat >>/, 'it is back');
});

t.test('a hook that a forge writes while ours is put in is not lost', async t => {
  const { server, wanted } = await open(t);
  const ours = filled('pre-receive', { ...defaultSettings, ...wanted }).toString();
  /** By the time at which the settings are read, the installation has looked at what is there. */
  const put = async (name: string, file: string, text: string, before?: string) => {
    const path = await server.repository(name);
    if (before !== undefined) await server.file(join(path, 'hooks/pre-receive'), before);
    let isWritten = false;
    const settings = {
      client: wanted.client,
      get socket() {
        if (!isWritten) writeFileSync(join(path, file), text, { mode: 0o755 });
        isWritten = true;
        return wanted.socket;
      },
    };
    const folder = await Folder.open(path);
    try {
      await installInto(folder, settings);
    } finally {
      await folder.close();
    }
    t.same(
      (await readdir(join(path, 'hooks'))).filter(each => each.startsWith('.')),
      [],
    );
    return (each: string) => readFile(join(path, each), 'utf8');
  };
  const gogs = await put('gogs.git', 'hooks/pre-receive', gogsDelegate('pre-receive'));
  t.equal(await gogs('hooks/pre-receive'), gogsDelegate('pre-receive'));
  t.equal(await gogs('custom_hooks/pre-receive'), ours);

  const theirs = '#!/bin/sh\nexit 0\n';
  const other = await put('other.git', 'hooks/pre-receive', theirs);
  t.equal(await other('hooks/pre-receive.d/50-previous'), theirs);
  t.equal(await other('hooks/pre-receive'), ours);

  const old = await put('old.git', 'hooks/pre-receive', theirs, '#!/bin/sh\n# softquota hook: pre-receive\n');
  t.equal(await old('hooks/pre-receive.d/50-previous'), theirs, 'over an older one');
});

t.test('an AGit push is asked about', async t => {
  const { server, gate, install, push } = await open(t);
  const repository = await server.repository('git/alice/app.git');
  await makeForgeHooks(repository);
  await server.git(['config', '--file', join(repository, 'config'), 'receive.procReceiveRefs', 'refs/for']);
  // It answers that it took the ref, as a forge does.
  await server.file(
    join(repository, 'hooks/proc-receive'),
    `#!/bin/sh
printf '000eversion=1\\n0000'
ref=$(dd bs=1 count=400 2>/dev/null | tr -d '\\000' | grep -o 'refs/for/[a-z/]*' | head -1)
line="ok $ref"
printf '%04x%s\\n0000' $((\${#line} + 5)) "$line"
`,
  );
  await chmod(join(repository, 'hooks/proc-receive'), 0o755);
  await install([repository]);
  gate.answer = refused('no\n');
  t.match(await push(repository, 'HEAD:refs/for/main/topic'), { code: 1, stderr: /remote: no/ });
  t.equal(gate.pushes().length, 1);
});
