/** Threads that look at disks are used again, and each is at one question at a time. */

import { once } from 'node:events';
import t, { type Test } from 'tap';
import type { DiskThreads } from '../../src/scan/disk-threads.ts';
import { diskThreads } from './hanging.ts';
import { startedThreads } from './threads.ts';

const question: [paths: readonly string[]] = [['/']];
const askAround = (threads: DiskThreads, signal?: AbortSignal) =>
  threads.askAround('absent', question, signal === undefined ? {} : { signal });

function world(t: Test, restMs?: number) {
  const started = startedThreads(t);
  const given = restMs === undefined ? {} : { restMs };
  const threads = diskThreads({ hungAfterMs: 60_000, ...given });
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
    t.strictSame(await askAround(threads), []);
    t.strictSame(await threads.ask('absent', question, '/', 60_000), []);
  }
  t.equal(await count(), 1);
});

t.test('two who ask at once have one each, and one of them is kept', async t => {
  const { threads, count } = world(t);
  await Promise.all([askAround(threads), askAround(threads)]);
  t.strictSame(await askAround(threads), []);
  t.equal(await count(), 2);
});

t.test(
  'a question that is stopped ends its thread, and no thread is started for who asks once more',
  async t => {
    const { threads, count } = world(t);
    const stopping = new AbortController();
    const { signal } = stopping;
    const asked = t.rejects(askAround(threads, signal), { code: 'internal' });
    stopping.abort();
    await asked;
    await t.rejects(askAround(threads, signal), { message: 'asking has ended' });
    t.equal(await count(), 1);
    t.strictSame(await askAround(threads), []);
    t.equal(await count(), 2);
  },
);

t.test('one that nobody asks for ends after a while', async t => {
  const { threads, started } = world(t, 1);
  await askAround(threads);
  await new Promise(setImmediate);
  const [thread] = started;
  if (thread === undefined) return t.fail('no thread was started');
  await once(thread, 'exit');
  t.strictSame(await askAround(threads), [], 'another one is started for who asks next');
  t.equal(started.length, 2);
});

t.test('after the end no thread is left', async t => {
  const { threads } = world(t);
  await askAround(threads);
  t.equal(await threads.close(60_000), 0);
  await t.rejects(askAround(threads), { code: 'internal', message: 'asking has ended' });
  await t.rejects(threads.ask('absent', question, '/', 60_000), { code: 'not_ready' });
});
