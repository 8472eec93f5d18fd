/** Work on one disk is done one at a time, and whoever waits for work that is not done learns of it. */

import { stat } from 'node:fs/promises';
import t from 'tap';
import { DiskQueues } from '../../../src/git/worker/disk-queues.ts';

t.test('what waits while the queues are closed is dropped, and told so', async t => {
  const queues = new DiskQueues();
  const { promise: running, resolve: end } = Promise.withResolvers<void>();
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const first = queues.run('/', async () => {
    begin();
    await running;
    return 'done';
  });
  await begun;
  const stopped = { code: 'not_ready', message: 'the worker has stopped' };
  const second = t.rejects(
    queues.run('/', async () => {}),
    stopped,
  );
  // It waits by the time that the disk is known.
  await stat('/');
  const closed = queues.close();
  end();
  await second;
  await t.rejects(
    queues.run('/', async () => {}),
    stopped,
  );
  await closed;
  t.equal(await first, 'done');
});
