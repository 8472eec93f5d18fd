/** Hooks of release 0.1 that nobody has replaced: each reads a hook of the package, which is newer by now. */

import { cp, lstat, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { hooksStatus, installHooks, removeHooks } from '../../src/git/index.ts';
import { makeForgeHooks } from '../git/hooks/forge-hooks.ts';
import { Server } from '../git/hooks/server.ts';
import { Gate, refused } from './gate.ts';
import { hooksDirectory } from './world.ts';

const names = ['pre-receive', 'post-receive'] as const;

async function upgraded(t: Test) {
  const server = await Server.open(t);
  const gate = await Gate.open(server.path('gate.sock'));
  t.teardown(() => gate.close());
  const place = server.path('package/hooks');
  await cp(fileURLToPath(hooksDirectory), place, { recursive: true });
  const stubbed = async (path: string, file = (name: string) => name) => {
    const repository = await server.repository(path);
    for (const name of names) {
      const stub = await readFile(new URL(`release-0.1/${name}`, import.meta.url), 'utf8');
      await server.file(join(repository, 'hooks', file(name)), stub.replace('@SHARED@', `${place}/${name}`));
    }
    await server.git(['config', '--file', join(repository, 'config'), 'softquota.onError', 'deny']);
    return repository;
  };
  const forge = await stubbed('git/alice/forge.git', name => `${name}.d/00-softquota`);
  await makeForgeHooks(forge);
  const chained = await stubbed('git/alice/chained.git');
  const linked = await server.repository('git/alice/linked.git');
  for (const name of names) await symlink(join(place, name), join(linked, 'hooks', name));
  for (const repository of [chained, linked])
    for (const name of names) {
      const log = `echo ${name} >>${server.path('log')} && cat >>${server.path('log')}`;
      await server.file(join(repository, `hooks/${name}.d/50-previous`), `#!/bin/sh\n${log}\n`);
    }
  await server.git(['init', '-q', server.path('work')]);
  return {
    server,
    gate,
    place,
    chained,
    linked,
    stubs: [forge, chained],
    push: async (repository: string, ...args: readonly string[]) => {
      await server.git(['commit', '-q', '--allow-empty', '-m', 'x'], server.path('work'));
      return server.git(['push', ...args, repository, 'HEAD:refs/heads/main'], server.path('work'));
    },
  };
}

t.test('a stub or a link of release 0.1 lets pushes pass, and the hooks after it run', async t => {
  const { server, gate, chained, linked, stubs, push } = await upgraded(t);
  gate.answer = refused('no\n');
  // Nothing else of softquota comes after it.
  const words =
    /remote: softquota: nothing is checked; an administrator has to run softquota hooks(?!.*softquota)/s;
  const passes = { code: 0, stderr: words };
  for (const repository of [...stubs, linked]) t.match(await push(repository), passes, repository);
  for (const repository of [chained, linked]) {
    await writeFile(server.path('log'), '');
    t.match(await push(repository), passes, repository);
    const ran = /^pre-receive\n\S+ \S+ refs\/heads\/main\npost-receive\n\S+ \S+ refs\/heads\/main\n$/;
    t.match(await readFile(server.path('log'), 'utf8'), ran);
    await server.file(join(repository, 'hooks/pre-receive.d/60-no'), '#!/bin/sh\nexit 3\n');
    t.match(await push(repository), { code: 1 }, 'one of them may refuse');
  }
  t.same(gate.questions, []);
});

t.test(
  'hooks of release 0.1 are known as older, and an installation replaces them in their places',
  async t => {
    const { gate, linked, place, stubs, push } = await upgraded(t);
    const packaged = await readFile(join(place, 'pre-receive'), 'utf8');
    const wanted = { socket: gate.socket, client: 'nc' } as const;
    const are = (hook: object) => [...stubs, linked].map(() => ({ hooks: { 'pre-receive': hook } }));
    t.match(await hooksStatus([...stubs, linked]), are({ state: 'older', settings: null }));
    t.match(await installHooks([...stubs, linked], wanted), [
      { hooks: { 'pre-receive': { did: 'updated', file: 'hooks/pre-receive.d/00-softquota' } } },
      { hooks: { 'pre-receive': { did: 'updated', previous: 'hooks/pre-receive.d/50-previous' } } },
      { hooks: { 'pre-receive': { did: 'updated', previous: 'hooks/pre-receive.d/50-previous' } } },
    ]);
    t.match(await hooksStatus([...stubs, linked]), are({ state: 'ours', settings: { onError: 'last' } }));
    gate.answer = refused('no\n');
    for (const repository of [...stubs, linked])
      t.match(await push(repository), { code: 1, stderr: /remote: no/ });
    t.equal(
      await readFile(join(place, 'pre-receive'), 'utf8'),
      packaged,
      'nothing is written through a link',
    );
  },
);

t.test(
  'links of release 0.1 are replaced in the folder of a forge, too, or removed; other links stay',
  async t => {
    const { gate, linked, place, stubs } = await upgraded(t);
    const [forge = ''] = stubs;
    const file = join(forge, 'hooks/pre-receive.d/00-softquota');
    await rm(file);
    await symlink(join(place, 'pre-receive'), file);
    const wanted = { socket: gate.socket, client: 'nc' } as const;
    t.match(await installHooks([forge], wanted), [{ hooks: { 'pre-receive': { did: 'updated' } } }]);
    t.ok((await lstat(file)).isFile());
    t.match(await removeHooks([linked]), [
      { hooks: { 'pre-receive': 'restored', 'post-receive': 'restored' } },
    ]);
    // Another hook with settings is no file of the package: somebody shares it.
    await symlink(file, join(linked, 'hooks/shared'));
    await rename(join(linked, 'hooks/shared'), join(linked, 'hooks/pre-receive'));
    t.match(await installHooks([linked], wanted), [{ fault: /pre-receive is a symbolic link/ }]);
  },
);

t.test('receive-pack of the package lets uploads pass, and says who gives it settings', async t => {
  const { server, gate, place, chained, push } = await upgraded(t);
  gate.answer = refused('no\n');
  await mkdir(server.path('work/big'));
  await writeFile(server.path('work/big/file'), 'x');
  await server.git(['add', '.'], server.path('work'));
  const program = `--receive-pack=${place}/receive-pack/git receive-pack`;
  const words =
    /softquota: no upload is stopped; an administrator has to run softquota hooks install --programs/;
  t.match(await push(chained, program), { code: 0, stderr: words });
  t.same(gate.questions, []);
});
