/** Taking the hooks out leaves the repository as it was. */

import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { hooksStatus, installHooks, removeHooks } from '../../../src/git/index.ts';
import { Server, snapshot } from './server.ts';

const theirs = '#!/bin/sh\nexit 0\n';
const delegate = '#!/bin/sh\nfor h in hooks/pre-receive.d/*; do "$h"; done\n';

for (const [name, prepare] of Object.entries({
  'without hooks': async () => {},
  'with hooks of its own': async (server: Server, repository: string) => {
    await server.file(join(repository, 'hooks/pre-receive'), theirs, 0o775);
    await server.file(join(repository, 'hooks/post-receive'), `${theirs}# post\n`, 0o644);
  },
  'with a folder of hooks': async (server: Server, repository: string) => {
    await server.file(join(repository, 'hooks/pre-receive'), theirs);
    await server.file(join(repository, 'hooks/pre-receive.d/10-other'), theirs);
  },
  'with a forge’s hook': async (server: Server, repository: string) => {
    await server.file(join(repository, 'hooks/pre-receive'), delegate);
    await server.file(join(repository, 'hooks/pre-receive.d/gitea'), theirs);
  },
})) {
  t.test(`a repository ${name} is after install and remove what it was before`, async t => {
    const server = await Server.open(t);
    const repository = await server.repository('app.git');
    await prepare(server, repository);
    const before = await snapshot(repository);
    await installHooks([repository], { socket: '/s', client: 'nc', hookConf: server.noConf });
    t.notSame(await snapshot(repository), before);
    const [result] = await removeHooks([repository]);
    t.match(result, { repository });
    t.same(await snapshot(repository), before);
    t.match(await removeHooks([repository]), [
      { hooks: { 'pre-receive': 'absent', 'post-receive': 'absent' } },
    ]);
    t.same(await snapshot(repository), before);
  });
}

t.test('hooks of other people are not touched', async t => {
  const server = await Server.open(t);
  const repository = await server.repository('app.git');
  await installHooks([repository], { socket: '/s', client: 'nc', hookConf: server.noConf });
  await writeFile(join(repository, 'hooks/pre-receive'), theirs);
  await chmod(join(repository, 'hooks/pre-receive'), 0o755);
  t.match(await hooksStatus([repository]), [
    { hooks: { 'pre-receive': { state: 'foreign' }, 'post-receive': { state: 'ours' } } },
  ]);
  t.match(await removeHooks([repository, server.path('none.git')]), [
    { hooks: { 'pre-receive': 'absent', 'post-receive': 'removed' } },
    { fault: 'no such file or directory (ENOENT)' },
  ]);
  t.match(await snapshot(join(repository, 'hooks')), { 'pre-receive': /exit 0/ });
});
