/**
 * A host that starts while the shared store is away, or is killed in the midst of work, goes on with what
 * it knew.
 */

import t from 'tap';
import { startSingle } from '../store/redis-servers.ts';
import { mayPush } from './fleet-hosts.ts';
import { Trial } from './trial.ts';

t.setTimeout(240_000);

t.test(
  'a daemon that starts without the store decides by the policy and the usage that it knew last',
  async t => {
    const { address, servers } = await startSingle(t);
    const [redis] = servers;
    const trial = await Trial.begin(t, address);
    await trial.one.admin('/admin/quota/groups', { body: { name: 'small' } });
    await trial.one.admin('/admin/quota/groups/small/rules/total', { method: 'PUT' });
    await trial.one.admin('/admin/quota/groups/small/users/alice', { method: 'PUT' });
    // Together they store 2000 bytes, each of them less than the limit.
    t.equal(await trial.limit(trial.one, 1500), 200);
    await trial.settled('known everywhere');
    await redis.end();
    for (const server of trial.servers) {
      await server.stop('SIGKILL');
      await server.start({ ready: false });
      t.notOk(await mayPush(server, 'alice'), 'what others store counts, as far as it is known');
      t.ok(await mayPush(server, 'bob'));
      t.equal(await server.usage('alice'), 2000);
    }
    await trial.serves('away at the start');
    await trial.growAll(700);
    await trial.countsHere('away at the start');
    await trial.one.stop();
    await trial.one.start({ ready: false });
    await redis.start();
    await trial.settled('back');
  },
);
