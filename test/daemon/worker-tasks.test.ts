/** Tasks and questions reach the worker that is connected. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { WorkerTasks } from '../../src/daemon/worker-tasks.ts';

const space = { kind: 'space', path: '/srv/a.git', urgent: true } as const;

/** A connection that answers with what it is asked, and what was sent over it. */
function channel() {
  const sent: object[] = [];
  const ends: (readonly [why: string, asked: string | undefined])[] = [];
  return {
    sent,
    ends,
    ask: async (task: object) => ({ ...task }),
    send: (message: object) => {
      sent.push(message);
      return true;
    },
    close: (why: string, asked?: string) => void ends.push([why, asked]),
  };
}

t.test('a worker takes the place of the one before, until the daemon ends', async t => {
  const tasks = new WorkerTasks(() => 'mark');
  await t.rejects(tasks.ask(space, 60_000), { code: 'not_ready', message: /no worker is connected/ });
  const [first, second, late] = [channel(), channel(), channel()];
  const waiting = tasks.connection();
  tasks.connected(first);
  await waiting;
  t.same(await tasks.ask(space, 60_000), space);
  tasks.connected(second);
  t.same(first.ends, [['another worker has connected', 'the worker was restarted; ask again']]);
  t.notOk(tasks.closed(first), 'its end means nothing any more');
  t.ok(tasks.isConnected);
  t.ok(tasks.closed(second));
  t.notOk(tasks.isConnected);
  const again = tasks.connection();
  tasks.close();
  await again;
  tasks.connected(late);
  t.match(late.ends, [['the daemon stops']]);
});

t.test('what changed is told together, and no more than there is room for', async t => {
  const tasks = new WorkerTasks(() => 'mark');
  t.teardown(() => tasks.close());
  const worker = channel();
  tasks.tell('/srv/before.git', 'pushed');
  tasks.connected(worker);
  tasks.tell('/srv/a.git', 'asked');
  tasks.tell('/srv/b.git', 'asked');
  tasks.tell('/srv/a.git', 'pushed');
  tasks.tell('/srv/a.git', 'asked');
  await nextTurn();
  t.same(worker.sent, [{ mark: 'mark', pushed: ['/srv/a.git'], asked: ['/srv/b.git'] }]);
  for (let at = 0; at < 10_100; at++) tasks.tell(`/srv/${at}.git`, 'pushed');
  await nextTurn();
  t.match(worker.sent[1], { pushed: { length: 10_000 } });
});
