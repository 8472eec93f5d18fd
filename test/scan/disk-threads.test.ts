/** Threads that look at disks are used again, and each is at one question at a time. */

import { once } from 'node:events';
import t, { type Test } from 'tap';
import { DiskThreads } from '../../src/scan/disk-threads.ts';
import { hangs } from './hanging.ts';
import { startedThreads } from './threads.ts';

const question = { ask: 'absent', paths: ['/'] } as const;

function world(t: Test, restMs?: number) {
  const started = startedThreads(t);
  const given = restMs === undefined ? {} : { restMs };
  const threads = new DiskThreads({ hangs: hangs(), hungAfterMs: 60_000, ...given });
  t.teardown(() => threads.close(60_000));
  /** Tells of threads in the next turn. */
  const count = async () => {
    await new Promise(setImmediate);
    return started.length;
  };
  return { threads, started, count };
}

t.test('a thread that has answered is asked next', async t => {
  const { threads, count } = world(t);
  for (let n = 0; n < 3; n++) {
    t.strictSame(await threads.askAround(question), []);
    t.strictSame(await threads.ask(question, '/', 60_000), []);
  }
  t.equal(await count(), 1);
});

t.test('two who ask at once have one each, and one of them is kept', async t => {
  const { threads, count } = world(t);
  await Promise.all([threads.askAround(question), threads.askAround(question)]);
  t.strictSame(await threads.askAround(question), []);
  t.equal(await count(), 2);
});

t.test(
  'a question that is stopped ends its thread, and no thread is started for who asks once more',
  async t => {
    const { threads, count } = world(t);
    const stopping = new AbortController();
    const { signal } = stopping;
    const asked = t.rejects(threads.askAround(question, { signal }), { code: 'internal' });
    stopping.abort();
    await asked;
    await t.rejects(threads.askAround(question, { signal }), { message: 'asking has ended' });
    t.equal(await count(), 1);
    t.strictSame(await threads.askAround(question), []);
    t.equal(await count(), 2);
  },
);

t.test('one that nobody asks for ends after a while', async t => {
  const { threads, started } = world(t, 1);
  await threads.askAround(question);
  await new Promise(setImmediate);
  const [thread] = started;
  if (thread === undefined) return t.fail('no thread was started');
  await once(thread, 'exit');
  t.strictSame(await threads.askAround(question), [], 'another one is started for who asks next');
  t.equal(started.length, 2);
});

t.test('after the end no thread is left', async t => {
  const { threads } = world(t);
  await threads.askAround(question);
  t.equal(await threads.close(60_000), 0);
  await t.rejects(threads.askAround(question), { code: 'internal', message: 'asking has ended' });
  await t.rejects(threads.ask(question, '/', 60_000), { code: 'not_ready' });
});
