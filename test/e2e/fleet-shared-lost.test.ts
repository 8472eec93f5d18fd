/**
 * The walker of what several hosts mount, where Redis is away or was emptied, and where app.ini says
 * something else.
 */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { startSingle } from '../store/redis-servers.ts';
import { counted } from './count.ts';
import { app, asked, isCountedOnce, nas, repositories, walks, walksIs } from './nas.ts';

t.setTimeout(300_000);

t.test('an emptied store has one that walks it again, the same', async t => {
  const { address, servers } = await startSingle(t);
  const { disk, fleetHost } = await nas(t, address);
  const one = await fleetHost('one');
  const two = await fleetHost('two');
  await isCountedOnce(disk, one, two);
  await servers[0].cli('flushall');
  await walksIs(two, 'one');
  await isCountedOnce(disk, one, two);
  for (const { server } of [one, two]) await server.ready();
  await one.server.stop();
  const before = two.server.daemon.lines.length;
  await servers[0].cli('flushall');
  await two.server.daemon.logged(/had lost the policy in force: it is written again/, before);
  await two.server.scan();
  await isCountedOnce(disk, two);
  t.notMatch(await walks(two), { two: ['nas'] }, 'what one said of it counts until it is forgotten');
  await one.server.start({ ready: false });
  await walksIs(two, 'one');
  await isCountedOnce(disk, one, two);
});

t.test('while the store is away, also at the start, who walked it last does', async t => {
  const { address, servers } = await startSingle(t);
  const { disk, fleetHost } = await nas(t, address);
  const one = await fleetHost('one');
  const two = await fleetHost('two');
  await isCountedOnce(disk, one, two);
  for (const { server } of [one, two]) await server.stop();
  await servers[0].end();
  for (const { server } of [one, two]) await server.start({ ready: false });
  await writeFile(join(disk, 'git/alice/app.git/objects/new'), Buffer.alloc(70_000));
  for (const { server } of [one, two]) await server.scan();
  await isCountedOnce(disk, one);
  t.ok((await two.server.usage('alice')) > 0, 'the other one knows what it knew');
  t.equal((await asked(two, app)).status, 200);
  await servers[0].start();
  for (const { server } of [one, two]) await server.ready();
  await isCountedOnce(disk, one, two);
  await walksIs(one, 'one');
});

t.test('a host that no longer names it leaves it to another', async t => {
  const { address } = await startSingle(t);
  const { disk, fleetHost } = await nas(t, address);
  const one = await fleetHost('one');
  const two = await fleetHost('two');
  await isCountedOnce(disk, one, two);
  await one.server.configure({
    'storage.repos': { PATH: null, SHARED: null },
    'storage.lfs': { PATH: null, SHARED: null },
  });
  one.server.daemon.child.kill('SIGHUP');
  await walksIs(two, 'two');
  await isCountedOnce(disk, one, two);

  await one.server.configure(repositories(one.place));
  one.server.daemon.child.kill('SIGHUP');
  await one.server.daemon.logged(/nas is walked by another host/);
  await one.server.scan();
  await isCountedOnce(disk, one, two);
});

t.test('a host that walked it for itself and now names it, as another does, counts it no more', async t => {
  const { address } = await startSingle(t);
  const { disk, fleetHost } = await nas(t, address);
  const one = await fleetHost('one');
  const two = await fleetHost('two');
  await two.server.configure(repositories(two.place, null));
  two.server.daemon.child.kill('SIGHUP');
  const bytes = await counted(join(disk, 'git/alice'));
  await one.server.usageIs('alice', known => known === 2 * bytes);
  await two.server.configure(repositories(two.place));
  two.server.daemon.child.kill('SIGHUP');
  await isCountedOnce(disk, one, two);
});
