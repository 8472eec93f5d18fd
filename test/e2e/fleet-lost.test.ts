/**
 * The shared store comes back without what it had: hosts write it again. Or with another policy: the one that
 * is known stays in force until somebody decides.
 */

import { copyFile, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { type Server as Redis, startSingle } from '../store/redis-servers.ts';
import { until } from './ask.ts';
import { rule } from './fleet-hosts.ts';
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

t.test('an emptied store is given the policy and the usage again', async t => {
  const { address, servers } = await startSingle(t);
  const [redis] = servers;
  const trial = await Trial.begin(t, { address, hosts: ['one', 'two', 'three'] });
  t.equal(await trial.limit(trial.one, 7), 200);
  await trial.settled('known everywhere');
  // One that has ended cannot tell again what it stores, and counts until it is forgotten.
  await trial.at(2).stop();
  const all = await trial.one.usage('alice');
  await redis.cli('flushall');
  await until(async () => ((await redis.cli('exists', 'softquota:policy')) === '1' ? true : null));
  for (const server of trial.without(2).servers) t.equal((await rulesOf(server)).get('total'), 7);
  const listed = JSON.parse((await trial.one.softquota(['host', 'list', '--json'])).stdout);
  t.match(
    listed.find(({ id }: { readonly id: string }) => id === 'three'),
    { alive: false, owners: 2, bytes: 2000, silent_seconds: Number },
    'one that the store has lost is listed, as it counts',
  );
  await trial.without(2).growAll(900);
  await trial.one.usageIs('alice', bytes => bytes === all + 1800);
  await trial.two.usageIs('alice', bytes => bytes === all + 1800);
  t.match(await repairNothing(trial.two), { code: 1, stderr: /nothing to repair/ });
  await trial.at(2).start();
  await trial.settled('emptied');
  t.equal(await trial.limit(trial.at(2), 8), 200, 'and it is ruled again, on each host');
  await trial.settled('ruled again');
});

t.test(
  'a Redis that was started without its files, with older ones, and with those of another policy',
  async t => {
    const { address, servers } = await startSingle(t);
    const [redis] = servers;
    const trial = await Trial.begin(t, { address });
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

t.test('two administrators who repair in two ways at once: one of them decides for all', async t => {
  const { address, servers } = await startSingle(t);
  const trial = await Trial.begin(t, { address });
  t.equal(await trial.limit(trial.one, 7), 200);
  await trial.settled('known everywhere');
  await becomesAnother(servers[0]);
  await hasDiverged(t, trial, /does not continue the known one/);
  const answers = await Promise.all([
    rule(trial.one, '/store/repair', { body: { policy: 'known' } }),
    rule(trial.two, '/store/repair', { body: { policy: 'stored' } }),
  ]);
  t.strictSame(answers.map(({ status }) => status).sort(), [204, 409], 'the other one is told');
  await trial.takeAsItIs();
  await trial.settled('repaired');
});
