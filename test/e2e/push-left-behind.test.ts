/**
 * Files that refused pushes and broken uploads leave on the disk: with the worker none, and no byte
 * uncounted.
 */

import { spawn } from 'node:child_process';
import { readlink } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { isLong } from '../run-length.ts';
import { until } from './ask.ts';
import { counted } from './count.ts';
import { asGitUser, asUser, gitAs, openForGitUser, startWorker, uid } from './git-user.ts';
import {
  type Attacked,
  ask,
  attackAll,
  attackBranch,
  attackedRepositories,
  descendantsOf,
  leftBehind,
  openWays,
  quarantinesIn,
} from './left-behind.ts';
import { wholePush } from './raw-push.ts';
import { must, plainEnvironment } from './run.ts';

t.setTimeout(isLong ? 900_000 : 240_000);

/** Nothing may be left so long after the last push. */
const goneWithinMs = 15_000;
const times = isLong ? 10 : 1;
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
