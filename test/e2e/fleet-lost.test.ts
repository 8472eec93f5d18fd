/**
 * The shared store comes back without what it had: hosts write it again. Or with another policy: the one that
 * is known stays in force until somebody decides.
 */

import { copyFile, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { type Server as Redis, startSingle } from '../store/redis-servers.ts';
import { until } from './ask.ts';
import type { Server } from './server.ts';
import { rulesOf, Trial } from './trial.ts';

t.setTimeout(240_000);

/** All say that the policy in the store is not the known one, and rule nothing; the known one decides. */
async function hasDiverged(t: Test, trial: Trial, said: RegExp): Promise<void> {
  for (const server of trial.servers) {
    await until(
      async () => (said.test(await server.reasons()) ? true : null),
      () => `${said} is not said\n${server.daemon.log}`,
    );
    t.match(await server.softquota(['doctor', '--json']), { stdout: /policy_diverged/ });
    t.equal(await trial.limit(server, 5), 503, 'nothing is ruled');
    t.equal((await rulesOf(server)).get('total'), 7, 'the known policy is in force');
  }
}

async function repaired(on: Server, option: '--known' | '--stored'): Promise<string> {
  const { code, stdout, stderr } = await on.softquota(['store', 'repair', option, '--yes']);
  if (code !== 0) throw new Error(`repair: ${code}\n${stdout}${stderr}`);
  return stdout;
}

const repairNothing = (on: Server) => on.softquota(['store', 'repair', '--known', '--yes']);

/** Keeps nothing of what it had. */
async function forgetFiles({ directory }: Redis): Promise<void> {
  for (const name of await readdir(directory)) await rm(join(directory, name), { recursive: true });
}

/** Another policy in the store than the hosts know. */
const becomesAnother = (redis: Redis) => redis.cli('hset', 'softquota:policy', 'generation', 'another');

t.test(
  'a Redis that was started without its files, with older ones, and with those of another policy',
  async t => {
    const { address, servers } = await startSingle(t);
    const [redis] = servers;
    const trial = await Trial.begin(t, address);
    t.equal(await trial.limit(trial.one, 7), 200);
    await trial.settled('known everywhere');

    await redis.end('SIGKILL');
    await forgetFiles(redis);
    await trial.growAll(300);
    await redis.start();
    await trial.settled('without its files');

    await redis.cli('save');
    const backup = join(redis.directory, '..', 'backup.rdb');
    await copyFile(join(redis.directory, 'dump.rdb'), backup);
    t.equal(await trial.limit(trial.one, 3), 200);
    t.equal(await trial.limit(trial.two, 7), 200);
    await trial.growAll(500);
    await trial.settled('after the backup');
    await redis.end('SIGKILL');
    await forgetFiles(redis);
    await copyFile(backup, join(redis.directory, 'dump.rdb'));
    // With an append-only file asked for, Redis would not look at the snapshot.
    await redis.start('--appendonly', 'no');
    await trial.growAll(100);
    await trial.settled('with older files, to which the hosts write the changes again');
    t.match(await repairNothing(trial.two), { code: 1, stderr: /nothing to repair/ });

    await becomesAnother(redis);
    await hasDiverged(t, trial, /does not continue the known one/);
    await repaired(trial.one, '--known');
    await trial.settled('the known one, by decision');
    await becomesAnother(redis);
    await hasDiverged(t, trial, /does not continue the known one/);
    await repaired(trial.one, '--stored');
    await trial.takeAsItIs();
    await trial.settled('the other one, by decision');
    t.equal((await rulesOf(trial.two)).get('total'), 7);
  },
);
