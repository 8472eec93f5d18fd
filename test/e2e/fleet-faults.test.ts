/**
 * The shared store, or the way to it, fails for a while: hosts serve what they know, and then all is as the
 * disks and the rulers say.
 */

import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { isLong } from '../run-length.ts';
import { comes, startServer, startSingle } from '../store/redis-servers.ts';
import { Passage, type Way } from './passage.ts';
import { Trial } from './trial.ts';

t.setTimeout(240_000);

/** For how much longer Redis is stopped: in a long run a minute. */
const stoppedMs = isLong ? 60_000 : 0;

const ways: Readonly<Record<string, Way>> = {
  'the way refuses all': { does: 'refuses' },
  'the way takes seconds': { does: 'delays', ms: 1500 },
  'the way cuts each connection': { does: 'cuts', afterBytes: 100 },
};

t.test('a Redis that hangs, is killed, becomes a replica or is full, and a bad way to it', async t => {
  const { servers } = await startSingle(t);
  const [redis] = servers;
  const passage = await Passage.to(t, redis.port);
  const trial = await Trial.begin(t, `redis://127.0.0.1:${passage.port}/0`);
  for (const [what, way] of Object.entries(ways)) {
    await trial.survives(what, {
      begin: () => passage.become(way),
      end: () => passage.become({ does: 'passes' }),
    });
  }
  await trial.survives('hangs', {
    begin: () => redis.halt(),
    end: async () => {
      await delay(stoppedMs);
      await trial.serves('still stopped');
      redis.go();
    },
  });
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
