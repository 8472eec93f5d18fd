/**
 * A file server that does not answer any more: it is told, everything else goes on, and nothing waits for it.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { until } from '../e2e/ask.ts';
import { Server } from '../e2e/server.ts';
import { writeSqlite } from '../forge/fixture.ts';
import { hangingDisk } from '../scan/hanging.ts';

t.setTimeout(400_000);

t.test('a disk that hangs is told by log, /readyz and doctor, and keeps nobody waiting', async t => {
  const server = await Server.open(t, { started: false, repositories: ['alice/app'] });
  const near = join(server.folder, 'lfs', 'alice');
  await mkdir(near);
  await writeFile(join(near, 'object'), Buffer.alloc(100));
  const disk = await hangingDisk(t, join(server.folder, 'far'));
  t.teardown(async () => {
    disk.answer();
    await server.stop('SIGKILL');
  });
  await mkdir(join(disk.behind, 'bob'));
  await writeFile(join(disk.behind, 'bob', 'package'), Buffer.alloc(1000));
  await server.configure({ 'storage.packages': { PATH: `${disk.path}/{owner}` } });
  const daemon = await server.start();
  t.equal(await server.usage('bob'), 1000);

  disk.hang();
  await writeFile(join(near, 'more'), Buffer.alloc(11));
  const report = await server.scan();
  t.equal(report.state, 'done', 'a sweep ends without it');
  t.equal(
    await server.usageByLeaf('alice').then(bytes => bytes['size:git:lfs']),
    111,
    'and measures all else',
  );
  t.equal(await server.usage('bob'), 1000);
  await daemon.logged(line => line.msg.startsWith('a disk does not answer') && line.path === disk.path);
  // The place that is told is the one that was waited for first: the root, or a unit below it.
  const isTold = /the disk at (\S+) has not answered since /.exec(await server.reasons());
  t.equal(isTold?.[1]?.startsWith(disk.path), true);
  t.equal((await server.ask('gate', '/v1/check?owner=bob&subject=size:all')).status, 200);
  t.equal(
    (await server.ask('gate', `/v1/check?path=${disk.path}/new`)).status,
    503,
    'no path is looked up there',
  );

  const doctor = await server.softquota(['doctor', '--json']);
  t.equal(doctor.code, 1);
  const found: { code: string; message: string }[] = JSON.parse(doctor.stdout);
  const told = found.filter(({ code }) => code === 'disk_hangs');
  t.equal(told.length, 1, doctor.stdout);
  t.match(told[0]?.message, disk.path);
  t.notOk(
    found.some(({ code }) => code === 'not_looked'),
    'everything else was looked at',
  );
  t.ok(found.some(({ code }) => code === 'root_away'));

  disk.answer();
  await until(async () => ((await server.reasons()) === '' ? true : null));
  const heardBefore = daemon.lines.length;
  disk.hang();
  await server.ask('gate', `/v1/changed?path=${disk.path}/bob`, { method: 'POST' });
  await daemon.logged(/^a disk does not answer/, heardBefore);
  const before = performance.now();
  daemon.child.kill('SIGTERM');
  await daemon.logged(/^a disk never answered; all data is stored/);
  t.ok(performance.now() - before < 20_000, 'it ends while the disk hangs');
  // Some file systems let not even SIGKILL through before they answer.
  disk.answer();
  t.match(await daemon.ended, { code: null, signal: 'SIGKILL' });
  disk.hang();

  const alone = await server.softquota(['doctor', '--json']);
  const foundAlone: { code: string; message: string }[] = JSON.parse(alone.stdout);
  t.match(foundAlone.find(({ code }) => code === 'disk_hangs')?.message, disk.path);
  t.ok(
    foundAlone.some(({ code }) => code === 'daemon_away'),
    'without a daemon, too',
  );
  t.notOk(foundAlone.some(({ code }) => code === 'not_looked'));
});

t.test(
  'a forge’s file on a disk that hangs keeps the daemon from nothing, not even from its end',
  async t => {
    const server = await Server.open(t, { started: false });
    const disk = await hangingDisk(t, join(server.folder, 'forge'));
    t.teardown(async () => {
      disk.answer();
      await server.stop('SIGKILL');
    });
    writeSqlite(join(disk.behind, 'gitea.db'));
    await server.configure({ forge: { KIND: 'gitea', DATABASE: `sqlite:${disk.path}/gitea.db` } });
    const daemon = await server.start();
    const tasks = `/proc/${daemon.child.pid}/task`;
    const isWaiting = (task: string) =>
      /^(fuse_|request_wait)/.test(readFileSync(`${tasks}/${task}/wchan`, 'utf8'));
    disk.hang();
    await until(async () => readdirSync(tasks).some(isWaiting) || null);
    t.equal((await server.ask('gate', '/v1/check?owner=alice&subject=size:all')).status, 200);
    daemon.child.kill('SIGTERM');
    await daemon.logged(/^a disk never answered; all data is stored/);
    disk.answer();
    t.match(await daemon.ended, { code: null, signal: 'SIGKILL' });
  },
);
