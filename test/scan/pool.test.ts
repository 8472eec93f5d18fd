import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { type Layout, Mounts, resolveLayout } from '../../src/layout/index.ts';
import type { ScannerParts } from '../../src/scan/options.ts';
import { Pool, type WalkJob } from '../../src/scan/pool.ts';
import type { TaskResult } from '../../src/scan/task.ts';
import { diskThreads } from './hanging.ts';
import { startedThreads } from './threads.ts';
import { Book, fill, storage, temporary, unitAt } from './world.ts';

interface World {
  readonly root: string;
  readonly pool: Pool;
  /** Gives how many threads had to be left. */
  close(withinMs: number): Promise<number>;
  readonly warnings: string[];
  /** Adds a unit with so many directories of 1 byte each. */
  add(name: string, urgency?: WalkJob['urgency'], directories?: number): Promise<TaskResult>;
  /** The names, in the order in which they were begun and done. */
  readonly begun: string[];
  readonly done: string[];
}

function world(t: Test, size = 1, restMs = 60_000): World {
  const root = temporary(t);
  const storages = [storage('lfs', `${root}/{owner}`)];
  const layout: Layout = resolveLayout(storages, []);
  const book = new Book();
  const { warnings } = book;
  const begun: string[] = [];
  const done: string[] = [];
  const mounts = new Mounts();
  const code = { walker: new URL('odd-walker.ts', import.meta.url) };
  const threads = diskThreads({ mounts, workers: size, restMs, code });
  const parts: ScannerParts = {
    options: book.options({ storages, cacheFile: '', workers: size }),
    context: () => ({ storages, exclude: [], measure: 'apparent', layout }),
    cacheFile: () => null,
    mounts,
    threads,
  };
  const pool = new Pool(parts, { isUnsettled: () => false });
  const close = (withinMs: number) => {
    pool.close();
    return threads.close(withinMs);
  };
  t.teardown(() => close(300));
  return {
    root,
    pool,
    close,
    warnings,
    begun,
    done,
    add: (name, urgency = 'sweep', directories = 1) => {
      const path = join(root, name);
      mkdirSync(path, { recursive: true });
      for (let index = 0; index < directories; index++) fill(join(path, String(index), 'file'), 1);
      return new Promise(resolve => {
        pool.add({
          task: urgency === 'sweep' ? { unit: unitAt(path), inner: [], trustsSignature: false } : { path },
          urgency,
          begin: () => begun.push(name),
          done: result => {
            done.push(name);
            resolve(result);
          },
        });
      });
    },
  };
}

const names = (count: number, name: string): string[] =>
  Array.from({ length: count }, (_, at) => `${name} ${at}`);

t.test('each task is walked once, however long its batch takes', async t => {
  const { add, done } = world(t, 2);
  const results = await Promise.all(names(60, 'slow').map(name => add(name, 'sweep', 2)));
  t.ok(results.every(result => result.outcome === 'measured' && result.bytes === 2));
  t.equal(done.length, 60);
});

t.test('what is urgent waits only for what is walked in a moment', async t => {
  const { add, done, begun, pool } = world(t);
  const sweep = Promise.all(names(40, 'slow').map(name => add(name, 'sweep', 3)));
  while (pool.busy().length === 0) await new Promise(setImmediate);
  await add('first', 'soon');
  t.ok(done.indexOf('first') < 6, `${done.indexOf('first')} were walked before`);
  t.ok((await sweep).every(result => result.outcome === 'measured'));
  t.ok(begun.length > 42, 'what was handed back was begun again');
});

t.test('a walker that dies takes no other unit with it, and is replaced', async t => {
  const { add, warnings } = world(t, 2);
  const good = Promise.all(names(50, 'good').map(name => add(name)));
  const bad = add('poison');
  const more = Promise.all(names(50, 'more').map(name => add(name)));
  t.match(await bad, { outcome: 'failed', why: 'the thread ended with code 3' });
  t.ok([...(await good), ...(await more)].every(result => result.outcome === 'measured'));
  t.equal(warnings.length, 2, 'it was tried twice');
  t.match(await add('later'), { outcome: 'measured' });
  t.match(await add('poison', 'soon'), { outcome: 'failed' }, 'also when it is urgent');
  t.match(await add('at last', 'soon'), { outcome: 'measured' });
});

t.test('where every walker dies, not every unit is tried', async t => {
  const { add, warnings } = world(t, 2);
  const results = await Promise.all(names(500, 'poison').map(name => add(name, 'sweep', 0)));
  t.ok(results.every(result => result.outcome === 'failed'));
  t.ok(warnings.length < 40, `${warnings.length} walkers died`);
  t.match(await add('good'), { outcome: 'measured' }, 'and later ones are tried again');
});

t.test('a sweep that is stopped leaves what is urgent alone', async t => {
  const { add, pool, root } = world(t);
  const sweep = Promise.all(names(40, 'held').map(name => add(name, 'sweep', 50)));
  const urgent = add('soon', 'soon');
  pool.stopSweep();
  fill(join(root, 'go'), 0);
  t.ok((await sweep).every(result => result.outcome === 'stopped'));
  t.match(await urgent, { outcome: 'measured' });
  t.match(await add('after'), { outcome: 'measured' });
});

t.test('a pool that closes stops walking and leaves no thread', async t => {
  const { add, close, root } = world(t, 2);
  const walks = [...names(5, 'held').map(name => add(name, 'sweep', 200)), add('held soon', 'soon', 200)];
  const closed = close(10_000);
  fill(join(root, 'go'), 0);
  t.equal(await closed, 0);
  t.ok((await Promise.all(walks)).every(result => result.outcome === 'stopped'));
  t.match(await add('too late'), { outcome: 'stopped' });
});

t.test('a thread that hangs in the system is left behind and counted', async t => {
  const { add, pool, close } = world(t);
  const walk = add('hang', 'sweep');
  while ((pool.busy()[0]?.milliseconds ?? 0) < 200) await new Promise(setImmediate);
  t.match(pool.busy()[0]?.path, /hang$/);
  t.equal(await close(100), 1);
  t.equal((await walk).outcome, 'stopped');
});

t.test('what is walked, and for how long, can be seen', async t => {
  const { add, pool, root } = world(t);
  const walk = add('slow', 'sweep', 30);
  while (pool.busy().length === 0) await new Promise(setImmediate);
  t.match(pool.busy(), [{ path: join(root, 'slow') }]);
  t.ok((pool.busy()[0]?.milliseconds ?? Number.NaN) >= 0);
  await walk;
});

t.test(
  'a walker ends when there is nothing to walk for a while, and another one walks what comes then',
  async t => {
    const started = startedThreads(t);
    const { add, warnings } = world(t, 1, 1);
    t.match(await add('one'), { outcome: 'measured' });
    const [first] = started;
    if (first === undefined) throw new Error('no walker was started');
    if (first.threadId !== -1) await once(first, 'exit');
    t.match(await add('two'), { outcome: 'measured' });
    t.equal(started.length, 2);
    t.strictSame(warnings, [], 'nobody takes it for dead');
  },
);
