/**
 * Files that refused pushes and broken uploads leave on the disk: with the worker none, and no byte
 * uncounted.
 */

import { spawn } from 'node:child_process';
import { readlink, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { mountSmall } from '../faults/small-disk.ts';
import { isLong } from '../run-length.ts';
import { until } from './ask.ts';
import { Clone } from './clone.ts';
import { counted } from './count.ts';
import { asGitUser, asUser, gitAs, openForGitUser, startWorker, uid } from './git-user.ts';
import {
  type Attacked,
  addHook,
  ask,
  attackAll,
  attackBranch,
  attackBytes,
  attackedRepositories,
  attackedRepository,
  attacks,
  descendantsOf,
  leftBehind,
  openWays,
  quarantinesIn,
} from './left-behind.ts';
import { wholePush } from './raw-push.ts';
import { must, plainEnvironment } from './run.ts';
import { Server } from './server.ts';

t.setTimeout(isLong ? 900_000 : 240_000);

/** Nothing may be left so long after the last push. */
const goneWithinMs = 15_000;
const times = isLong ? 10 : 3;
const through = asUser(uid);
const isFirstNamespace = (await readlink('/proc/self/ns/pid')) === 'pid:[4026531836]';
/** The tests' own processes are all that work here. */
const alone = isFirstNamespace ? {} : { reclaim: { ALONE: 'true' } };

/** A push of which half is there, and whose processes are stopped; gives how to let it end. */
async function heldPush(t: Test, { bare, clone, ways, owner }: Attacked) {
  const [local] = ways;
  if (local === undefined) throw new Error('there is no way to push');
  const whole = await wholePush(clone, await clone.git('rev-parse', attackBranch), `held-${owner}`);
  const push = await local.begin(bare, whole.length);
  await push.send(whole.subarray(0, whole.length / 2));
  await until(async () => ((await quarantinesIn(bare)).length === 1 ? true : null));
  const pids = [push.pid ?? 0, ...(await descendantsOf(push.pid ?? 0))];
  for (const pid of pids) process.kill(pid, 'SIGSTOP');
  t.teardown(() => push.leave(Buffer.alloc(0)));
  return {
    quarantines: await quarantinesIn(bare),
    end: async () => {
      for (const pid of pids) process.kill(pid, 'SIGCONT');
      await push.send(whole.subarray(whole.length / 2));
      await push.ended;
      return must('git', ['--git-dir', bare, 'rev-parse', `refs/heads/held-${owner}`]);
    },
  };
}

/**
 * Waits until all that is stored counts; gives the bytes outside of quarantines. A quarantine that no hook
 * has seen, since the hang-up ended git before, counts after two minutes.
 */
async function countsAll(server: Server, owner: string, bare: string): Promise<number> {
  let last = '';
  return until(
    async () => {
      const bytes = await counted(bare);
      const broken = (await quarantinesIn(bare)).map(name => join(bare, 'objects', name));
      const stored = await counted(bare, broken);
      const used = await server.usage(owner);
      last = `${bytes} bytes on the disk, ${stored} outside of quarantines, ${used} counted`;
      return bytes === used || stored === used ? stored : null;
    },
    () => `${owner}: ${last}`,
  );
}

t.test('fifteen seconds after the last attack nothing is left, and each byte counts', async t => {
  const server = await openForGitUser(t, { ...alone, 'quota.default': { TOTAL: '1M' } });
  const ways = await openWays(t, server, through);
  const repositories = await attackedRepositories(server, ways, times);
  await server.installHooks();
  await server.scan();
  await startWorker(t, server);
  await Promise.all([...repositories.values()].map(ask));

  const beside = repositories.get('uploads broken off before the last bytes');
  if (beside === undefined) throw new Error('there is no such scenario');
  const held = await heldPush(t, beside);
  const [command, args] = asGitUser('git', ['cat-file', '--batch']);
  const reader = spawn(command, args, {
    cwd: beside.bare,
    env: plainEnvironment,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  t.teardown(() => reader.kill());

  const ends = await attackAll(repositories);
  for (const end of ends) await end();
  const endedAt = performance.now();

  const left = async (scenario: string, attacked: Attacked): Promise<string> => {
    if (attacked !== beside) return leftBehind(attacked);
    const others = (await quarantinesIn(attacked.bare)).filter(name => !held.quarantines.includes(name));
    return others.length === 0 ? '' : `${scenario}: ${others.length} quarantines beside the one that is held`;
  };
  await Promise.all(
    [...repositories].map(async ([scenario, attacked]) => {
      let last = 'never looked';
      while (performance.now() - endedAt < goneWithinMs && last !== '') {
        last = await left(scenario, attacked);
        if (last !== '') await delay(200);
      }
      t.equal(last, '', `${scenario}, ${((performance.now() - endedAt) / 1000).toFixed(1)} s`);
    }),
  );

  t.strictSame(await quarantinesIn(beside.bare), held.quarantines, 'what a stopped push owns stays');
  t.match(await held.end(), /^[0-9a-f]{40}$/, 'and it ends well');
  for (const { bare, owner } of repositories.values()) {
    t.match(await gitAs(bare, 'fsck', '--full', '--strict', '--no-dangling'), { code: 0 });
    await until(
      async () => ((await server.usage(owner)) === (await counted(bare)) ? true : null),
      () => `${owner}: the figure is wrong`,
    );
  }
});

t.test('without a worker, a refused push leaves no byte, whoever hangs up', async t => {
  const server = await openForGitUser(t, { 'quota.default': { TOTAL: '1M' } });
  const ways = await openWays(t, server, through);
  const over = await attackedRepository(server, ways, 'over', { bytes: 1_200_000, times });
  const later = await attackedRepository(server, ways, 'later', { bytes: 1000, times });
  await server.installHooks();
  await server.scan();
  await attacks['refused pushes with a hang-up'](over);
  await attacks['pushes refused by a later hook'](later);
  for (const { bare, owner } of [over, later]) {
    await countsAll(server, owner, bare);
    // The hang-up may end git before it has unpacked all, and so before the hook.
    for (const name of await quarantinesIn(bare)) {
      const bytes = await counted(join(bare, 'objects', name));
      t.ok(bytes < attackBytes, `${owner}: ${name} has ${bytes} bytes, which is no whole push`);
    }
  }
});

t.test('the next push at once, whose quarantine has the same inode, is decided anew', async t => {
  const server = await Server.open(t, {
    ini: { quota: { PRECISE: 'true' }, 'quota.default': { TOTAL: '1M' } },
    repositories: ['alice/app'],
  });
  const bare = server.path('alice/app');
  await addHook(bare, 'pre-receive.d/50-no', 'exit 1');
  const clone = await Clone.of(server, bare);
  await clone.commit(1000);
  await clone.git('checkout', '-q', '--orphan', 'large');
  await clone.commit(1_500_000);
  for (let round = 0; round < times * 3; round++) {
    const small = await clone.push(['main']);
    t.match(small, { code: 1, said: '' }, 'the later hook refuses what may go on');
    const large = await clone.push(['large:main']);
    t.match(large, { code: 1, said: /^Not enough quota left: / }, 'and the next is too large');
  }
  const stored = await counted(bare);
  t.ok(stored < 200_000);
  await server.usageIs('alice', used => used === stored);
});

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
  t.ok((await countsAll(server, 'alice', bare)) < 2_000_000);
});
