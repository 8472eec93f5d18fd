/**
 * Hooks in the repositories of forges, which replace the hooks of a repository and run folders beside them.
 */

import { writeFileSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rm, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Folder } from '../../../src/git/hooks/folder.ts';
import type { HookName } from '../../../src/git/hooks/hook.ts';
import { installInto } from '../../../src/git/hooks/install.ts';
import { wholeHooks } from '../../../src/git/hooks/shared.ts';
import {
  hooksStatus,
  installHooks,
  isProtected,
  removeHooks,
  writeForgeTemplates,
} from '../../../src/git/index.ts';
import { Gate, plain, refused } from '../../hooks/gate.ts';
import { gogsDelegate, hookContent, makeForgeHooks } from './forge-hooks.ts';
import { Server } from './server.ts';

async function open(t: Test) {
  const server = await Server.open(t);
  const gate = await Gate.open(server.path('gate.sock'));
  t.teardown(() => gate.close());
  await server.git(['init', '-q', server.path('work')]);
  const install = async (repositories: readonly string[]) =>
    installHooks(repositories, { socket: gate.socket, hookConf: server.noConf });
  return {
    server,
    gate,
    install,
    statusOf: async (repository: string) =>
      (await hooksStatus([repository], { hookConf: server.noConf })).repositories.every(isProtected),
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

t.test('in a forge’s repository the hooks outlive what the forge does to its own', async t => {
  const { server, gate, install, push, statusOf } = await open(t);
  const repository = await server.repository('git/alice/app.git');
  await makeForgeHooks(repository);
  const { repositories } = await install([repository]);
  t.match(repositories, [
    { hooks: { 'pre-receive': { did: 'installed', file: 'hooks/pre-receive.d/00-softquota' } } },
  ]);
  t.equal((await push(repository)).code, 0);
  t.equal(gate.checks.length, 1);
  await makeForgeHooks(repository);
  t.ok(await statusOf(repository), 'after the forge resynchronized its hooks');
  t.equal((await push(repository)).code, 0);
  t.equal(gate.checks.length, 2);
  gate.answer = refused('no\n');
  t.match(await push(repository), { code: 1, stderr: /remote: no/ });
  t.match(await removeHooks([repository]), [{ hooks: { 'pre-receive': 'removed' } }]);
  t.notOk((await readdir(join(repository, 'hooks/pre-receive.d'))).includes('00-softquota'));
});

t.test('a repository that a forge has not finished yet is guarded before and after', async t => {
  const { server, gate, install, push, statusOf } = await open(t);
  const repository = await server.repository('git/alice/app.git');
  await makeForgeHooks(repository);
  await rm(join(repository, 'hooks/pre-receive'));
  await rm(join(repository, 'hooks/post-receive'));
  await install([repository]);
  t.ok(await statusOf(repository));
  t.equal((await push(repository)).code, 0);
  t.equal(gate.checks.length, 1, 'asked once, though the hook lies there twice');
  await gate.heard(1);
  t.equal(gate.changes.length, 1);
  await makeForgeHooks(repository);
  t.ok(await statusOf(repository));
  t.equal((await push(repository)).code, 0);
  t.equal(gate.checks.length, 2);
});

t.test('with the template every new repository is guarded before its first push', async t => {
  const { server, gate, install, push } = await open(t);
  const first = await server.repository('git/alice/app.git');
  await makeForgeHooks(first);
  const report = await install([first]);
  const [forge] = await writeForgeTemplates([server.path('git')], report, {});
  const template = server.path('git/.softquota/template');
  t.match(forge, {
    root: server.path('git'),
    template,
    fault: null,
    lines: ['[git.config]', `init.templateDir = ${template}`],
  });
  t.same(await writeForgeTemplates([first], report, {}), [], 'a repository is no root');
  t.equal(await readFile(join(template, 'config'), 'utf8').then(text => text.includes(gate.socket)), true);

  const made = server.path('git/bob/new.git');
  const init = await server.git(['-c', `init.templateDir=${template}`, 'init', '-q', '--bare', made]);
  t.equal(init.code, 0, init.stderr);
  await makeForgeHooks(made);
  t.equal((await push(made)).code, 0);
  t.same(
    gate.checks.map(({ parameters }) => parameters.get('path')),
    [made],
  );
  const { ino } = await stat(join(template, 'config'));
  await writeForgeTemplates([server.path('git')], report, {});
  t.equal((await stat(join(template, 'config'))).ino, ino, 'doing it again changes nothing');
});

t.test('no template is written through a link', async t => {
  const { server, install } = await open(t);
  const first = await server.repository('git/alice/app.git');
  await makeForgeHooks(first);
  const report = await install([first]);
  await mkdir(server.path('elsewhere'));
  await symlink(server.path('elsewhere'), server.path('git/.softquota'));
  t.match(await writeForgeTemplates([server.path('git')], report, {}), [{ fault: /symbolic link/ }]);
  t.same(await readdir(server.path('elsewhere')), []);
  const [forge] = await writeForgeTemplates([server.path('git')], report, {
    directory: server.path('etc/template'),
  });
  t.match(forge, { template: server.path('etc/template'), fault: null });
  t.same((await readdir(server.path('etc/template'))).sort(), ['config', 'hooks']);
});

t.test('in Gogs the hooks lie in custom_hooks, and one that was there goes on', async t => {
  const { server, gate, install, push, statusOf } = await open(t);
  const repository = await server.repository('git/alice/app.git');
  const log = server.path('log');
  for (const name of ['pre-receive', 'post-receive']) {
    await server.file(join(repository, 'hooks', name), gogsDelegate(name));
  }
  await server.file(join(repository, 'custom_hooks/pre-receive'), `#!/bin/sh\ncat >>${log}\n`);
  t.notOk(await statusOf(repository));
  const report = await install([repository]);
  t.match(report.repositories, [
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
  t.equal(gate.checks.length, 1);
  t.match(await readFile(log, 'utf8'), /refs\/heads\/main\n$/);
  await gate.heard(1);
  gate.answer = refused('no\n');
  t.match(await push(repository), { code: 1, stderr: /remote: no/ });
  const [forge] = await writeForgeTemplates([server.path('git')], report, {});
  t.match(forge, { lines: [/^git config --global init\.templateDir /], fault: null });
  t.same(
    (await readdir(forge?.template ?? '')).sort(),
    ['config', 'custom_hooks', 'hooks'],
    'with its own place',
  );
  await removeHooks([repository]);
  t.match(await readFile(join(repository, 'custom_hooks/pre-receive'), 'utf8'), /cat >>/, 'it is back');
});

t.test('a hook that a forge writes while ours is put in is not lost', async t => {
  const { server } = await open(t);
  const put = async (name: string, texts: readonly (readonly [string, string])[]) => {
    const path = await server.repository(name);
    const writes = [...texts];
    const folder = await Folder.open(path);
    try {
      // By then it has looked at what is there.
      const bytes = (hook: HookName) => {
        const [file = '', text = ''] = writes.shift() ?? [];
        if (file !== '') writeFileSync(join(path, file), text, { mode: 0o755 });
        return wholeHooks.bytes(hook);
      };
      await installInto(folder, { ...wholeHooks, bytes });
    } finally {
      await folder.close();
    }
    return (file: string) => readFile(join(path, file), 'utf8');
  };
  const gogs = await put('gogs.git', [['hooks/pre-receive', gogsDelegate('pre-receive')]]);
  t.equal(await gogs('hooks/pre-receive'), gogsDelegate('pre-receive'));
  t.equal(await gogs('custom_hooks/pre-receive'), await hookContent('pre-receive'));

  const theirs = '#!/bin/sh\nexit 0\n';
  const other = await put('other.git', [['hooks/pre-receive', theirs]]);
  t.equal(await other('hooks/pre-receive.d/50-previous'), theirs);
  t.equal(await other('hooks/pre-receive'), await hookContent('pre-receive'));

  const ours = '#!/bin/sh\n# softquota hook: pre-receive\n';
  const path = await server.repository('old.git');
  const folder = await Folder.open(path);
  t.teardown(() => folder.close());
  await server.file(join(path, 'hooks/pre-receive'), ours);
  const written = [theirs];
  const bytes = (hook: HookName) => {
    for (const text of written.splice(0)) writeFileSync(join(path, 'hooks/pre-receive'), text);
    return wholeHooks.bytes(hook);
  };
  await installInto(folder, { ...wholeHooks, bytes });
  t.equal(await readFile(join(path, 'hooks/pre-receive.d/50-previous'), 'utf8'), theirs, 'over an older one');
  t.same(
    (await readdir(join(path, 'hooks'))).filter(name => name.startsWith('.')),
    [],
  );
});

t.test('an internal push of a forge passes, and a forged one is asked about', async t => {
  const { server, gate, install, push } = await open(t);
  gate.answer = refused('no\n');
  const repository = await server.repository('git/alice/app.git');
  await makeForgeHooks(repository);
  await install([repository]);
  const internal = { GITEA_INTERNAL_PUSH: 'true' };
  t.equal((await push(repository, 'HEAD:refs/pull/7/head', internal)).code, 0, 'a pull request');
  t.equal(gate.checks.length, 0);
  const cases: readonly [string, string, Readonly<Record<string, string>>][] = [
    ['without the variable', 'HEAD:refs/pull/8/head', {}],
    ['a variable with another value', 'HEAD:refs/pull/8/head', { GITEA_INTERNAL_PUSH: 'false' }],
    ['a branch', 'HEAD:refs/heads/main', internal],
    ['a name that only begins like it', 'HEAD:refs/pull/8/head/x', internal],
    ['no number', 'HEAD:refs/pull/8a/head', internal],
    ['the merge', 'HEAD:refs/pull/8/merge', internal],
  ];
  for (const [name, refs, env] of cases) {
    t.equal((await push(repository, refs, env)).code, 1, name);
  }
  t.equal(gate.checks.length, cases.length);
  const both = ['push', repository, 'HEAD:refs/pull/9/head', 'HEAD:refs/heads/main'];
  t.equal((await server.git(both, server.path('work'), internal)).code, 1, 'both together');

  const plain = await server.repository('git/bob/site.git');
  await install([plain]);
  t.equal((await push(plain, 'HEAD:refs/pull/7/head', internal)).code, 1, 'where no forge runs it');
  await server.file(join(plain, 'hooks/pre-receive.d/00-softquota'), await hookContent('pre-receive'));
  t.equal((await push(plain, 'HEAD:refs/pull/8/head', internal)).code, 1, 'where our own hook runs it');
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
  t.equal(gate.checks.length, 1);
});

t.test('GitLab’s global hook asks for the owner by the project where the path has none', async t => {
  const { server, gate, push } = await open(t);
  const repository = await server.repository('git/@hashed/ab/cd/abcd.git');
  const custom = server.path('custom_hooks');
  await server.file(join(custom, 'pre-receive.d/00-softquota'), await hookContent('pre-receive'));
  // Gitaly runs it so, whatever the repository's own hooks are.
  await server.file(
    join(repository, 'hooks/pre-receive'),
    `#!/bin/sh\nexec ${custom}/pre-receive.d/00-softquota "$@"\n`,
  );
  await server.git(['config', '--file', join(repository, 'config'), 'softquota.socket', gate.socket]);
  const env = {
    GL_REPOSITORY: 'project-7',
    GL_PROJECT_PATH: 'acme/team/app',
    GL_USERNAME: 'ann',
    GL_ID: 'user-3',
  };
  gate.answer = refused('Quota exceeded.\nSecond line.\n');
  t.match(await push(repository, 'HEAD:refs/heads/main', env), {
    code: 1,
    stderr: /remote: GL-HOOK-ERR: Quota exceeded\.\s+remote: GL-HOOK-ERR: Second line\./,
  });
  t.same(
    gate.checks.map(({ parameters }) => parameters.get('path')),
    [repository],
  );

  gate.answer = (response, question) =>
    (question.parameters.has('path') ? plain(404) : refused('acme has none left\n'))(response, question);
  t.match(await push(repository, 'HEAD:refs/heads/main', env), {
    code: 1,
    stderr: /GL-HOOK-ERR: acme has none left/,
  });
  const last = gate.checks.at(-1)?.parameters;
  t.same(
    [last?.get('owner'), last?.get('subject'), last?.get('actor')],
    ['acme', 'size:repos:private', 'ann'],
  );

  const byOwner = gate.answer;
  gate.answer = plain(503);
  const list = `softquota refused\t1\t${new Date().toISOString().slice(0, 19)}Z\tCASE=fold\n`;
  const published = async (text: string) => {
    await rm(server.path('gate.refused'), { force: true });
    await server.file(server.path('gate.refused'), `${list}${text}`, 0o644);
    return push(repository, 'HEAD:refs/heads/main', env);
  };
  t.match(await published('owner\tacme\tsize:repos:private\tacme has none left\n'), {
    code: 1,
    stderr: /GL-HOOK-ERR: acme has none left/,
  });
  t.equal((await published('owner\tothers\tsize:repos:private\tfull\n')).code, 0, 'another owner');
  t.equal((await published(`path\t${repository}\tfull\n`)).code, 1, 'by the path');

  await server.file(join(repository, 'hooks/pre-receive'), await hookContent('pre-receive'));
  await published('owner\tacme\tsize:repos:private\tacme has none left\n');
  gate.answer = byOwner;
  t.equal(
    (await push(repository, 'HEAD:refs/heads/main', env)).code,
    0,
    'a hook in the repository believes no variable',
  );
});
