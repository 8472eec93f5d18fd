/**
 * I/O workers are lent: whoever asks next finds one ready, and one that is at a question is not given to
 * another.
 */

import { once } from 'node:events';
import t, { type Test } from 'tap';
import { IoWorkers } from '../../src/scan/io-workers.ts';
import { startedThreads } from './threads.ts';

const question = { ask: 'absent', paths: ['/'] } as const;

function world(t: Test) {
  const started = startedThreads(t);
  const ioWorkers = new IoWorkers();
  t.teardown(() => ioWorkers.close(60_000));
  /** Told of threads in the next turn. */
  const threads = async () => {
    await new Promise(setImmediate);
    return started.length;
  };
  return { ioWorkers, threads };
}

t.test('one that is given back is lent to the next who asks', async t => {
  const { ioWorkers, threads } = world(t);
  for (let n = 0; n < 3; n++) {
    const client = ioWorkers.take();
    t.strictSame(await client.ask(question), []);
    t.equal(await client.close(60_000), true);
    await client.ended;
    t.equal(await client.close(60_000), true, 'giving it back twice gives it to nobody else twice');
  }
  t.equal(await threads(), 1);
});

t.test('two who ask at once have one each, and one of them is kept', async t => {
  const { ioWorkers, threads } = world(t);
  const clients = [ioWorkers.take(), ioWorkers.take()];
  await Promise.all(clients.map(client => client.ask(question)));
  for (const client of clients) t.equal(await client.close(60_000), true);
  await ioWorkers.take().ask(question);
  t.equal(await threads(), 2);
});

t.test('one that is at a question when it is closed ends', async t => {
  const { ioWorkers, threads } = world(t);
  const client = ioWorkers.take();
  const asked = t.rejects(client.ask(question), { code: 'internal' });
  t.equal(await client.close(60_000), true);
  await asked;
  await client.ended;
  t.strictSame(await ioWorkers.take().ask(question), []);
  t.equal(await threads(), 2);
});

t.test('one that nobody asks for ends after a while', async t => {
  const started = startedThreads(t);
  const ioWorkers = new IoWorkers({ restMs: 1 });
  t.teardown(() => ioWorkers.close(60_000));
  const client = ioWorkers.take();
  await client.ask(question);
  const [thread] = started;
  if (thread === undefined) return t.fail('no thread was started');
  const ended = once(thread, 'exit');
  await client.close(60_000);
  await ended;
  t.strictSame(await ioWorkers.take().ask(question), [], 'another one is started for who asks next');
  t.equal(started.length, 2);
});

t.test('after the end no thread is left', async t => {
  const { ioWorkers } = world(t);
  const [kept, lent] = [ioWorkers.take(), ioWorkers.take()];
  await kept.ask(question);
  await kept.close(60_000);
  t.equal(await ioWorkers.close(60_000), 0);
  await lent.ended;
});
