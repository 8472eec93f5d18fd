/**
 * git-lfs with an LFS server of other people, giftless, behind the documented nginx: refused, allowed,
 * downloaded, and counted at once.
 */

import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { until } from './ask.ts';
import { Clone } from './clone.ts';
import { proxies } from './proxies.ts';
import { identity, type Run, run } from './run.ts';
import { Server } from './server.ts';
import { openGiftless } from './upload-servers.ts';

t.setTimeout(900_000);

const words = /Quota exceeded: alice uses 1\.2\d* MB of 1 MB/;

for (const withBatch of [true, false]) {
  const asked = withBatch ? 'the question goes through softquota' : 'only objects are asked about';
  t.test(`giftless, ${asked}: nothing is stored over the limit, and git-lfs says why`, async t => {
    const server = await Server.open(t, { repositories: ['alice/app'], started: false });
    const folder = join(server.folder, 'giftless');
    const port = await openGiftless(t, folder);
    await mkdir(join(folder, 'storage'), { recursive: true });
    await server.configure({
      gate: { PRESET: 'lfs' },
      'storage.lfs': { PATH: `${folder}/storage/{owner}/{repo}` },
      ...(withBatch ? { lfs: { UPSTREAM: `http://127.0.0.1:${port}/` } } : {}),
    });
    await server.start();
    const proxy = await proxies.nginx.open(t, server, port, { isWithoutBatch: !withBatch });
    const uses = (bytes: number) =>
      server.reports('alice', bytes, { subject: 'size:assets:attachments:issues' });
    const clone = await Clone.of(server, server.path('alice/app'));
    await clone.git('config', 'lfs.url', `http://127.0.0.1:${proxy}/alice/app.git/info/lfs`);
    for (const setting of ['install --local', 'track *.bin']) await clone.git('lfs', ...setting.split(' '));
    await clone.git('config', 'lfs.locksverify', 'false');
    await clone.git('config', 'lfs.transfer.maxretries', '1');
    const lfs = (...args: readonly string[]): Promise<Run> =>
      run('git', ['lfs', ...args], { cwd: clone.folder, env: identity });
    const push = async (file: string, bytes: number): Promise<Run> => {
      await writeFile(join(clone.folder, file), randomBytes(bytes));
      await clone.git('add', '-A');
      await clone.git('commit', '-q', '-m', file);
      return lfs('push', 'origin', 'main');
    };
    const counts = async (bytes: number): Promise<void> => {
      let seen = 0;
      const isCounted = async () => {
        seen = (await server.usageByLeaf('alice'))['size:git:lfs'] ?? 0;
        return seen === bytes ? true : null;
      };
      await until(isCounted, () => `${seen} bytes count, not ${bytes}`);
    };
    const stored = async () =>
      (await readdir(join(folder, 'storage'), { recursive: true, withFileTypes: true })).filter(entry =>
        entry.isFile(),
      ).length;

    t.match(await push('a.bin', 200_000), { code: 0 });
    t.equal(await stored(), 1);
    await counts(200_000);
    await uses(1_000_000);
    await rm(join(clone.folder, '.git/lfs/objects'), { recursive: true });
    t.match(await lfs('fetch', 'origin', 'main'), { code: 0 }, 'downloading is never asked about');
    const refused = await push('b.bin', 100_000_000);
    t.not(refused.code, 0);
    t.match(refused.stderr, words);
    t.equal(await stored(), 1);
    await uses(100_000);
    t.match(await push('c.bin', 200_000), { code: 0 });
    t.equal(await stored(), 3);
    await counts(100_400_000);
  });
}
