/** The store's thread: what happens when it ends by itself, and that the event loop is not held up. */

import { once } from 'node:events';
import fs from 'node:fs';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import t from 'tap';
import { openStore } from '../../src/store/index.ts';
import { allIn, unitsIn } from './model.ts';
import { unit } from './records.ts';

/** Runs `start` and gives the thread that it started. */
async function threadOf<T>(
  start: () => Promise<T>,
): Promise<{ readonly result: T; readonly thread: Worker }> {
  const { promise: thread, resolve } = Promise.withResolvers<Worker>();
  process.once('worker', resolve);
  return { result: await start(), thread: await thread };
}

function log() {
  const lines: string[] = [];
  return { lines, warn: (_details: object, message: string) => void lines.push(message) };
}

t.test('a thread that ends fails the writes under way, and the next write starts another', async t => {
  const file = join(t.testdir(), 'store.db');
  const { lines, ...warnings } = log();
  const { result: store, thread } = await threadOf(() => openStore({ file, log: warnings }));
  await store.write({ units: [unit('first')] });
  const large = Array.from({ length: 50_000 }, (_, index) => unit(`large ${index}`));
  const pending = [store.write({ units: large }), store.load()];
  // Only what the thread has been asked for can be under way.
  await new Promise(setImmediate);
  await thread.terminate();
  for (const { status, reason } of (await Promise.allSettled(pending)).map(outcome => ({
    reason: null,
    ...outcome,
  }))) {
    t.equal(status, 'rejected');
    t.match(reason, { code: 'store_away', message: /its thread has ended/ });
  }
  await store.write({ units: [unit('third')] });
  const kept = (await unitsIn(store)).map(({ id }) => id);
  t.ok(kept.includes('first') && kept.includes('third'));
  t.ok([2, 50_002].includes(kept.length), 'of the one under way all is there, or nothing');
  t.equal(lines.length, 1);
  await store.close();
  t.equal(lines.length, 1, 'closing is nothing to warn of');
});

t.test('a thread that ends while nothing is asked is replaced by the next write', async t => {
  const file = join(t.testdir(), 'store.db');
  const { result: store, thread } = await threadOf(() => openStore({ file }));
  t.teardown(() => store.close());
  await thread.terminate();
  await Promise.all([store.write({ units: [unit('a')] }), store.write({ units: [unit('a', { seq: 2 })] })]);
  t.strictSame(await unitsIn(store), [unit('a', { seq: 2 })]);
});

t.test('a file that has gone is not made anew by the way', async t => {
  const file = join(t.testdir(), 'store.db');
  const { result: store, thread } = await threadOf(() => openStore({ file }));
  t.teardown(() => store.close());
  await store.write({ units: [unit('a')] });
  await thread.terminate();
  fs.renameSync(file, `${file}.aside`);
  await t.rejects(store.write({}), { code: 'store_away', message: /it has gone since it was opened/ });
  t.notOk(fs.existsSync(file));
  fs.renameSync(`${file}.aside`, file);
  await store.write({});
  t.strictSame(await unitsIn(store), [unit('a')], 'once it is back, it is used again');
});

t.test('closing a store whose thread has ended is no fault', async t => {
  const file = join(t.testdir(), 'store.db');
  const { result: store, thread } = await threadOf(() => openStore({ file }));
  const exit = once(thread, 'exit');
  void thread.terminate();
  await store.close();
  await exit;
  await (await openStore({ file })).close();
});

t.test('100,000 units and owners are written and loaded while the event loop turns', async t => {
  const file = join(t.testdir(), 'store.db');
  const units = Array.from({ length: 100_000 }, (_, index) => unit(`/srv/git/owner-${index}/repository.git`));
  const owners = units.map((_, index) => ({
    key: `owner-${index}`,
    id: index,
    name: `Owner-${index}`,
    type: 'user' as const,
    since: index,
  }));
  const store = await openStore({ file });
  await store.write({ units, owners });
  await store.close();
  const again = await openStore({ file });
  t.teardown(() => again.close());

  let turns = 0;
  let loading = true;
  const count = () => {
    turns++;
    if (loading) setImmediate(count);
  };
  setImmediate(count);
  const kept = await allIn(again);
  loading = false;
  t.ok(turns > 100, `the event loop turned ${turns} times`);
  t.strictSame([kept.units.length, kept.owners.length], [100_000, 100_000]);
  t.strictSame(new Set(kept.units.map(({ id }) => id)).size, 100_000);
  t.strictSame(
    kept.units.find(({ id }) => id === '/srv/git/owner-77777/repository.git'),
    units[77_777],
  );
});
