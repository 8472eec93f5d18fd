/** A disk with less free space than [disk] MIN_FREE: nothing grows there, and everything else goes on. */

import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { mountSmall } from '../faults/small-disk.ts';
import { until } from './ask.ts';
import { Clone } from './clone.ts';
import { Server } from './server.ts';

const megabyte = 1_000_000;

/** A server whose repositories lie on a disk of their own; `size` as tmpfs has it. */
async function onSmallDisk(
  t: Test,
  size: string,
  disk: Readonly<Record<string, string>>,
  repositories: readonly string[],
): Promise<{ readonly server: Server; readonly disk: string }> {
  const server = await Server.open(t, { started: false });
  const mounted = join(server.folder, 'git');
  await mountSmall(t, mounted, size);
  await server.configure({ quota: { ENABLED: 'true' }, 'quota.default': { TOTAL: '-1' }, disk });
  for (const name of repositories) await server.repository(name);
  await server.installHooks();
  await server.start();
  return { server, disk: mounted };
}

async function freeOf(path: string): Promise<number> {
  const { bsize, bavail } = await statfs(path);
  return bsize * bavail;
}

t.test('what grows is refused with that reason, and all else passes', async t => {
  const { server, disk } = await onSmallDisk(t, '64m', { MIN_FREE: '16M' }, ['alice/app']);
  const clone = await Clone.of(server, join(server.folder, 'git/alice/app.git'));
  await clone.commit(1000);
  t.equal((await clone.push(['main', 'main:old'])).code, 0);
  const check = () =>
    server.ask('gate', '/v1/check', { body: { owner: 'bob', subject: 'size:repos:private' } });
  t.equal((await check()).status, 200);
  t.equal((await server.ask('gate', '/v1/check?owner=bob&subject=size:git:lfs')).status, 200);

  const ballast = join(disk, 'ballast');
  await writeFile(ballast, randomBytes(Math.floor((await freeOf(disk)) - 15 * megabyte)));
  await server.daemon.logged(/: The disk is nearly full: .*; what grows there is refused$/);
  const refused = await check();
  t.equal(refused.status, 413);
  t.match(JSON.parse(refused.text), {
    allowed: false,
    owner: 'bob',
    limit: null,
    disk: { of: 'bytes', free: Number, size: Number, least: Number },
    message:
      /^The disk is nearly full: 1\d(\.\d)? MB of \d+(\.\d)? MB are free, and 1\d(\.\d)? MB have to stay free\.$/,
  });
  t.equal((await server.ask('gate', '/v1/check?owner=bob&subject=size:repos:private')).status, 413);
  t.equal(
    (await server.ask('gate', '/v1/check?owner=bob&subject=size:assets:packages:all')).status,
    200,
    'packages lie on no disk that is full',
  );
  await clone.commit(1000);
  const push = await clone.push();
  t.equal(push.code, 1);
  t.match(push.said, /The disk is nearly full: .* have to stay free\./);
  t.match(push.said, /You can still\s+delete branches and tags\. Try again/);
  t.notMatch(push.said, disk, 'a pusher does not learn where the disk is');
  t.equal((await clone.push([':old'])).code, 0, 'a deletion passes');
  t.equal((await clone.git('ls-remote', 'origin')).includes('old'), false, 'and so does reading');

  const ready = await server.ask('gate', '/readyz');
  t.match(JSON.parse(ready.text), { notes: [/The disk is nearly full/] });
  const doctor = await server.softquota('doctor --json');
  t.match(doctor.stdout, /"disk_full"/);
  const { disks } = JSON.parse((await server.ask('admin', '/api/v1/admin/quota/overview')).text);
  t.match(disks, [{ state: 'full' }]);
  const events = await until(async () => {
    const { text } = await server.ask('admin', '/api/v1/admin/quota/events?kind=refusal');
    const told = JSON.parse(text);
    return told.length === 0 ? null : told;
  });
  t.match(events, [{ full_disk: true, limit: null }]);

  await server.reload({ quota: { MODE: 'report' } });
  const reported = await check();
  t.match({ status: reported.status, ...JSON.parse(reported.text) }, { status: 200, would_refuse: true });

  await server.configure({ quota: { MODE: 'enforce' } });
  server.daemon.child.kill('SIGHUP');
  const list = server.socket('gate').replace('.sock', '.refused');
  await until(async () => ((await readFile(list, 'utf8')).includes('/alice/app.git\t') ? true : null));
  await server.stop('SIGKILL');
  const alone = await clone.push();
  t.match(alone, { code: 1, said: /The disk is nearly full: / }, 'without the daemon as well');
  await server.start();
  await server.daemon.logged(/: The disk is nearly full: .*; what grows there is refused$/);

  await rm(ballast);
  await server.daemon.logged(/^enough is free again at /);
  t.notMatch(JSON.parse((await check()).text), { would_refuse: true });
  t.equal((await clone.push()).code, 0);
});

t.test('a size counts bytes, and a share counts files as well', async t => {
  const { server, disk } = await onSmallDisk(t, '16m,nr_inodes=1000', { MIN_FREE: '60%' }, ['alice/app']);
  const check = () =>
    server.ask('gate', '/v1/check', { body: { owner: 'bob', subject: 'size:repos:private' } });
  t.equal((await check()).status, 200);
  const { files } = await statfs(disk);
  const folder = join(disk, 'many');
  await mkdir(folder);
  const names = Array.from({ length: Math.ceil(files / 2) }, (_, at) => join(folder, `f${at}`));
  for (let at = 0; at < names.length; at += 200)
    await Promise.all(names.slice(at, at + 200).map(name => writeFile(name, '')));
  await server.daemon.logged(
    / more files fit, and [\d,]+ have to stay possible; what grows there is refused$/,
  );
  t.equal((await check()).status, 413);
  await server.configure({ disk: { MIN_FREE: '1M' } });
  server.daemon.child.kill('SIGHUP');
  await server.daemon.logged(/^enough is free again at /);
  t.equal((await check()).status, 200);
});
