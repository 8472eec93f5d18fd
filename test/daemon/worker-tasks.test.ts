/** What the worker is asked to do reaches it at once, and whoever asks gets an answer in any case. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { WorkerTasks } from '../../src/daemon/worker-tasks.ts';

const space = { kind: 'space', path: '/srv/a.git', urgent: true } as const;

// The daemon has other things that keep it running; the times of tasks do not.
const running = setInterval(() => {}, 60_000);
t.teardown(() => clearInterval(running));

interface Sent {
  readonly task?: { readonly id: string; readonly path: string };
  readonly cancel?: string;
  readonly pushed?: readonly string[];
  readonly asked?: readonly string[];
}

/** A connection, and what was sent over it. */
function channel() {
  const sent: Sent[] = [];
  const ends: string[] = [];
  return {
    sent,
    ends,
    send: (message: object) => void sent.push(message),
    close: (why: string) => void ends.push(why),
  };
}

t.test('a task is sent at once, and its answer reaches whoever asked', async t => {
  const tasks = new WorkerTasks(() => 'mark');
  t.teardown(() => tasks.close());
  await t.rejects(tasks.ask(space, 60_000), { code: 'not_ready', message: /no worker is connected/ });
  const worker = channel();
  tasks.connected(worker);
  const asked = tasks.ask(space, 60_000);
  t.match(worker.sent, [{ task: { kind: 'space', path: '/srv/a.git' } }], 'before anything else happens');
  tasks.ended(worker.sent[0]?.task?.id ?? '', { is: 'done', result: { a: 1 } });
  t.same(await asked, { a: 1 });
  tasks.ended('unknown', { is: 'done', result: {} });
});

t.test('a task ends with its time, its signal, the connection, and the daemon', async t => {
  const tasks = new WorkerTasks(() => 'mark');
  const worker = channel();
  tasks.connected(worker);
  await t.rejects(tasks.ask(space, 1), { code: 'not_ready', message: /in time/ });
  t.equal(worker.sent.at(-1)?.cancel, worker.sent[0]?.task?.id, 'the worker does nothing in vain');
  const stop = new AbortController();
  const second = t.rejects(tasks.ask(space, 60_000, stop.signal), { message: /nobody waits/ });
  stop.abort();
  await second;
  t.ok(worker.sent.at(-1)?.cancel);
  const third = t.rejects(tasks.ask(space, 60_000), { message: 'the worker has stopped' });
  t.ok(tasks.closed(worker));
  await third;
  tasks.connected(channel());
  const last = t.rejects(tasks.ask(space, 60_000), { message: 'the daemon stops' });
  tasks.close();
  await last;
  const late = channel();
  tasks.connected(late);
  t.same(late.ends, ['the daemon stops']);
});

t.test('a worker takes the place of the one before, and what that one had to do has failed', async t => {
  const tasks = new WorkerTasks(() => 'mark');
  t.teardown(() => tasks.close());
  const [first, second] = [channel(), channel()];
  tasks.connected(first);
  const taken = t.rejects(tasks.ask(space, 60_000), { message: /was restarted; ask again/ });
  tasks.connected(second);
  await taken;
  t.same(first.ends, ['another worker has connected']);
  t.notOk(tasks.closed(first), 'its end means nothing any more');
  t.ok(tasks.isConnected);
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
  t.equal(worker.sent[1]?.pushed?.length, 10_000);
  for (let at = 0; at < 1000; at++) tasks.ask(space, 60_000).catch(() => {});
  await t.rejects(tasks.ask(space, 60_000), { message: /too much to do/ });
});
