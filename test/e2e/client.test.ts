/**
 * The client for programs before a real daemon: room for many uploads at once, reports, a restart in between.
 */

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { createClient, QuotaExceededError } from '../../src/client/index.ts';
import { program } from './programs.ts';
import { run } from './run.ts';
import { Server } from './server.ts';

const packages = 'size:assets:packages:all';
const limit = 1_000_000;
const ini = { quota: { ENABLED: 'true', PRECISE: 'true' }, 'quota.default': { TOTAL: String(limit) } };

t.test('withQuota reports what came, and gives the room back where nothing came', async t => {
  const server = await Server.open(t, { ini });
  const client = createClient({
    socket: server.socket('trusted'),
    trusted: true,
    timeoutMs: 30_000,
    onError: 'throw',
    onUnavailable: fault => t.fail(String(fault)),
  });
  t.teardown(() => client.close());
  const store = (size: number, came: number) =>
    client.withQuota('alice', packages, size, upload => upload.stored(came));

  await store(900_000, 600_000);
  t.equal(await server.usage('alice'), 600_000);
  await t.rejects(store(500_000, 1), QuotaExceededError);
  const failing = client.withQuota('alice', packages, 400_000, () => Promise.reject(new Error('disk full')));
  await t.rejects(failing, { message: 'disk full' });
  t.match(await client.check({ owner: 'alice', subject: packages, size: 400_000 }), { allowed: true });
  const { used, decisions } = await client.usage('alice');
  t.match(used, { size: { assets: { packages: { all: 600_000 } } } });
  t.match(decisions[packages], { allowed: true, limit });

  const calls = store(300_000, 300_000);
  await calls;
  await server.stop('SIGKILL');
  const waiting = client.check({ owner: 'alice', subject: packages, size: 200_000 });
  await server.start();
  t.match(await waiting, { allowed: false, error: null }, 'a restart costs no decision, and no report');
  t.equal(await server.usage('alice'), 900_000);
});

t.test('store.js of the manual stores what has room', async t => {
  const server = await Server.open(t, { ini });
  const file = await program(server, 'store.js');
  await mkdir(join(server.folder, 'packages'));
  await writeFile(join(server.folder, 'upload'), Buffer.alloc(700_000));
  const store = async (name: string) =>
    run(process.execPath, [file, 'alice', name, '700000'], {
      input: await readFile(join(server.folder, 'upload')),
    });
  t.match(await store('one.tgz'), { code: 0, stdout: '', stderr: '' });
  t.equal(await server.usage('alice'), 700_000);
  t.match(await store('two.tgz'), { code: 1, stderr: /alice uses 700 kB of 1 MB/ });
  t.equal((await readFile(join(server.folder, 'packages/alice/one.tgz'))).length, 700_000);
  t.equal(await server.usage('alice'), 700_000);
});
