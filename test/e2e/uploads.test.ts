/**
 * Uploads through nginx and Caddy, and git with git-lfs: what is pushed comes back whole, locks work, and an
 * owner over the limit reads on. traefik.long.test.ts has Traefik.
 */

import { createHash, randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { isLong, some } from '../run-length.ts';
import { openBehindProxy, testProxy } from './behind-proxy.ts';
import { Clone } from './clone.ts';
import type { Around, proxies } from './proxies.ts';
import { run } from './run.ts';
import { testSpellings } from './spellings.ts';

t.setTimeout(900_000);

for (const name of ['nginx', 'caddy'] as const) {
  t.test(name, t => testProxy(t, name));
  testSpellings(name);
}

const bytes = isLong ? 50_000_000 : 2_000_000;

const setups: Readonly<Record<string, readonly [keyof typeof proxies, Around]>> = {
  nginx: ['nginx', {}],
  'nginx, asking over TCP': ['nginx', { isOverTcp: true }],
  caddy: ['caddy', {}],
  'caddy, asking over TCP': ['caddy', { isOverTcp: true }],
  ...(isLong ? { traefik: ['traefik', {}] as const } : {}),
};

async function sumOf(file: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(file))
    .digest('hex');
}

async function passes(t: Test, [proxy, around]: readonly [keyof typeof proxies, Around]): Promise<void> {
  const { server, url, uses, forge } = await openBehindProxy(t, proxy, { around });
  const origin = `${url}/alice/app.git`;
  /** A working copy with git-lfs, of what is there. */
  const workingCopy = async (): Promise<Clone> => {
    const clone = await Clone.of(server, origin);
    await clone.git('lfs', 'install', '--local');
    return clone;
  };
  const alice = await workingCopy();
  await uses(900_000);
  await alice.git('lfs', 'track', '*.bin');
  await writeFile(join(alice.folder, 'large.bin'), randomBytes(bytes));
  await writeFile(join(alice.folder, 'plain'), randomBytes(bytes));
  await alice.git('add', '-A');
  await alice.git('commit', '-q', '-m', 'large');
  await alice.git('push', '-q', 'origin', 'main');
  t.equal(forge.puts(), 1, 'the object came once');
  t.match(await alice.git('lfs', 'lock', 'large.bin'), 'Locked large.bin');
  await server.usageIs('alice', used => used > bytes);

  const bob = await workingCopy();
  await bob.git('pull', '-q', 'origin', 'main');
  for (const file of ['large.bin', 'plain'])
    t.equal(await sumOf(join(bob.folder, file)), await sumOf(join(alice.folder, file)), file);
  t.match(await bob.git('lfs', 'locks'), 'large.bin');
  t.match(await alice.git('lfs', 'unlock', 'large.bin'), 'Unlocked large.bin');

  await alice.git('rm', '-q', '--cached', 'plain');
  await writeFile(join(alice.folder, 'large.bin'), randomBytes(bytes));
  await alice.git('commit', '-qam', 'other');
  await t.rejects(alice.git('push', '-q', 'origin', 'main'), /Quota exceeded: alice uses/);
  t.equal(forge.puts(), 1, 'and no object is sent');
}

for (const [name, setup] of some(Object.entries(setups), 2))
  t.test(`${name}: what is pushed by git and by git-lfs comes back, and files are locked`, t =>
    passes(t, setup),
  );

t.test(
  'nginx: an LFS object and an attachment over the limit of a file are refused with its size',
  async t => {
    const { server, url, forge } = await openBehindProxy(t, 'nginx');
    const rules = [{ name: 'each-file', limit: 1_000_000, per: 'file', subjects: ['size:all'] }];
    await server.admin('/admin/quota/groups', { body: { name: 'files', rules } });
    const alice = await Clone.of(server, `${url}/alice/app.git`);
    await alice.git('lfs', 'install', '--local');
    await alice.git('lfs', 'track', '*.bin');
    const push = async (size: number) => {
      await writeFile(join(alice.folder, 'large.bin'), randomBytes(size));
      await alice.git('add', '-A');
      await alice.git('commit', '-q', '-m', 'large');
      return alice.push();
    };
    const attach = async (size: number) => {
      const file = join(server.folder, 'attachment');
      await writeFile(file, randomBytes(size));
      return run('curl', [
        '-q',
        '-s',
        '-S',
        '-i',
        '-F',
        `file=@${file}`,
        `${url}/alice/app/issues/attachments`,
      ]);
    };
    t.match(await push(900_000), { code: 0 });
    t.match(await attach(900_000), { stdout: / 200 OK/ });
    await server.admin('/admin/quota/groups/files/users/alice', { method: 'PUT' });
    const bytesCame = () => forge.came.reduce((sum, { bytes: each }) => sum + each, 0);
    const before = bytesCame();
    const words = /This file has 1\.1 MB; a file may have 1 MB/;
    t.match(await attach(1_100_000), { stdout: words });
    const refused = await push(1_100_000);
    t.not(refused.code, 0);
    t.match(refused.stderr, /has 1\.1 MB; a file may have 1 MB/);
    t.ok(bytesCame() - before < 10_000, 'nothing of them came');
    await alice.git('reset', '-q', '--hard', 'HEAD~1');
    t.match(await attach(900_000), { stdout: / 200 OK/ });
    t.match(await push(900_000), { code: 0 });
  },
);
