/**
 * Files that refused pushes and broken uploads leave on the disk: with the worker none, and no byte
 * uncounted. The long run also has a host without a worker, and one with many repositories.
 */

import { cp, mkdir, readlink, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { mountSmall } from '../faults/small-disk.ts';
import { isLong } from '../run-length.ts';
import { until } from './ask.ts';
import { Clone } from './clone.ts';
import { counted } from './count.ts';
import { asUser, gitAs, openForGitUser, startWorker, uid } from './git-user.ts';
import {
  ask,
  attackAll,
  attackBranch,
  attackedRepositories,
  attackedRepository,
  attacks,
  leftBehind,
  openWays,
} from './left-behind.ts';
import { must } from './run.ts';
import { Server } from './server.ts';

t.setTimeout(isLong ? 1_800_000 : 240_000);

/** Nothing may be left so long after the last push. */
const goneWithinMs = 15_000;
const times = isLong ? 10 : 1;
const through = asUser(uid);
const isFirstNamespace = (await readlink('/proc/self/ns/pid')) === 'pid:[4026531836]';
/** The tests' own processes are all that work here. */
const alone = isFirstNamespace ? {} : { reclaim: { ALONE: 'true' } };

/** Time in which all that pushes leave behind counts, where no worker removes it. */
const promisedMs = 130_000;

/** Looks until nothing is left, for as long as something may be. */
async function isGone(t: Test, what: string, look: () => Promise<string>): Promise<void> {
  const endedAt = performance.now();
  let last = await look();
  while (last !== '' && performance.now() - endedAt < goneWithinMs) {
    await delay(200);
    last = await look();
  }
  t.equal(last, '', `${what}, ${((performance.now() - endedAt) / 1000).toFixed(1)} s`);
}

t.test('fifteen seconds after the last attack nothing is left, and each byte counts', async t => {
  const server = await openForGitUser(t, { ...alone, 'quota.default': { TOTAL: '1M' } });
  const ways = await openWays(t, server, through);
  const repositories = await attackedRepositories(server, ways, times);
  await server.installHooks();
  await server.scan();
  await startWorker(t, server);
  await Promise.all([...repositories.values()].map(ask));

  const ends = await attackAll(repositories);
  for (const end of ends) await end();

  await Promise.all(
    [...repositories].map(([scenario, attacked]) => isGone(t, scenario, () => leftBehind(attacked))),
  );
  for (const { bare, owner } of repositories.values()) {
    t.match(await gitAs(bare, 'fsck', '--full', '--strict', '--no-dangling'), { code: 0 });
    await until(
      async () => ((await server.usage(owner)) === (await counted(bare)) ? true : null),
      () => `${owner}: the figure is wrong`,
    );
  }
});

if (isLong) {
  t.test('without a worker all of it counts after 130 seconds, what drips as well', async t => {
    const server = await openForGitUser(t, { 'quota.default': { TOTAL: '1M' } });
    const ways = await openWays(t, server, through);
    const repositories = await attackedRepositories(server, ways, times);
    await server.installHooks();
    await server.scan();
    const ends = await attackAll(repositories);
    await delay(promisedMs);
    for (const [scenario, { bare, owner }] of repositories) {
      // A slow upload has at most a few bytes more by now.
      const [before, used, after] = [await counted(bare), await server.usage(owner), await counted(bare)];
      t.ok(
        before - 100 <= used && used <= after,
        `${scenario}: ${before} bytes on the disk, ${used} counted`,
      );
    }
    for (const end of ends) await end();
  });

  t.test('in one of 20,000 repositories nothing is left after fifteen seconds', async t => {
    const server = await openForGitUser(t, { 'quota.default': { TOTAL: '1M' } });
    const ways = await openWays(t, server, through);
    const bare = join(server.folder, 'empty.git');
    for (const name of ['objects', 'refs']) await mkdir(join(bare, name), { recursive: true });
    await writeFile(join(bare, 'HEAD'), 'ref: refs/heads/main\n');
    for (let at = 0; at < 20_000; at++)
      await cp(bare, server.path(`owner-${at % 500}/repository-${at}`), { recursive: true });
    await must('chown', ['-R', `${uid}:${uid}`, join(server.folder, 'git')]);
    const attacked = await attackedRepository(server, ways, 'attacked', { bytes: 1_200_000, times });
    const hooks = await server.softquota(['hooks', 'install', attacked.bare]);
    t.equal(hooks.code, 0, hooks.stderr);
    await server.scan();
    await startWorker(t, server);
    await ask(attacked);
    for (const name of [
      'refused pushes with a hang-up',
      'uploads broken off before the last bytes',
    ] as const) {
      await attacks[name](attacked);
      await isGone(t, name, () => leftBehind(attacked));
    }
  });
}

t.test('MIN_FREE holds for pushes that are refused, and whose clients hang up', async t => {
  const server = await Server.open(t, { started: false });
  const disk = join(server.folder, 'git');
  await mountSmall(t, disk, '64m');
  const least = 32_000_000;
  await server.configure({ 'quota.default': { TOTAL: '1M' }, disk: { MIN_FREE: String(least) } });
  const ways = await openWays(t, server);
  const bare = await server.repository('alice/app');
  const clone = await Clone.of(server, bare);
  await clone.commit(1_200_000);
  await clone.push();
  await clone.git('checkout', '-q', '--orphan', attackBranch);
  await clone.git('rm', '-rfq', '.');
  const pushBytes = 4_000_000;
  await clone.commit(pushBytes);
  await server.installHooks();
  await server.start();
  const attacked = { server, owner: 'alice', bare, clone, ways, times: isLong ? 40 : 6 };
  await attacks['refused pushes with a hang-up'](attacked);
  const free = await until(async () => {
    const { bavail, bsize } = await statfs(disk);
    return bavail * bsize > least ? bavail * bsize : null;
  });
  t.ok(free > least, `${free} bytes are free`);
  t.ok(attacked.times * ways.length * pushBytes > 64_000_000, 'all of them together fill the disk');
  await until(async () => ((await counted(bare)) < 2_000_000 ? true : null));
  let last: readonly number[] = [];
  const isCounted = async () => {
    last = [await server.usage('alice'), await counted(bare)];
    return last[0] === last[1] || null;
  };
  await until(isCounted, () => `used, and on the disk: ${last}`, promisedMs);
});
