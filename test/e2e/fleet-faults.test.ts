/**
 * The shared store fails for a while: hosts serve what they know, and then all is as the disks and the
 * rulers say.
 */

import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { isLong } from '../run-length.ts';
import { comes, startServer, startSingle } from '../store/redis-servers.ts';
import { Trial } from './trial.ts';

t.setTimeout(240_000);

/** For how long Redis is stopped: in a long run a minute. */
const stoppedMs = isLong ? 60_000 : 3000;

t.test('a Redis that hangs, ends, is killed, becomes a replica or is full', async t => {
  const { address, servers } = await startSingle(t);
  const [redis] = servers;
  const trial = await Trial.begin(t, { address });
  await trial.survives('hangs', { begin: () => redis.halt(), end: () => redis.go() });
  await trial.survives(`is stopped for ${stoppedMs / 1000} s`, {
    begin: () => redis.halt(),
    end: async () => {
      await delay(stoppedMs);
      await trial.serves('still stopped');
      redis.go();
    },
  });
  await trial.survives('ends', { begin: () => redis.end(), end: () => redis.start() });
  await trial.survives('is killed', { begin: () => redis.end('SIGKILL'), end: () => redis.start() });

  const copy = await startServer(t, {
    directory: redis.directory,
    settings: ['--replicaof', '127.0.0.1', String(redis.port), '--repl-diskless-sync-delay', '0'],
  });
  const isLinked = async (from: typeof copy) =>
    (await from.cli('info', 'replication')).includes('master_link_status:up');
  await trial.survives('becomes a replica', {
    begin: async () => {
      await comes('the copy', () => isLinked(copy));
      await copy.cli('replicaof', 'no', 'one');
      await redis.cli('replicaof', '127.0.0.1', String(copy.port));
      await comes('the replica', () => isLinked(redis));
    },
    end: () => redis.cli('replicaof', 'no', 'one'),
  });
  await trial.survives('is full', {
    begin: () => redis.cli('config', 'set', 'maxmemory', '1'),
    end: () => redis.cli('config', 'set', 'maxmemory', '0'),
  });
});
