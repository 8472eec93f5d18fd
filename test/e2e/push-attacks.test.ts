/**
 * Other ways to a repository: directories in it that git would take for one, links and mounts. No push passes
 * the limit through them.
 */

import { randomBytes } from 'node:crypto';
import { mkdir, realpath, rename, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { some } from '../run-length.ts';
import { Clone } from './clone.ts';
import { counted } from './count.ts';
import { quarantinesIn } from './left-behind.ts';
import { must, run } from './run.ts';
import { Server } from './server.ts';
import { transports } from './transports.ts';

/** Refs below a name that make that name a repository for git, and how they are brought. */
const refsOfRepository = (name: string, tip: string): Readonly<Record<string, readonly string[]>> => ({
  'one after the other': [`${name}/HEAD`, `${name}/objects/a`, `${name}/refs/a`],
  'HEAD last': [`${name}/refs/a`, `${name}/objects/a`, `${name}/HEAD`],
  'with a common directory': [
    `${name}/HEAD`,
    `${name}/commondir`,
    `${name}/${tip}/objects/a`,
    `${name}/${tip}/refs/a`,
  ],
});

/** Tells whether git takes this directory for a repository. */
async function isRepository(path: string): Promise<boolean> {
  const { code } = await run('git', ['--git-dir', path, 'rev-parse', '--git-dir']);
  return code === 0;
}

/** alice with a worktree and a submodule in her repository. */
async function open(t: Test, ...install: readonly string[]) {
  const server = await Server.open(t);
  const bare = await server.repository('alice/app');
  const clone = await Clone.of(server, bare);
  await clone.commit(100);
  await clone.git('push', '-q', 'origin', 'main');
  await must('git', ['-C', bare, 'config', 'core.logAllRefUpdates', 'true']);
  await must('git', ['-C', bare, 'worktree', 'add', '-q', '-b', 'deploy', join(server.folder, 'deploy')]);
  await must('git', ['init', '-q', '--bare', join(bare, 'modules/lib')]);
  await server.installHooks(...install);
  await server.scan();
  return { server, bare, clone };
}

t.test('refs never make a folder of a repository a repository, also below the limit', async t => {
  const { bare, clone } = await open(t);
  const tip = await clone.git('rev-parse', 'main');
  const name = () => randomBytes(6).toString('hex');

  for (const top of some(['refs/heads', 'refs/tags', 'refs/notes'], 3)) {
    for (const [how, refs] of Object.entries(refsOfRepository(`${top}/${name()}`, tip))) {
      const said: string[] = [];
      for (const ref of refs) said.push((await clone.push([`main:${ref}`])).said);
      t.match(said.join('\n'), /\S/, `${top}, ${how}: one of them is refused, with the reason`);
    }
  }
  const packed = `refs/heads/${name()}`;
  await clone.push([`main:${packed}/objects/a`, `main:${packed}/refs/a`]);
  await must('git', ['-C', bare, 'pack-refs', '--all']);
  t.match(await clone.push([`main:${packed}/HEAD`]), { code: 1, said: /\S/ }, 'where the others are packed');
  const folders = await must('find', [
    join(bare, 'refs'),
    join(bare, 'logs'),
    '-name',
    'HEAD',
    '-printf',
    '%h\\n',
  ]);
  for (const folder of folders.split('\n').filter(path => path !== '' && path !== join(bare, 'logs')))
    t.notOk(await isRepository(folder), folder.slice(bare.length));
  const harmless = ['a/objects/b', 'a/refs/b', 'c/HEAD', 'd/commondir'];
  t.equal(
    (await clone.push(harmless.map(ref => `main:refs/heads/${ref}`))).code,
    0,
    'others may have such names',
  );
});

/** Pushes a small commit to each of the other directories, and gives those that took it. */
async function taken(t: Test, server: Server, bare: string, clone: Clone): Promise<readonly string[]> {
  const passed: string[] = [];
  for (const name of some(['file paths', 'ssh', 'http', 'nginx'] as const, 2)) {
    const transport = await transports[name](t, server);
    for (const place of ['', 'worktrees/deploy', 'modules/lib', 'refs/heads/x', 'logs/refs/heads/x']) {
      await clone.git('remote', 'set-url', 'origin', transport.url(join(bare, place)));
      await clone.commit(10);
      const { code } = await clone.push([`HEAD:refs/heads/${randomBytes(6).toString('hex')}`], {
        env: transport.env,
      });
      if (code === 0) passed.push(`${place} over ${name}`);
    }
  }
  return passed;
}

t.test('over the limit nothing passes through another directory of the repository', async t => {
  const { server, bare, clone } = await open(t);
  for (const ref of ['x/HEAD', 'x/objects/a', 'x/refs/a']) await clone.push([`main:refs/heads/${ref}`]);
  await clone.commit(1_200_000);
  t.equal((await clone.push(['main'])).code, 0);
  await server.usageIs('alice', used => used > 1_200_000);
  t.strictSame(await taken(t, server, bare, clone), []);
  const stored = await counted(bare);
  t.ok(stored > 1_200_000);
  await server.usageIs('alice', used => used === stored);
});

t.test('with onError = deny and no daemon nothing passes there either', async t => {
  const { server, bare, clone } = await open(t, '--on-error', 'deny');
  for (const ref of ['x/HEAD', 'x/objects/a', 'x/refs/a']) await clone.push([`main:refs/heads/${ref}`]);
  await server.stop('SIGKILL');
  t.strictSame(await taken(t, server, bare, clone), []);
});

/** Refused and left in an empty quarantine, or in none. */
async function isRefused(t: Test, bare: string, clone: Clone): Promise<void> {
  await clone.commit(100);
  const { code, said } = await clone.push();
  t.equal(code, 1);
  t.match(said, /^Quota exceeded: alice/);
  t.strictSame(await quarantinesIn(bare), []);
}

t.test('a server whose root is a link refuses as any other', async t => {
  const server = await Server.open(t, { started: false });
  const [root, disk] = [join(server.folder, 'git'), join(server.folder, 'disk')];
  await rename(root, disk);
  await symlink(disk, root);
  const bare = await server.repository('alice/app');
  await server.installHooks();
  await server.start();
  const clone = await server.filled('alice/app', 1_200_000);
  await isRefused(t, bare, clone);
  await clone.git('remote', 'set-url', 'origin', await realpath(bare));
  await isRefused(t, bare, clone);
});

t.test('a repository that is mounted at another path as well is refused there as anywhere', async t => {
  const server = await Server.open(t, { repositories: ['alice/app'] });
  const bare = server.path('alice/app');
  const place = join(server.folder, 'mounted.git');
  await mkdir(place);
  await must('mount', ['--bind', bare, place]);
  t.teardown(() => must('umount', [place]));
  const clone = await server.filled('alice/app', 1_200_000);
  await isRefused(t, bare, clone);
  await clone.git('remote', 'set-url', 'origin', place);
  await isRefused(t, bare, clone);
});
