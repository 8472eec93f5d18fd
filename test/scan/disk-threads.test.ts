/** Threads that look at disks are used again, and nobody waits for one that hangs. */

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import t, { type Test } from 'tap';
import { resolveLayout } from '../../src/layout/index.ts';
import type { DiskThreads } from '../../src/scan/disk-threads.ts';
import { diskThreads } from './hanging.ts';
import { fill, storage, temporary } from './world.ts';

const question: [paths: readonly string[]] = [['/']];
const askAround = (threads: DiskThreads, signal?: AbortSignal) =>
  threads.askAround('absent', question, signal === undefined ? {} : { signal });

function world(t: Test, restMs?: number) {
  const started: Worker[] = [];
  const add = (thread: Worker) => started.push(thread);
  process.on('worker', add);
  t.teardown(() => process.off('worker', add));
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

t.test('a question that is stopped ends its thread, and starts none for who asks once more', async t => {
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
});

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

function hangingWorld(t: Test, most = 4, hungAfterMs = 30_000) {
  const root = temporary(t);
  fill(join(root, 'alice/store/file'), 1);
  const storages = [storage('lfs', `${root}/{owner}/store`)];
  const layout = resolveLayout(storages, []);
  const code = new URL('odd-io-worker.ts', import.meta.url);
  const threads = diskThreads({ hungAfterMs, most, code: { io: code } });
  const opened: FileHandle[] = [];
  t.teardown(async () => {
    await threads.close(60_000);
    for (const pipe of opened) await pipe.close();
  });
  const locate = (path: string, deadlineMs: number) =>
    threads.ask('locate', [layout, join(root, path)], join(root, path), deadlineMs);
  /** A path at which an I/O worker hangs until it is let go, at the latest when the test ends. */
  function hangingAt(path: string): { path: string; letGo(): Promise<void> } {
    const pipe = `${join(root, path)}hang-release`;
    execFileSync('mkfifo', [pipe]);
    // To read and write: that waits for nobody at the other end, and lets whoever comes later go at once.
    const letGo = async () => void opened.push(await open(pipe, 'r+'));
    t.teardown(letGo);
    return { path: `${path}hang`, letGo };
  }
  return { root, threads, locate, hangingAt };
}

t.test('the unit of a path is looked up off the main thread', async t => {
  const { locate, root } = hangingWorld(t);
  t.match(await locate('alice/store/file', 60_000), {
    found: 'unit',
    exists: true,
    unit: { path: join(root, 'alice/store'), owner: 'alice' },
  });
  t.match(await locate('bob/store', 60_000), { found: 'unit', exists: false, unit: { owner: 'bob' } });
  t.match(await locate('alice/other', 60_000), { found: 'none' });
  const many = await Promise.all(Array.from({ length: 200 }, () => locate('alice/store/file', 60_000)));
  t.ok(many.every(located => located.found === 'unit'));
});

t.test('a disk that hangs keeps nobody waiting beyond the deadline, and no other question', async t => {
  const { locate, threads, hangingAt } = hangingWorld(t);
  await locate('alice/store', 60_000);
  const late = { code: 'not_ready', message: /within 500 ms/ };
  const hangs = t.rejects(locate(hangingAt('alice/store/').path, 500), late);
  t.match(
    await locate('alice/store/file', 60_000),
    { found: 'unit' },
    'another question is answered meanwhile',
  );
  await hangs;
  t.equal(threads.hanging, 1);
  t.match(await locate('alice/store/file', 60_000), { found: 'unit' });
});

/** A world in which so many threads have been left at as many places. */
async function hungWorld(t: Test, most: number, count: number) {
  const hanging = hangingWorld(t, most);
  const { locate, threads } = hanging;
  const places = Array.from({ length: count }, (_, n) => hanging.hangingAt(`alice/store/${n}-`));
  for (const [index, { path }] of places.entries()) {
    // A thread that is only being started when the deadline comes does not hang.
    do await t.rejects(locate(path, 500), { code: 'not_ready' });
    while (threads.hanging <= index);
  }
  t.equal(threads.hanging, count);
  return { locate, threads, places };
}

t.test('disks that hang, such as those of one server, take no threads from the others', async t => {
  const { locate } = await hungWorld(t, 2, 2);
  t.match(await locate('alice/store', 60_000), { found: 'unit' });
});

t.test('where too many threads hang every question is told so at once, until one comes back', async t => {
  const { locate, threads, places } = await hungWorld(t, 1, 4);
  await t.rejects(locate('alice/store', 60_000), { code: 'not_ready', message: /does not answer/ });
  await places[0]?.letGo();
  while (threads.hanging === 4) await new Promise(setImmediate);
  t.match(await locate('alice/store', 60_000), { found: 'unit' });
});
