/**
 * gitolite3 over ssh: what its users read, who they are to softquota, and the hooks in repositories to come.
 */

import { chmod, readFile, readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { oddKeys } from '../api/keys.ts';
import { Gitolite } from './gitolite.ts';
import { Server } from './server.ts';

async function withGitolite(t: Test, storage: Readonly<Record<string, string>>) {
  const server = await Server.open(t, {
    ini: {
      'quota.default': { TOTAL: '150k' },
      'storage.repos': storage,
      'storage.lfs': { PATH: null },
    },
    started: false,
  });
  const gitolite = await Gitolite.open(t, server);
  return {
    server,
    gitolite,
    hooks: (command: string, ...options: readonly string[]) =>
      server.softquota(['hooks', command, '--gitolite', gitolite.home, ...options]),
  };
}

t.test('a push is allowed, warned about and refused, and deleting passes', async t => {
  const { server, gitolite, hooks } = await withGitolite(t, {});
  await server.configure({ 'storage.repos': { PATH: `${gitolite.home}/repositories/{owner}/{repo}.git` } });
  const installed = await hooks('install');
  t.equal(installed.code, 0, installed.stdout + installed.stderr);
  const daemon = await server.start();
  const alice = await gitolite.clone('alice', 'alice/app');
  await alice.commit(70_000);
  const first = await alice.push();
  t.strictSame([first.code, first.said], [0, ''], 'into a repository that is made for it');
  t.equal(
    await readlink(join(gitolite.path('alice/app'), 'hooks/pre-receive')),
    join(gitolite.home, '.gitolite/hooks/common/pre-receive'),
  );
  await server.usageIs('alice', bytes => bytes > 70_000);
  await alice.commit(30_000);
  t.match(await alice.push(), { code: 0 });
  await server.usageIs('alice', bytes => bytes > 120_000);
  await alice.commit(60_000);
  const warned = await alice.push(['main', 'main:old']);
  t.equal(warned.code, 0);
  t.match(warned.said, /^Quota warning: alice uses 1\d\d(\.\d)? kB of 150 kB \([89]\d(\.\d)? %\)\.$/m);
  await server.usageIs('alice', bytes => bytes > 150_000);

  const bob = await gitolite.clone('bob', 'alice/app');
  await bob.git('pull', '-q', 'origin', 'main');
  await bob.commit(10);
  const refused = await bob.push();
  t.equal(refused.code, 1);
  t.match(refused.said, /^Quota exceeded: alice uses .* of 150 kB/m);
  t.match(await daemon.logged(/^refused$/), { owner: 'alice', actor: 'bob' });
  t.match(await bob.push([':old']), { code: 0 }, 'deleting works');
  const own = await gitolite.clone('bob', 'bob/app');
  await own.commit(10);
  t.match(await own.push(), { code: 0 }, 'and bob’s own are another matter');
  await server.usageIs('bob', bytes => bytes > 0);
});

t.test('a wild repository is its creator’s, another one whose its configuration says', async t => {
  const { server, gitolite, hooks } = await withGitolite(t, { OWNER: 'file gl-creator' });
  await server.configure({ 'storage.repos': { PATH: `${gitolite.home}/repositories/{repo}.git` } });
  t.match(await hooks('install'), { code: 0 });
  await server.start();
  const bob = await gitolite.clone('bob', 'bob/app');
  await bob.commit(50_000);
  t.match(await bob.push(), { code: 0 });
  await server.usageIs('bob', bytes => bytes > 50_000);
  t.equal(
    await readFile(join(gitolite.path('bob/app'), 'gl-creator'), 'utf8').then(text => text.trim()),
    'bob',
  );
  await server.stop();
  await server.configure({ 'storage.repos': { OWNER: 'git-config softquota.owner' } });
  await server.start();
  const shared = await gitolite.clone('alice', 'shared');
  await shared.commit(50_000);
  t.match(await shared.push(), { code: 0 });
  await server.usageIs('carol', bytes => bytes > 50_000);
});

t.test('a hook that gitolite distributed goes on, and comes back when ours goes', async t => {
  const { server, gitolite, hooks } = await withGitolite(t, {});
  await server.configure({ 'storage.repos': { PATH: `${gitolite.home}/repositories/{owner}/{repo}.git` } });
  const common = join(gitolite.home, '.gitolite/hooks/common');
  const log = join(server.folder, 'log');
  const theirs = `#!/bin/sh\ncat >>${log}\necho "the site says hello" >&2\n`;
  await writeFile(join(common, 'pre-receive'), theirs);
  await chmod(join(common, 'pre-receive'), 0o755);
  await server.start();
  const before = await gitolite.clone('alice', 'alice/before');
  await before.commit(10);
  t.match(await before.push(), { code: 0, said: /the site says hello/ });
  const status = await hooks('status');
  t.match(status, { code: 1, stdout: /pre-receive foreign, post-receive absent/ });

  const installed = await hooks('install');
  t.equal(installed.code, 0, installed.stdout + installed.stderr);
  t.match(
    installed.stdout,
    /hooks\/common: pre-receive installed \(the previous hook runs as hooks\/pre-receive\.d\/50-previous\)/,
  );
  t.match(installed.stdout, `The hooks ask at ${server.socket('gate')} by nc.`);
  t.match(await server.softquota(['hooks', 'remove', gitolite.path('alice/before')]), {
    code: 1,
    stdout: /is a symbolic link, and nothing is written through a link/,
  });

  await before.commit(10);
  t.match(await before.push(), { code: 0, said: /the site says hello/ });
  await server.reload({ 'quota.default': { TOTAL: '0' } });
  await before.commit(10);
  t.match(await before.push(), { code: 1, said: /^Quota is 0: alice may not store/ });

  const removed = await hooks('remove');
  t.equal(removed.code, 0, removed.stdout);
  t.match(removed.stdout, /hooks\/common: pre-receive restored, post-receive removed/);
  t.equal(await readFile(join(common, 'pre-receive'), 'utf8'), theirs);
  t.match(await before.push(), { code: 0, said: 'the site says hello' });
  for (const command of ['install', 'status', 'remove'])
    t.strictSame(oddKeys(JSON.parse((await hooks(command, '--json')).stdout)), [], command);
});
