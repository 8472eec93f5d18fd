/**
 * Uploads through nginx and Caddy, and git with git-lfs: what is pushed comes back whole, locks work, and an
 * owner over the limit reads on. traefik.long.test.ts has Traefik.
 */

import { createHash, randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { isLong } from '../run-length.ts';
import { openBehindProxy, testProxy } from './behind-proxy.ts';
import { Clone } from './clone.ts';
import type { proxies } from './proxies.ts';
import { testSpellings } from './spellings.ts';

t.setTimeout(900_000);

for (const name of ['nginx', 'caddy'] as const) {
  t.test(name, t => testProxy(t, name));
  testSpellings(name);
}

const bytes = isLong ? 50_000_000 : 2_000_000;

async function sumOf(file: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(file))
    .digest('hex');
}

async function passes(t: Test, proxy: keyof typeof proxies): Promise<void> {
  const { server, url, uses, forge } = await openBehindProxy(t, proxy);
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

for (const name of isLong ? (['nginx', 'caddy', 'traefik'] as const) : (['nginx', 'caddy'] as const))
  t.test(`${name}: what is pushed by git and by git-lfs comes back, and files are locked`, t =>
    passes(t, name),
  );
