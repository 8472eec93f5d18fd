/**
 * A file system that several hosts mount: one of them walks it, it counts once, and all of them answer for
 * it.
 */

import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { until } from './ask.ts';
import { Clone } from './clone.ts';
import { counted } from './count.ts';
import {
  app,
  asked,
  findings,
  forgets,
  isCountedOnce,
  isPassedOn,
  nas,
  pushThrough,
  setRoots,
  tell,
  walksIs,
} from './nas.ts';
import { must } from './run.ts';

t.setTimeout(300_000);

t.test('it counts once, and what is pushed through any host is measured at once', async t => {
  const { disk, one, two } = await nas(t);
  await walksIs(two, { one: 1, two: 0 });
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

t.test('a push counts at once on the host that it went through, before anybody has walked', async t => {
  const { disk, one, two } = await nas(t);
  const clone = await Clone.of(one.server, '/nowhere');
  one.server.daemon.child.kill('SIGSTOP');
  t.notMatch(await pushThrough(two, clone, 700_000), /exceeded/);
  const reserved = `/v1/check?path=${join(two.place, app)}`;
  t.match(JSON.parse((await two.server.ask('gate', reserved)).text), { allowed: true });
  t.notMatch(await pushThrough(two, clone, 700_000), /exceeded/);
  t.match(await pushThrough(two, clone, 10), /alice uses 1\.\d+ MB of 1 MB/, 'what both bring counts');
  one.server.daemon.child.kill('SIGCONT');
  await isPassedOn(disk, two, app, one, two);
  const { used } = JSON.parse((await two.server.ask('gate', reserved)).text);
  t.equal(used, await counted(join(disk, 'git/alice')), 'the walk has taken its place');
});

t.test('the host that walked it counts until another one is told to walk it', async t => {
  const { disk, one, two } = await nas(t);
  await walksIs(two, { one: 1, two: 0 });
  await one.server.stop('SIGKILL');
  const before = await two.server.usage('alice');
  t.ok(before > 0, 'it still counts');
  await writeFile(join(disk, app, 'objects/new'), Buffer.alloc(70_000));
  await two.server.scan();
  t.equal(await two.server.usage('alice'), before, 'nobody else walks it');
  await until(async () =>
    /^wrong \(shared_unwalked\): the host one, which walks \S+git, has sent nothing/m.test(
      await findings(two),
    )
      ? true
      : null,
  );
  await forgets(two, 'one');
  await until(async () =>
    /^wrong \(shared_unwalked\): no host walks \S+git, which the host two leaves/m.test(await findings(two))
      ? true
      : null,
  );
  await setRoots(two, 'all');
  await isCountedOnce(disk, two);
  t.notMatch(await findings(two), /shared_unwalked/);

  await one.server.configure({ scan: { ROOTS: 'none' } });
  await one.server.start();
  await isCountedOnce(disk, one, two);
  await walksIs(one, { one: 0, two: 1 });
  await rm(join(disk, app, 'objects/new'));
  t.equal(await tell(one, app), 202);
  await isPassedOn(disk, one, app, one, two);
  await rm(join(disk, 'git/alice'), { recursive: true });
  await two.server.scan();
  for (const { server } of [one, two]) await server.usageIs('alice', bytes => bytes === 0);
});
