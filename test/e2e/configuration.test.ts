/** app.ini: every fault at once, secrets masked, and what changes while the daemon runs. */

import { existsSync } from 'node:fs';
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import t from 'tap';
import { until } from './ask.ts';
import { Server } from './server.ts';

t.setTimeout(240_000);

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
