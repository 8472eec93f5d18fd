/**
 * The server that has all of it is killed under load: another one takes its place, and nobody notices but
 * those who rule.
 */

import t, { type Test } from 'tap';
import { isLong } from '../run-length.ts';
import { comes, type Server, startSentinels } from '../store/redis-servers.ts';
import { Load } from './load.ts';
import { Trial } from './trial.ts';

t.setTimeout(240_000);

/** In a long run the one that took the place is killed, too, once the first is back. */

/** Enough of a load to be killed in the midst of. */
const changesBefore = 10;

/** Kills a server under load, and has all go on until many more changes were acknowledged. */
async function survivesKill(t: Test, load: Load, master: Server): Promise<void> {
  await load.rulesMore(changesBefore);
  const killed = performance.now();
  await master.end('SIGKILL');
  await load.pushesMore(2);
  await load.rulesMore(1);
  t.comment(
    `changes are acknowledged again ${((performance.now() - killed) / 1000).toFixed(1)} s after the kill`,
  );
  await load.rulesMore(changesBefore);
}

/** The server may be told meanwhile whose replica it is, and then ends its connections. */
async function becomesReplica(server: Server): Promise<void> {
  await comes('the old master as a replica', async () => {
    const said = await server.cli('info', 'replication').catch(() => '');
    return said.includes('master_link_status:up');
  });
}

async function settles(t: Test, trial: Trial, load: Load): Promise<void> {
  await load.end();
  t.comment(`answers to administrators: ${JSON.stringify(Object.fromEntries(load.ruled))}`);
  t.comment(`${load.pushes} pushes, the slowest took ${load.slowestPushMs.toFixed(0)} ms`);
  const statuses = [...load.ruled.keys()].filter(status => status !== 201 && status !== 503);
  t.strictSame(statuses, [], 'a change is acknowledged, or it is said that the store is away');
  await trial.settled('at the end');
}

t.test(
  'a master that is killed under load gives way to a replica that has all that was acknowledged',
  async t => {
    const { address, master } = await startSentinels(t);
    const trial = await Trial.begin(t, { address, ini: { store: { WAIT_REPLICAS: '1' } } });
    const load = await Load.on(trial);
    const first = await master();
    await survivesKill(t, load, first);
    const second = await master();
    t.not(second.port, first.port);
    if (isLong) {
      await first.start();
      await becomesReplica(first);
      await survivesKill(t, load, second);
    }
    await settles(t, trial, load);
  },
);
