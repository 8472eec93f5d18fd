/** app.ini: every fault at once, secrets masked, and what changes while the daemon runs. */

import { existsSync } from 'node:fs';
import { appendFile, mkdir, open, readFile, writeFile } from 'node:fs/promises';
import t from 'tap';
import { isLong } from '../run-length.ts';
import { until } from './ask.ts';
import { Server } from './server.ts';

const reloads = isLong ? 1500 : 45;
t.setTimeout(isLong ? 1_200_000 : 240_000);

t.test('SIGHUP puts a new limit in force at the next push, and a faulty file changes nothing', async t => {
  const server = await Server.open(t, { repositories: ['alice/app'] });
  const clone = await server.filled('alice/app', 1_500_000);
  await clone.commit(10);
  t.equal((await clone.push()).code, 1);
  const { daemon } = server;

  await server.configure({ 'quota.default': { TOTAL: '10M' } });
  daemon.child.kill('SIGHUP');
  t.match(await daemon.logged(/configuration is reloaded/), { changed: ['[quota.default] TOTAL'] });
  t.match(await clone.push(), { code: 0, said: '' });

  const sound = await readFile(server.config, 'utf8');
  await server.configure({ 'quota.default': { TOTAL: '1' } });
  await appendFile(server.config, '[quota.default]\nTOTAL = a lot\n[nonsense]\n');
  daemon.child.kill('SIGHUP');
  const line = await daemon.logged(/the configuration is not changed/);
  t.match(line, { faults: 2, msg: /TOTAL[\s\S]*nonsense/ });
  await clone.commit(10);
  t.equal((await clone.push()).code, 0, 'the old one is in force');

  await writeFile(server.config, '');
  daemon.child.kill('SIGHUP');
  await daemon.logged(/the configuration is not changed:\n.*\[quota\] ENABLED.* was there before/);
  t.equal((await clone.push()).code, 0, 'an empty file lifts no limit');
  await clone.commit(12_000_000);
  await clone.push();
  await clone.commit(10);
  t.equal((await clone.push()).code, 1, 'and forgets no usage');
  t.match((await server.softquota('doctor')).stdout, /still uses the version before: .*\[quota\] ENABLED/);

  await writeFile(server.config, sound);
  await server.configure({ server: { HOST_ID: 'other' }, 'quota.default': { TOTAL: '1' } });
  daemon.child.kill('SIGHUP');
  t.match(await daemon.logged(/next start/), { changed: ['[server] HOST_ID'], msg: /\[server\] HOST_ID/ });
  await clone.commit(10);
  t.equal((await clone.push()).code, 1, 'what can change has');
  t.ok(daemon.isRunning);
});

t.test('SIGHUP while the daemon starts is answered once it runs', async t => {
  const server = await Server.open(t, { started: false });
  const daemon = server.startOnDemand({});
  await until(() => (existsSync(`${server.folder}/data/softquota.db`) ? true : null));
  await server.configure({ 'quota.default': { TOTAL: '10M' } });
  daemon.child.kill('SIGHUP');
  t.match(await daemon.logged(/configuration is reloaded/), { changed: ['[quota.default] TOTAL'] });
});

t.test('a storage that is added while the daemon runs is measured without a restart', async t => {
  const server = await Server.open(t, { ini: { 'storage.packages': { PATH: null } } });
  await writeFile(`${server.folder}/attachments/note`, 'in no unit');
  const packages = `${server.folder}/packages`;
  await mkdir(`${packages}/alice/npm`, { recursive: true });
  await writeFile(`${packages}/alice/npm/a.tgz`, Buffer.alloc(4321));
  t.equal(await server.usage('alice'), 0);
  await server.configure({ 'storage.packages': { PATH: `${packages}/{owner}` } });
  server.daemon.child.kill('SIGHUP');
  await server.usageIs('alice', used => used === 4321);
  t.strictSame(await server.usageByLeaf('alice'), { 'size:assets:packages:all': 4321 });
});

t.test(`over ${reloads} reloads of an app.ini that is cut no limit is lifted and no usage falls`, async t => {
  const server = await Server.open(t, { repositories: ['alice/app'], started: false });
  for (const [owner, bytes] of [
    ['alice', 1_000_000],
    ['bob', 2000],
  ] as const) {
    await mkdir(`${server.folder}/lfs/${owner}`);
    await writeFile(`${server.folder}/lfs/${owner}/object`, Buffer.alloc(bytes));
  }
  const env = { SOFTQUOTA__SERVER__DATA_PATH: `${server.folder}/data` };
  await server.start({ env });
  const owners = ['alice', 'bob'];
  const usage = () => Promise.all(owners.map(owner => server.usage(owner)));
  const known = await usage();
  t.ok(known[0] && known[0] > 1_000_000 && known[1] === 2000, known.join());
  const whole = await readFile(server.config, 'utf8');

  let isOver = false;
  const asked = { checks: 0, figures: 0, allowed: 0, fallen: 0 };
  const checkOn = async () => {
    while (!isOver) {
      const { status } = await server.ask('gate', '/v1/check?owner=alice&subject=size:git:lfs');
      asked.checks += 1;
      if (status !== 413) asked.allowed += 1;
    }
  };
  const lookOn = async () => {
    while (!isOver) {
      const seen = await usage();
      asked.figures += 1;
      if (seen.some((bytes, at) => bytes < (known[at] ?? 0))) asked.fallen += 1;
    }
  };
  /** Writes it in place, piece by piece; SIGHUP comes after so many bytes. */
  const rewrite = async (bytes: number) => {
    const file = await open(server.config, 'w');
    await file.write(whole.slice(0, bytes));
    server.daemon.child.kill('SIGHUP');
    await file.write(whole.slice(bytes));
    await file.close();
  };
  const reloadOn = async () => {
    for (let turn = 0; turn < reloads; turn++) {
      const from = server.daemon.lines.length;
      const bytes = Math.floor((turn * whole.length) / reloads);
      if (turn % 3 === 0) await rewrite(bytes);
      else {
        await writeFile(server.config, turn % 3 === 1 ? whole.slice(0, bytes) : whole);
        server.daemon.child.kill('SIGHUP');
      }
      const { msg } = await server.daemon.logged(/configuration is (?:reloaded|not changed)/, from);
      if (turn % 3 === 1) t.match(msg, /not changed/, `the first ${bytes} bytes are refused`);
      if (turn % 3 === 2) t.match(msg, /reloaded/);
    }
    isOver = true;
  };
  await Promise.all([reloadOn(), checkOn(), lookOn()]).finally(() => {
    isOver = true;
  });
  t.match(asked, { allowed: 0, fallen: 0 });
  t.ok(asked.checks > 0 && asked.figures > 0, `${asked.checks} checks, ${asked.figures} looks`);
  await writeFile(server.config, whole);

  const cuts = [
    0,
    whole.indexOf('/{owner}/{repo}.git') + '/{owner}'.length,
    whole.indexOf('[storage.lfs]'),
    whole.length,
  ];
  for (const bytes of cuts) {
    await server.stop();
    await writeFile(server.config, whole.slice(0, bytes));
    await server.start({ env });
    await server.scan();
    t.strictSame(await usage(), known, `after a start with the first ${bytes} bytes`);
  }
  t.notMatch((await server.softquota('doctor', { env })).stdout, /app\.ini lacks/, 'all is back');
});
