/** Directories that are repositories and get the hooks. */

import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { findRepositories } from '../../../src/git/index.ts';
import { encodePath } from '../../../src/layout/index.ts';
import { mountTypeless } from '../../typeless.ts';
import { Server } from './server.ts';

t.test('every bare repository below the roots is found once, at any depth, in order', async t => {
  const server = await Server.open(t);
  const paths = [];
  for (const name of ['z.git', 'alice/app.git', 'alice/deep/er/no-suffix', 'bob/ü.git']) {
    paths.push(await server.repository(name));
  }
  const roots = [server.root, server.path('alice'), server.path('z.git')];
  t.same(await findRepositories(roots), { repositories: paths.sort(), workingCopies: [], unread: [] });
});

t.test('nothing inside a repository, behind a link, or in a working copy is one', async t => {
  const server = await Server.open(t);
  const real = await server.repository('alice/app.git');
  await server.git(['init', '-q', '--bare', join(real, 'inner.git')]);
  await server.git(['init', '-q', server.path('alice/copy')]);
  await mkdir(server.path('alice/half/objects'), { recursive: true });
  await writeFile(server.path('alice/half/HEAD'), '');
  await symlink(real, server.path('alice/link.git'));
  await symlink(server.root, server.path('alice/loop'));
  const { repositories, workingCopies } = await findRepositories([server.root]);
  t.same(repositories, [real]);
  t.same(workingCopies, [server.path('alice/copy/.git')], 'which is named');
});

t.test('a root may be a link, and what lies there has its physical path', async t => {
  const server = await Server.open(t);
  const real = await server.repository('srv/app.git');
  await symlink(server.path('srv'), server.path('git'));
  t.same((await findRepositories([server.path('git')])).repositories, [real]);
});

t.test('a root that is not there is told, and the others are searched', async t => {
  const server = await Server.open(t);
  const real = await server.repository('app.git');
  const missing = server.path('missing');
  t.same(await findRepositories([missing, server.root]), {
    repositories: [real],
    workingCopies: [],
    unread: [{ path: missing, reason: 'no such file or directory (ENOENT)', hangs: false }],
  });
});

t.test('a name that is not UTF-8 leads back to its bytes', async t => {
  const server = await Server.open(t);
  const odd = Buffer.concat([Buffer.from(`${server.root}/odd`), Buffer.from([0xff]), Buffer.from('.git')]);
  await mkdir(odd);
  for (const name of ['objects', 'refs', 'HEAD']) await mkdir(Buffer.concat([odd, Buffer.from(`/${name}`)]));
  const [found] = (await findRepositories([server.root])).repositories;
  t.same(encodePath(found ?? ''), odd);
});

t.test('a directory with such a name takes no others along where the file system tells no types', async t => {
  const server = await Server.open(t);
  const root = mountTypeless(t);
  const names = ['app.git', 'bob/ü.git'];
  for (const name of names) await server.git(['init', '-q', '--bare', join(root, name)]);
  await mkdir(Buffer.concat([Buffer.from(`${root}/bob/`), Buffer.from([0xff])]));
  await mkdir(join(root, 'carol/é'), { recursive: true });
  const { repositories, unread } = await findRepositories([root]);
  t.same({ repositories, unread }, { repositories: names.map(name => join(root, name)), unread: [] });
});

t.test('a directory that cannot be read is told with its path', async t => {
  const server = await Server.open(t);
  const real = await server.repository('app.git');
  const closed = server.path('closed');
  await mkdir(closed);
  await chmod(closed, 0);
  const { repositories, unread } = await findRepositories([server.root]);
  t.same(repositories, [real]);
  // root reads everything
  const expected =
    process.getuid?.() === 0 ? [] : [{ path: closed, reason: 'permission denied (EACCES)', hangs: false }];
  t.same(unread, expected);
});
