/** Work on one disk is done one at a time, and whoever waits for work that is not done learns of it. */

import t from 'tap';
import { DiskQueues } from '../../../src/git/worker/disk-queues.ts';

t.test('what waits while the queues are closed is dropped, and told so', async t => {
  const queues = new DiskQueues();
  const { promise: running, resolve: end } = Promise.withResolvers<void>();
  const came: string[] = [];
  const job = (name: string, run = async () => {}) => ({
    path: '/',
    run: () => run().then(() => void came.push(name)),
    dropped: () => void came.push(`not ${name}`),
  });
  await queues.add(job('first', () => running));
  await queues.add(job('second'));
  const closed = queues.close();
  await queues.add(job('third'));
  t.same(came, ['not second', 'not third']);
  end();
  await closed;
  t.same(came, ['not second', 'not third', 'first']);
});
