/**
 * A server of a Cluster loses what owners store, and not the policy: within seconds it is told again by
 * everybody.
 */

import { join } from 'node:path';
import t from 'tap';
import { type Server as Redis, startCluster } from '../store/redis-servers.ts';
import { counted } from './count.ts';
import { type Owner, owners, Trial } from './trial.ts';

t.setTimeout(240_000);

t.test('masters of a Cluster without the policy are emptied', async t => {
  const { address, servers } = await startCluster(t);
  const trial = await Trial.begin(t, { address, hosts: ['one', 'two', 'three'] });
  const masters = servers.slice(0, 3);
  const has = async (server: Redis, key: string) =>
    (await server.cli('--raw', 'exists', key).catch(() => '')).trim() === '1';
  const havePolicy = await Promise.all(masters.map(master => has(master, '{softquota}:policy')));
  const emptied = masters.filter((_, index) => !havePolicy[index]);
  t.equal(emptied.length, 2);

  // Nobody else can tell what one that has ended stores.
  await trial.at(2).stop();
  const onDisks = async (owner: Owner) => {
    const sizes = trial.servers.map(({ folder }) => counted(join(folder, 'lfs', owner)));
    return (await Promise.all(sizes)).reduce((sum, bytes) => sum + bytes, 0);
  };
  const living = trial.without(2);
  const isAsOnDisks = async () => {
    for (const owner of owners) {
      const bytes = await onDisks(owner);
      for (const server of living.servers) await server.usageIs(owner, known => known === bytes);
    }
  };
  await isAsOnDisks();
  for (const master of emptied) await master.cli('flushall');
  // Changes meanwhile take nothing away that the store has lost.
  await living.growAll(900);
  for (const { daemon } of living.servers) await daemon.logged(/has lost usage of this host/);
  await isAsOnDisks();
  t.equal(await trial.limit(trial.one, 7), 200, 'the policy is as it was, and can be changed');

  // A host that starts now knows nothing but what the store has.
  const fourth = await trial.fleetHost('four');
  trial.servers.push(fourth);
  living.servers.push(fourth);
  await isAsOnDisks();
  await trial.at(2).start();
  await trial.settled('with all of them');
});
