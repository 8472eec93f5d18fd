import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { mock } from 'node:test';
import t, { type Test } from 'tap';
import { type Layout, Mounts, resolveLayout } from '../../src/layout/index.ts';
import type { ScannerParts } from '../../src/scan/disk-threads.ts';
import { Pool, type WalkJob } from '../../src/scan/pool.ts';
import type { TaskResult } from '../../src/scan/task.ts';
import { diskThreads } from './hanging.ts';
import { Book, fill, storage, temporary, unitAt } from './world.ts';

interface World {
  readonly root: string;
  readonly pool: Pool;
  readonly threads: ScannerParts['threads'];
  readonly warnings: string[];
  /** Adds a unit with so many directories of 1 byte each. */
  add(name: string, urgency?: WalkJob['urgency'], directories?: number): Promise<TaskResult>;
  /** The names, in the order in which they were begun and done. */
  readonly begun: string[];
  readonly done: string[];
}

function world(t: Test, size = 1): World {
  const root = temporary(t);
  const storages = [storage('lfs', `${root}/{owner}`)];
  const layout: Layout = resolveLayout(storages, []);
  const book = new Book();
  const { warnings } = book;
  const begun: string[] = [];
  const done: string[] = [];
  const mounts = new Mounts();
  const code = { walker: new URL('odd-io-worker.ts', import.meta.url) };
  const threads = diskThreads({ mounts, workers: size, code });
  const parts: ScannerParts = {
    options: book.options({ storages, cacheFile: '', workers: size }),
    context: () => ({ storages, exclude: [], measure: 'apparent', layout }),
    cacheFile: () => null,
    mounts,
    threads,
  };
  const pool = new Pool(parts, () => false);
  t.teardown(() => {
    pool.close();
    return threads.close(300);
  });
  return {
    root,
    pool,
    threads,
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

t.test('the many tasks that a stop ends keep nobody waiting', async t => {
  const { root, pool } = world(t);
  let ended = 0;
  const done = (): void => {
    const until = performance.now() + 0.1;
    while (performance.now() < until);
    ended += 1;
  };
  for (const name of names(1000, 'unit'))
    pool.add({ task: { path: join(root, name) }, urgency: 'sweep', done });
  pool.stopSweep();
  t.ok(ended < 1000);
  while (ended < 1000) await new Promise(setImmediate);
  t.equal(pool.waiting('sweep'), 0);
});

t.test('what is walked, and for how long, can be seen', async t => {
  const { add, pool, root } = world(t);
  const walk = add('slow', 'sweep', 30);
  while (pool.busy().length === 0) await new Promise(setImmediate);
  t.match(pool.busy(), [{ path: join(root, 'slow') }]);
  t.ok((pool.busy()[0]?.milliseconds ?? Number.NaN) >= 0);
  await walk;
});

t.test('while the system starts no thread, what is to be walked waits, and is walked later', async t => {
  const { add, threads, begun, warnings } = world(t, 2);
  const taken = mock.method(threads, 'take', () => {
    throw new Error('EAGAIN');
  });
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => mock.timers.reset());
  const walks = Promise.all([add('first', 'soon'), ...names(5, 'other').map(name => add(name))]);
  await new Promise(setImmediate);
  mock.timers.tick(1000);
  t.ok(taken.mock.callCount() > 1, 'it is asked again and again');
  t.strictSame(begun, []);
  t.equal(warnings.length, 1, 'and the log says it once');
  taken.mock.restore();
  mock.timers.tick(1000);
  t.ok((await walks).every(({ outcome }) => outcome === 'measured'));
});
