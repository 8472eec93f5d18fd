/** Repositories that pushers reach by another path than the one that the daemon knows. */

import { mkdir, realpath, rename, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Clone } from './clone.ts';
import { quarantinesIn } from './left-behind.ts';
import { must } from './run.ts';
import { Server } from './server.ts';

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
