/**
 * The client for programs before a real daemon: room for many uploads at once, reports, a restart in between.
 */

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { createClient, QuotaExceededError, type QuotaReservation } from '../../src/client/index.ts';
import { program } from './programs.ts';
import { run } from './run.ts';
import { Server } from './server.ts';

const packages = 'size:assets:packages:all';
const limit = 1_000_000;
const ini = { quota: { ENABLED: 'true', PRECISE: 'true' }, 'quota.default': { TOTAL: String(limit) } };

t.test('of many uploads at once as many start as have room', async t => {
  const server = await Server.open(t, { ini });
  const client = createClient({ socket: server.socket('gate'), timeoutMs: 30_000, onError: 'throw' });
  t.teardown(() => client.close());
  const all = await Promise.all(
    Array.from({ length: 50 }, () => client.reserve({ owner: 'alice', subject: packages, size: 100_000 })),
  );
  const room: readonly QuotaReservation[] = all.flatMap(each => (each.allowed ? [each.reservation] : []));
  t.equal(room.length, 10);
  const refused = all.flatMap(each => (each.allowed ? [] : [each.answer]));
  t.match(refused[0], { allowed: false, owner: 'alice', message: /alice uses 1 MB of 1 MB/ });

  const [first, second] = room;
  await first?.release();
  await first?.release();
  t.match(await client.check({ owner: 'alice', subject: packages, size: 100_000 }), { allowed: true });
  t.ok((await second?.renew(3600)) instanceof Date);
});

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

t.test('it knows of a grace, and of what only reports', async t => {
  const server = await Server.open(t, { ini: { ...ini, quota: { ENABLED: 'true', GRACE: '7d' } } });
  const client = createClient({ socket: server.socket('trusted'), trusted: true, onError: 'throw' });
  t.teardown(() => client.close());
  await client.changed({ owner: 'alice', subject: packages, delta: 1_050_000 });
  const question = { owner: 'alice', subject: packages } as const;
  const { allowed, grace, wouldRefuse } = await client.check(question);
  t.match(
    { allowed, below: grace?.below, wouldRefuse },
    { allowed: true, below: 1_100_000, wouldRefuse: false },
  );
  const left = Number(grace?.until) - Date.now();
  t.ok(left > 6.9 * 86_400_000 && left <= 7 * 86_400_000, `${left} ms are left`);
  t.match((await client.usage('alice')).decisions[packages]?.grace, { below: 1_100_000 });
  await client.changed({ owner: 'alice', subject: packages, delta: 100_000 });
  t.match(await client.check(question), { allowed: false, grace: { below: 1_100_000 } });

  const rules = [{ name: 'tried', limit: 5, subjects: ['size:all'], mode: 'report' }];
  const group = { name: 'free', rules: [...rules, { name: 'total', limit: -1, subjects: ['size:all'] }] };
  for (const [path, method, body] of [
    ['groups', 'POST', group],
    ['groups/free/users/alice', 'PUT', {}],
  ] as const) {
    const answer = await server.ask('admin', `/api/v1/admin/quota/${path}`, { method, body });
    t.ok(answer.status < 300, answer.text);
  }
  t.match(await client.check(question), {
    allowed: true,
    wouldRefuse: true,
    reported: {
      rule: 'tried',
      group: 'free',
      limit: 5,
      used: 1_150_000,
      message: /alice uses 1\.15 MB of 5 B/,
    },
  });
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
