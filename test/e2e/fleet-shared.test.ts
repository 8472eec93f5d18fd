/**
 * A file system that several hosts mount: one of them walks it, it counts once, and all of them answer for
 * it.
 */

import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { startSingle } from '../store/redis-servers.ts';
import { until } from './ask.ts';
import { Clone } from './clone.ts';
import {
  app,
  asked,
  findings,
  forgets,
  isCountedOnce,
  isPassedOn,
  nas,
  pushThrough,
  repositories,
  tell,
  walks,
} from './nas.ts';
import { must } from './run.ts';

t.setTimeout(300_000);

t.test('it counts once, and what is pushed through any host is measured at once', async t => {
  const { address } = await startSingle(t);
  const { disk, fleetHost } = await nas(t, address);
  const one = await fleetHost('one');
  const two = await fleetHost('two');
  await isCountedOnce(disk, one, two);
  t.strictSame(await walks(two), { one: ['nas'], two: [] });
  const clone = await Clone.of(one.server, '/nowhere');
  for (const through of [one, two, one, two, two]) {
    t.notMatch(await pushThrough(through, clone, 200_000), /exceeded/);
    await isPassedOn(disk, through, app, one, two);
  }
  for (const through of [one, two]) {
    t.match(await pushThrough(through, clone, 10), /alice uses 1\.\d+ MB of 1 MB/, 'it is over the limit');
  }

  t.match(JSON.parse((await asked(two, app)).text), {
    owner: 'alice',
    subject: 'size:repos:private',
    allowed: false,
  });
  t.equal((await asked(two, 'git/bob/new.git')).status, 200);

  await must('git', ['init', '-q', '--bare', join(disk, 'git/alice/new.git')]);
  t.equal(await tell(two, 'git/alice/new.git'), 202);
  await isPassedOn(disk, two, 'git/alice/new.git', one, two);
  await rm(join(disk, 'git/alice/new.git'), { recursive: true });
  t.equal(await tell(two, 'git/alice/new.git'), 202);
  await isPassedOn(disk, two, 'git/alice/new.git', one, two);
  await mkdir(join(disk, app, 'lfs'));
  await writeFile(join(disk, app, 'lfs/file'), Buffer.alloc(5000));
  t.equal(await tell(two, `${app}/lfs`), 202);
  await isPassedOn(disk, two, `${app}/lfs`, one, two);
  t.equal((await two.server.usageByLeaf('alice'))['size:git:lfs'], 5000);
  t.equal(
    (await two.server.ask('gate', '/v1/changed', { body: { path: '/elsewhere' } })).status,
    404,
    'what is under no template is told nobody',
  );
  await two.server.scan();
  t.equal(await two.server.reasons(), '', 'who walks nothing has nothing to wait for');
  await isCountedOnce(disk, one, two);
});

t.test('who walked it counts until it is forgotten, and then another walks it', async t => {
  const { address } = await startSingle(t);
  const { disk, fleetHost } = await nas(t, address);
  const one = await fleetHost('one');
  const two = await fleetHost('two');
  await isCountedOnce(disk, one, two);
  await one.server.stop('SIGKILL');
  const before = await two.server.usage('alice');
  t.ok(before > 0, 'it still counts');
  await writeFile(join(disk, app, 'objects/new'), Buffer.alloc(70_000));
  await two.server.scan();
  t.equal(await two.server.usage('alice'), before, 'nobody else walks it');
  await until(async () =>
    /^wrong \(shared_unwalked\): the host one, which walks nas/m.test(await findings(two)) ? true : null,
  );
  await forgets(two, 'one');
  await isCountedOnce(disk, two);
  t.strictSame(await walks(two), { two: ['nas'] });
  t.notMatch(await findings(two), /shared_unwalked/);

  await one.server.start();
  await isCountedOnce(disk, one, two);
  t.strictSame(await walks(one), { one: [], two: ['nas'] }, 'who comes back leaves it to who walks it now');
  await rm(join(disk, app, 'objects/new'));
  t.equal(await tell(one, app), 202);
  await isPassedOn(disk, one, app, one, two);
  await rm(join(disk, 'git/alice'), { recursive: true });
  await two.server.scan();
  for (const { server } of [one, two]) await server.usageIs('alice', bytes => bytes === 0);
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
  await until(async () => ((await walks(two)).two?.includes('nas') ? true : null));
  await isCountedOnce(disk, one, two);

  await one.server.configure(repositories(one.place));
  one.server.daemon.child.kill('SIGHUP');
  await one.server.daemon.logged(/nas is walked by another host/);
  await one.server.scan();
  await isCountedOnce(disk, one, two);
});
