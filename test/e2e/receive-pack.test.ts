/**
 * Over the limit without the upload: git's receive-pack with hooks/receive-pack before git's own programs, as
 * docs/receive-pack.md has it configured, on a real server with a real client.
 */

import { mkdir, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { mountSmall } from '../faults/small-disk.ts';
import { isLong, some } from '../run-length.ts';
import { Clone, objectsIn } from './clone.ts';
import { launcher } from './daemon.ts';
import { must } from './run.ts';
import { Server } from './server.ts';
import { transports } from './transports.ts';

t.setTimeout(600_000);

/** Far more than there is room for. */
const bigBytes = isLong ? 100_000_000 : 10_000_000;

/** Writes the folder that goes before git's own programs; gives its path. */
async function programsOf(server: Server): Promise<string> {
  await server.done(['hooks', 'install', '--programs', server.folder]);
  return join(server.folder, 'receive-pack');
}

/** alice stores 3 of the 1 MB that she may; all that the server writes goes to a disk with 1 MB left. */
async function overTheLimit(t: Test) {
  const server = await Server.open(t);
  const git = join(server.folder, 'git');
  const nginx = join(server.folder, 'nginx');
  await mkdir(nginx);
  await mountSmall(t, git, '8m');
  await mountSmall(t, nginx, '1m');
  const bare = await server.repository('alice/app');
  await server.installHooks();
  const clone = await Clone.of(server, bare);
  await clone.git('config', 'core.compression', '0');
  await clone.git('config', 'core.bigFileThreshold', '1m');
  await clone.commit(3_000_000);
  await clone.git('branch', 'old');
  await clone.git('push', '-q', 'origin', 'main', 'old');
  // A walk during the push counts beside it.
  await server.usageIs('alice', bytes => bytes > 3_000_000 && bytes < 4_000_000);
  const { bavail, bsize } = await statfs(git);
  await writeFile(join(git, 'ballast'), Buffer.alloc(bavail * bsize - 1_000_000));
  const after = await statfs(git);
  t.ok(after.bavail * after.bsize <= 1_000_000, 'there is room for 1 MB');
  return { server, bare, clone, programs: await programsOf(server) };
}

t.test('far over the limit: no megabyte is written, and the pusher reads why', async t => {
  const { server, bare, clone, programs } = await overTheLimit(t);
  await clone.commit(1000);
  const small = await clone.push(['HEAD:main']);
  t.equal(small.code, 1);
  t.match(small.said, /^Quota exceeded: alice uses 3\.\d+ MB of 1 MB \(30\d %\)\.$/m);
  t.match(small.said, /^This repository: 3\.\d+ MB\./m);
  t.match(small.said, /https:\/\/git\.example\/quota/);
  t.match(
    small.said,
    /delete branches and tags, in a push\s+of their own/,
    'without a worker nobody can judge',
  );

  await clone.commit(500_000);
  await clone.commit(bigBytes);
  const before = await objectsIn(bare);
  t.match((await clone.push(['HEAD:main'])).stderr, /No space left on device/, 'as it is without');

  for (const [name, open] of some(Object.entries(transports), 2)) {
    await t.test(`over ${name}`, async t => {
      const transport = await open(t, server, { programs });
      await clone.git('remote', 'set-url', 'origin', transport.url(bare));
      const pushed = async (...args: readonly string[]) => clone.push(args, { env: transport.env });
      const big = await pushed('HEAD:main');
      t.equal(big.code, 1);
      t.equal(big.said, small.said, 'the same words, and no others');
      t.match(big.stderr, /HEAD -> main \(unpacker error\)/, 'git’s own report of each ref');
      t.notMatch(big.stderr, /No space|hung up|RPC failed|unexpected/);
      t.strictSame(await objectsIn(bare), before);

      const middling = await pushed('HEAD~1:main');
      t.match(middling, { code: 1, said: small.said, stderr: /main \(unpacker error\)/ });
      const little = await pushed('HEAD~2:main');
      t.match(little, { code: 1, said: small.said, stderr: /main \(pre-receive hook declined\)/ });

      await must('git', ['-C', bare, 'branch', '-f', 'superfluous', 'main']);
      t.match(await pushed(':superfluous'), { code: 0, said: '' }, 'a deletion');
      t.match(await pushed('old:refs/heads/again', 'old:refs/heads/more'), { code: 0, said: '' });
      t.match(await pushed(':again', ':more'), { code: 0, said: '' });
      t.equal(await fetched(server, transport.url(bare), transport.env), 'fetched');
    });
  }
});

async function fetched(server: Server, url: string, env: Readonly<Record<string, string>>): Promise<string> {
  const clone = await Clone.of(server, url, { env });
  await clone.git('fetch', '-q', '--depth=1', 'origin', 'main');
  const tip = await clone.git('rev-parse', 'FETCH_HEAD');
  return /^[0-9a-f]{40}$/.test(tip) ? 'fetched' : tip;
}

t.test('softquota receive-pack is the same, started by hand', async t => {
  const server = await Server.open(t, { repositories: ['alice/app', 'bob/app'] });
  const clone = await Clone.of(server, server.path('alice/app'));
  const command = `--receive-pack=${process.execPath} ${launcher} receive-pack`;
  await clone.commit(2_000_000);
  t.match(await clone.push([command, 'main']), { code: 0, said: '' });
  await server.usageIs('alice', bytes => bytes > 2_000_000);
  await clone.commit(2_000_000);
  const { code, said, stderr } = await clone.push([command, 'main']);
  t.equal(code, 1);
  t.match(said, /^Quota exceeded: alice uses 2\.\d+ MB of 1 MB/);
  t.match(stderr, /unpacker error/);
  await clone.git('remote', 'set-url', 'origin', server.path('bob/app'));
  t.match(await clone.push([command, 'main']), { code: 0, said: '' });

  for (const config of [[], ['--config', '/no/such/app.ini']]) {
    const args = ['receive-pack', '--stateless-rpc', ...config, '/nonexistent'];
    t.match(await server.softquota(args), {
      code: 128,
      stderr: /^fatal: '\/nonexistent' does not appear to be a git repository/,
    });
  }
});
