/** A full disk under DATA_PATH: asking goes on, what cannot be kept is said, and it mends by itself. */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { account, addressOf } from '../e2e/accounts.ts';
import { until } from '../e2e/ask.ts';
import { Clone } from '../e2e/clone.ts';
import { counted } from '../e2e/count.ts';
import { Server } from '../e2e/server.ts';
import { keepFull, mountSmallData } from './small-disk.ts';

t.test('while the disk is full the daemon answers, says that it cannot keep, and recovers', async t => {
  const server = await Server.open(t, { started: false, repositories: ['alice/app'] });
  const data = join(server.folder, 'data');
  await mountSmallData(t, data, '2m');
  await server.start();
  const bare = server.path('alice/app');
  const clone = await Clone.of(server, bare);
  await clone.commit(100_000);
  await clone.push();
  await server.usageIs('alice', used => used > 100_000);

  const token = await account(server, 'dave');
  const makeRoom = keepFull(data);
  // More units than fit into what SQLite has set aside.
  const lfs = join(server.folder, 'lfs');
  for (let n = 0; n < 300; n++) {
    await mkdir(join(lfs, `owner-${n}`));
    await writeFile(join(lfs, `owner-${n}`, 'object'), Buffer.alloc(n));
  }
  const report = (n: number) => ({
    owner: 'carol',
    subject: 'size:assets:packages:all',
    unit: `${n}`.padStart(200, 'p'),
    bytes: 1,
  });
  let acknowledged = 0;
  const order = await server.ask('admin', '/api/v1/admin/quota/scans', { body: {} });
  t.equal(order.status, 202);
  const refused = await until(async () => {
    const answer = await server.ask('trusted', '/v1/units', { body: report(acknowledged) });
    if (answer.status !== 200) return answer;
    acknowledged++;
    return null;
  });
  t.match(refused, { status: 503, text: /disk is full/ }, 'what cannot be kept is not taken');
  t.match(server.daemon.log, /the store takes nothing at the moment/);
  // The store gives back what its log takes, and a write or two fits in before that is taken too.
  await until(
    async () => /the store has not been writable since .*disk is full/.test(await server.reasons()) || null,
  );
  await until(async () => {
    const { code, stdout } = await server.softquota(['doctor']);
    return (code === 1 && /the store has not been writable/.test(stdout)) || null;
  });
  const rule = { name: 'total', limit: 1, subjects: ['size:all'] };
  const unruled = await server.ask('admin', '/api/v1/admin/quota/rules', { body: rule });
  t.match(unruled, { status: 503, text: /disk is full/ }, 'no rule is made');
  const unmade = await fetch(`${await addressOf(server)}api/v1/users/dave/tokens`, {
    method: 'POST',
    headers: { Authorization: `token ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: 'more', scopes: ['all'] }),
  });
  const fault = { message: 'the store cannot be written at the moment: try again soon' };
  t.equal(unmade.status, 503);
  t.match(await unmade.json(), fault, 'a user is not told where the store lies');
  t.equal((await server.ask('gate', '/healthz')).status, 200);

  await clone.commit(1_000_000);
  t.equal((await clone.push()).code, 0, 'pushes go on');
  await server.usageIs('alice', used => used > 1_100_000);
  await clone.commit(10);
  t.match(await clone.push(), { code: 1, said: /^Quota exceeded/ }, 'and are counted and refused as ever');

  makeRoom();
  await server.ready();
  await server.daemon.logged(/^the store takes writes again/);
  t.equal((await server.ask('trusted', '/v1/units', { body: report(acknowledged) })).status, 200);
  t.equal((await server.scan()).state, 'done');
  t.equal(await server.usage('alice'), await counted(bare));
  await server.stop('SIGKILL');
  await server.start({ ready: false });
  t.equal(await server.usage('alice'), await counted(bare), 'what was counted meanwhile is kept');
  t.equal(await server.usage('owner-299'), 299);
  t.equal(await server.usage('carol'), acknowledged + 1, 'and all that was acknowledged');
});
