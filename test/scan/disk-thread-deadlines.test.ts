import { execFileSync } from 'node:child_process';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { resolveLayout } from '../../src/layout/index.ts';
import { diskThreads } from './hanging.ts';
import { fill, storage, temporary } from './world.ts';

function world(t: Test, most = 4, hungAfterMs = 30_000) {
  const root = temporary(t);
  fill(join(root, 'alice/store/file'), 1);
  const storages = [storage('lfs', `${root}/{owner}/store`)];
  const context = {
    storages,
    exclude: [],
    measure: 'apparent',
    layout: resolveLayout(storages, []),
  } as const;
  const code = new URL('odd-io-worker.ts', import.meta.url);
  const threads = diskThreads({ hungAfterMs, most, code: { io: code } });
  const opened: FileHandle[] = [];
  t.teardown(async () => {
    await threads.close(60_000);
    for (const pipe of opened) await pipe.close();
  });
  const locate = (path: string, deadlineMs: number) =>
    threads.ask('locate', [context, join(root, path)], join(root, path), deadlineMs);
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
  const { locate, root } = world(t);
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
  const { locate, threads, hangingAt } = world(t);
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

t.test('where all clients hang every question is told so at once, until one comes back', async t => {
  const { locate, threads, hangingAt } = world(t, 2);
  const places = [hangingAt('alice/store/one-'), hangingAt('alice/store/other-')];
  for (const [index, { path }] of places.entries()) {
    // A thread that is only being started when the deadline comes does not hang.
    do await t.rejects(locate(path, 500), { code: 'not_ready' });
    while (threads.hanging <= index);
  }
  t.equal(threads.hanging, 2);
  await t.rejects(locate('alice/store', 60_000), { code: 'not_ready', message: /does not answer/ });
  await places[0]?.letGo();
  while (threads.hanging === 2) await new Promise(setImmediate);
  t.match(await locate('alice/store', 60_000), { found: 'unit' });
});

t.test('closing leaves the threads that hang, and nothing is looked up any more', async t => {
  const { threads, locate, hangingAt } = world(t, undefined, 600);
  await locate('alice/store', 60_000);
  const { path } = hangingAt('alice/store/');
  // A thread that has not come to the path when the deadline comes does not hang.
  do await t.rejects(locate(path, 500), { code: 'not_ready' });
  while (!threads.hangs().some(hang => hang.path.endsWith(path)));
  // A question that came before the hang was told holds a thread, too.
  const { hanging } = threads;
  t.equal(await threads.close(100), hanging);
  await t.rejects(locate('alice/store', 60_000), { code: 'not_ready' });
});
