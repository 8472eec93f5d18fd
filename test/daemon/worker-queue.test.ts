/** What the worker is asked to do reaches it at once, and whoever asks gets an answer in any case. */

import t from 'tap';
import { WorkerQueue } from '../../src/daemon/worker-queue.ts';

const space = { kind: 'space', path: '/srv/a.git', urgent: true, page: null } as const;

// The daemon has other things that keep it running; the times of a queue do not.
const running = setInterval(() => {}, 60_000);
t.teardown(() => clearInterval(running));

t.test('a worker that waits gets a task as soon as there is one', async t => {
  const queue = new WorkerQueue();
  t.teardown(() => queue.close());
  const waiting = queue.tasks(60_000, 'one');
  queue.pushed('/srv/a.git');
  queue.pushed('/srv/a.git');
  t.same(await waiting, { pushed: ['/srv/a.git'], asked: [] });
  const asked = queue.ask(space, 60_000);
  const { asked: tasks } = await queue.tasks(60_000, 'one');
  t.match(tasks, [{ kind: 'space', path: '/srv/a.git' }]);
  t.ok(queue.isWaitedFor);
  t.ok(queue.ended(tasks[0]?.id ?? '', { is: 'done', result: { a: 1 } }));
  t.same(await asked, { a: 1 });
  t.notOk(queue.ended(tasks[0]?.id ?? '', { is: 'done', result: {} }), 'nobody waits any more');
  t.same(await queue.tasks(0, 'one'), { pushed: [], asked: [] });
});

t.test('a question ends with its time, with the worker, and with the daemon', async t => {
  const queue = new WorkerQueue();
  await t.rejects(queue.ask(space, 1), { code: 'not_ready', message: /in time/ });
  t.same(
    await queue.tasks(0, 'one'),
    { pushed: [], asked: [] },
    'nobody does in vain what is not waited for',
  );
  const first = t.rejects(queue.ask(space, 60_000), { message: 'the worker has stopped' });
  queue.fail('the worker has stopped');
  await first;
  const waiting = queue.tasks(60_000, 'one');
  const second = t.rejects(queue.ask({ kind: 'reclaim', path: '/srv/a.git' }, 60_000), {
    message: 'the daemon stops',
  });
  await waiting;
  const idle = queue.tasks(60_000, 'one');
  queue.close();
  await second;
  t.same(await idle, { pushed: [], asked: [] });
  t.same(await queue.tasks(60_000, 'one'), { pushed: [], asked: [] }, 'one that closed keeps nobody waiting');
});

t.test('what a worker took ends with it, and the next one gets what it did not take', async t => {
  const queue = new WorkerQueue();
  t.teardown(() => queue.close());
  // Its worker has been killed, and its connection looks as before.
  const dead = queue.tasks(60_000, 'one');
  const taken = t.rejects(queue.ask({ kind: 'reclaim', path: '/srv/a.git' }, 60_000), {
    message: /was restarted; ask again/,
  });
  t.match(await dead, { asked: [{ path: '/srv/a.git' }] });
  void queue.ask({ kind: 'reclaim', path: '/srv/b.git' }, 60_000).catch(() => {});
  t.match(await queue.tasks(60_000, 'two'), { asked: [{ path: '/srv/b.git' }] });
  await taken;
  t.ok(queue.isWaitedFor);
});

t.test('no more is kept than there is room for', async t => {
  const queue = new WorkerQueue();
  t.teardown(() => queue.close());
  for (let at = 0; at < 10_100; at++) queue.pushed(`/srv/${at}.git`);
  let sum = 0;
  for (
    let found = await queue.tasks(0, 'one');
    found.pushed.length > 0;
    found = await queue.tasks(0, 'one')
  ) {
    t.ok(found.pushed.length <= 100);
    sum += found.pushed.length;
  }
  t.equal(sum, 10_000);
});
