/** An installation of release 0.1, from the update of the package to the first push by the new hooks. */

import { chmod, cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { hooksStatus, installHooks, isProtected } from '../../src/git/index.ts';
import { makeForgeHooks } from '../git/hooks/forge-hooks.ts';
import { Server } from '../git/hooks/server.ts';
import { Gate, type Question, refused } from './gate.ts';
import { hooksDirectory } from './world.ts';

const names = ['pre-receive', 'post-receive'] as const;
const packaged = fileURLToPath(hooksDirectory);

/** Repositories as release 0.1 left them, whose stubs read the hooks of a package, which is this version's by now. */
async function upgraded(t: Test) {
  const server = await Server.open(t);
  const gate = await Gate.open(server.path('gate.sock'));
  t.teardown(() => gate.close());
  const place = server.path('package/hooks');
  await cp(packaged, place, { recursive: true });
  const stub = async (name: string) =>
    (await readFile(new URL(`release-0.1/${name}`, import.meta.url), 'utf8')).replace(
      '@SHARED@',
      `${place}/${name}`,
    );
  const whole = (name: string) => readFile(join(place, '0.1', name), 'utf8');
  const make = async (
    path: string,
    content: (name: string) => Promise<string>,
    file = (name: string) => name,
  ) => {
    const repository = await server.repository(`git/${path}.git`);
    for (const name of names) await server.file(join(repository, 'hooks', file(name)), await content(name));
    for (const [key, value] of Object.entries({
      socket: gate.socket,
      onError: 'deny',
      lastFor: '48h',
      timeout: '1',
      owner: 'carol',
    }))
      await server.git(['config', '--file', join(repository, 'config'), `softquota.${key}`, value]);
    return repository;
  };
  const forge = await make('alice/forge', stub, name => `${name}.d/00-softquota`);
  await makeForgeHooks(forge);
  const linked = await make('alice/linked', whole);
  for (const name of names) {
    await cp(join(linked, 'hooks', name), server.path(name));
    await chmod(join(linked, 'hooks', name), 0o755);
  }
  const links = await server.repository('git/alice/links.git');
  for (const name of names) await symlink(join(place, name), join(links, 'hooks', name));
  await server.git(['config', '--file', join(links, 'config'), 'softquota.socket', gate.socket]);
  const chained = await make('alice/chained', stub);
  await server.file(
    join(chained, 'hooks/pre-receive.d/50-previous'),
    `#!/bin/sh\ncat >>${server.path('log')}\n`,
  );
  for (const file of ['promise', 'judging', 'space', 'offline', 'offline.4711'])
    await writeFile(join(chained, `softquota-${file}`), 'x\n');
  await server.git(['init', '-q', server.path('work')]);
  return {
    server,
    gate,
    place,
    links,
    chained,
    installed: [forge, linked, chained],
    push: async (repository: string, ...args: readonly string[]) => {
      await server.git(['commit', '-q', '--allow-empty', '-m', 'x'], server.path('work'));
      return server.git(['push', ...args, repository, 'HEAD:refs/heads/main'], server.path('work'));
    },
  };
}

const isAbout = (path: string, hook: string) => (question: Question) =>
  question.path === path && (question.parameters.get('hook') ?? '') === hook;

t.test('hooks of release 0.1 ask a newer package as before, until they are replaced', async t => {
  const { server, gate, links, chained, installed, push } = await upgraded(t);
  for (const repository of [...installed, links]) {
    gate.questions.length = 0;
    t.match(await push(repository), { code: 0, stderr: /main/ }, repository);
    await gate.heard(1);
    t.equal(gate.checks[0]?.parameters.get('path'), repository);
    gate.answer = refused('no\n');
    t.match(await push(repository), { code: 1, stderr: /remote: no/ });
    gate.answer = response =>
      response.writeHead(200, { 'X-Softquota-Decision': 'allowed', 'Content-Length': 0 }).end();
  }
  t.match(await readFile(server.path('log'), 'utf8'), /refs\/heads\/main\n$/, 'and the hooks after them run');
  t.match(await hooksStatus(installed), [
    { hooks: { 'pre-receive': { state: 'older' } }, leftovers: 'softquota.* settings' },
    { hooks: { 'pre-receive': { state: 'older' } } },
    { leftovers: /softquota\.\* settings, .*softquota-space/ },
  ]);
  t.notOk((await hooksStatus(installed)).some(isProtected));

  const wanted = { socket: gate.socket, client: 'nc', hookConf: server.noConf } as const;
  const results = await installHooks(installed, wanted);
  t.match(results, [
    { hooks: { 'pre-receive': { did: 'updated', file: 'hooks/pre-receive.d/00-softquota' } } },
    { hooks: { 'pre-receive': { did: 'updated' } } },
    { hooks: { 'pre-receive': { did: 'updated', previous: 'hooks/pre-receive.d/50-previous' } } },
  ]);
  t.match(
    await hooksStatus(installed),
    installed.map(() => ({
      hooks: { 'pre-receive': { state: 'ours', settings: { onError: 'deny', lastFor: 48 * 60 } } },
      leftovers: null,
    })),
    'what was chosen is taken on',
  );
  for (const repository of installed) {
    t.equal(await server.config(repository, 'softquota.owner'), 'carol', 'what is not of the hooks stays');
    t.equal(await server.config(repository, 'softquota.socket'), '');
    const all = await readdir(repository, { recursive: true });
    t.same(
      all.filter(name => name.includes('softquota') && !name.endsWith('/00-softquota')),
      [],
    );
    gate.questions.length = 0;
    const before = gate.pushes('post-receive').length;
    t.match(await push(repository), { code: 0 });
    while (gate.pushes('post-receive').length === before) await new Promise(setImmediate);
    t.same(
      gate.questions.map(({ path }) => path),
      ['/v1/push', '/v1/push'],
    );
    t.ok(gate.questions.some(isAbout('/v1/push', 'pre-receive')));
    gate.answer = refused('no\n');
    t.match(await push(repository), { code: 1, stderr: /remote: no/ });
    gate.answer = response => response.writeHead(200).end();
  }
  t.match(await installHooks([links], wanted), [
    { fault: /symbolic link, and nothing is written through a link/ },
  ]);
  await gate.close();
  t.match(await push(chained), { code: 1, stderr: /could not be checked, so this push is refused/ });
});

t.test('hook.conf of release 0.1 is taken on at installation', async t => {
  const { server, gate, installed } = await upgraded(t);
  const hookConf = server.path('hook.conf');
  await writeFile(hookConf, '# of the admin\nsocket=/s\nonError = allow\nlastFor=7d\ntimeout=1\n');
  await installHooks(installed, { socket: gate.socket, client: 'nc', hookConf });
  t.match(
    await hooksStatus(installed),
    installed.map(() => ({
      hooks: { 'pre-receive': { state: 'ours', settings: { onError: 'allow', lastFor: 7 * 24 * 60 } } },
    })),
  );
});

t.test('receive-pack of the package hands over to that of release 0.1 until it has its settings', async t => {
  const { server, gate, place, chained, push } = await upgraded(t);
  await push(chained);
  gate.questions.length = 0;
  gate.answer = refused('no\n');
  await mkdir(server.path('work/big'));
  await writeFile(
    server.path('work/big/file'),
    Buffer.alloc(200_000, 1).map((_, index) => (index * 7919) % 251),
  );
  await server.git(['add', '.'], server.path('work'));
  const program = `--receive-pack=${place}/receive-pack/git receive-pack`;
  t.match(await push(chained, program), { code: 1, stderr: /remote: no/ });
  t.ok(gate.checks.length > 0);
});
