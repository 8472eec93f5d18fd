/**
 * Repositories whose users put something else where root looks: nothing is followed, and nothing is waited
 * for.
 */

import { chmod, chown, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { survey } from '../../../src/doctor/index.ts';
import { readFacts } from '../../../src/git/hooks/config.ts';
import { Folder } from '../../../src/git/hooks/folder.ts';
import { hooksPathFinder } from '../../../src/git/hooks/inspect.ts';
import { hooksStatus, installHooks, isProtected, removeHooks } from '../../../src/git/index.ts';
import { run } from '../../hooks/world.ts';
import { Server } from './server.ts';

const wanted = { socket: '/run/softquota/gate.sock', client: 'nc' } as const;

async function hostile(t: Test) {
  const server = await Server.open(t);
  const repository = await server.repository('mallory/app.git');
  const at = (path: string): string => join(repository, path);
  /** Faults of all three commands; a look that waited would let the test's time run out. */
  const faults = async () => {
    const status = await hooksStatus([repository]);
    const installed = await installHooks([repository], wanted);
    const all = [...status, ...installed, ...(await removeHooks([repository]))];
    return all.map(result => ('fault' in result ? result.fault : null));
  };
  const pipe = async (path: string): Promise<void> => {
    await rm(path, { force: true });
    t.match(await run('mkfifo', [path]), { code: 0 });
  };
  return { server, repository, at, faults, pipe };
}

t.test('what a configuration includes is not opened', async t => {
  const { server, repository, at, pipe } = await hostile(t);
  const secret = server.path('secret');
  await writeFile(secret, '[core]\n\thooksPath = /the/secret\n', { mode: 0o600 });
  await pipe(server.path('pipe'));
  for (const file of [secret, server.path('pipe'), '/etc/shadow']) {
    for (const section of ['include', 'includeIf "gitdir:/**"']) {
      await writeFile(at('config'), `[core]\n\tbare = true\n[${section}]\n\tpath = ${file}\n`);
      t.match(await hooksStatus([repository]), [{ hooksPath: null }], file);
    }
  }
  t.match(await installHooks([repository], wanted), [{ hooksPath: null }]);
});

t.test('a configuration that is a pipe, a link, a device, or very large is a fault', async t => {
  const { at, faults, pipe } = await hostile(t);
  // Taking hooks out needs no configuration.
  const fault = (words: RegExp) => [words, words, null];
  await pipe(at('config'));
  t.match(await faults(), fault(/app\.git\/config is not a file$/));
  await rm(at('config'));
  await symlink('/etc/shadow', at('config'));
  t.match(await faults(), fault(/config is a symbolic link/));
  await rm(at('config'));
  t.match(await run('mknod', [at('config'), 'c', '1', '5']), { code: 0 });
  t.match(await faults(), fault(/config is not a file$/));
  await rm(at('config'));
  await writeFile(at('config'), `[core]\n${'#'.repeat(1024 * 1024)}\n`);
  t.match(await faults(), fault(/config is larger than 1 MiB$/));
});

t.test('a hook that is a pipe, a device, or very large is a fault, and no hook of ours', async t => {
  const { repository, at, faults, pipe } = await hostile(t);
  for (const name of ['hooks/pre-receive', 'hooks/post-receive.d/00-softquota']) {
    await mkdir(at('hooks/post-receive.d'), { recursive: true });
    await pipe(at(name));
    t.match((await faults()).slice(1), [/is not a regular file$/, /is not a regular file$/], name);
    await rm(at(name));
  }
  await pipe(at('pipe'));
  await symlink('../pipe', at('hooks/pre-receive'));
  t.match(await hooksStatus([repository]), [{ hooks: { 'pre-receive': { state: 'absent' } } }]);
  await rm(at('hooks/pre-receive'));
  await writeFile(at('hooks/pre-receive'), Buffer.alloc(1024 * 1024 + 1), { mode: 0o755 });
  t.match(await faults(), [
    null,
    /hooks\/pre-receive is larger than 1 MiB: move it to pre-receive\.d\/50-previous, where it keeps running/,
    null,
  ]);
});

t.test('the configuration of an owner is read with the owner’s rights, without what it includes', async t => {
  const { server, repository, pipe } = await hostile(t);
  const home = server.path('home');
  const passwd = server.path('passwd');
  const [mallory, alice] = [65_534, 65_533];
  await writeFile(passwd, `mallory:x:${mallory}:${mallory}::${home}:/bin/sh\n`);
  await chmod(server.root, 0o755);
  await mkdir(home);
  await chown(repository, mallory, mallory);
  const others = server.path('others');
  await writeFile(others, '[core]\n\thooksPath = /of/alice\n', { mode: 0o600 });
  await chown(others, alice, alice);
  const found = async () => {
    const folder = await Folder.open(repository);
    try {
      return await hooksPathFinder(passwd)(folder, readFacts(folder));
    } finally {
      await folder.close();
    }
  };
  const file = join(home, '.gitconfig');
  await symlink(others, file);
  t.equal(await found(), null, 'a link to what only somebody else may read');
  await rm(file);
  await writeFile(file, `[include]\n\tpath = ${others}\n`);
  t.equal(await found(), null);
  await pipe(file);
  t.equal(await found(), null);
  await rm(file);
  await writeFile(file, '[core]\n\thooksPath = ~/hooks\n');
  t.match(await found(), { path: '~/hooks', from: file, directory: join(home, 'hooks'), ours: false });
});

t.test('a look at what lies there opens no pipe, and no file that a repository’s user chose', async t => {
  const { server, repository, at, pipe } = await hostile(t);
  const hook = at('hooks/pre-receive.d/gitea');
  await mkdir(at('hooks/pre-receive.d'));
  await pipe(hook);
  t.match(await survey(server.root), { layout: 'owners' });
  await rm(hook);
  await pipe(server.path('app.ini'));
  for (const file of [server.path('app.ini'), '/etc/shadow']) {
    await writeFile(hook, `#!/bin/sh\n/usr/bin/gitea hook --config='${file}' pre-receive\n`);
    t.match(await survey(server.root), { layout: 'gitea', root: server.root }, file);
  }
  t.ok(repository);
});

t.test('a repository of GitLab gets no hooks, and is not said to be protected', async t => {
  const server = await Server.open(t);
  const hash = '6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b';
  const hashed = await server.repository(`@hashed/6b/86/${hash}.git`);
  const named = await server.repository('group/project.git');
  const plain = await server.repository('alice/app.git');
  await server.git(['config', '--file', join(named, 'config'), 'gitlab.fullpath', 'group/project']);
  const installed = await installHooks([hashed, named, plain], wanted);
  t.match(installed, [
    {
      fault:
        /^a GitLab repository \(it is in @hashed\): GitLab does not run its hooks, so no push is checked/,
    },
    {
      fault:
        /^a GitLab repository \(its config has gitlab\.fullpath; if GitLab no longer serves it, remove that\)/,
    },
    { hooks: { 'pre-receive': { did: 'installed' } } },
  ]);
  const found = await hooksStatus([hashed, named, plain]);
  t.match(found, [{ gitlab: /@hashed/ }, { gitlab: /fullpath/ }, { gitlab: null }]);
  t.same(found.map(isProtected), [false, false, true]);
});
