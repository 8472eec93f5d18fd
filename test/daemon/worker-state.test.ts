/** Figures of the worker reach the ledger with the number of the doubts that they answer. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { DaemonWorker } from '../../src/daemon/worker-state.ts';
import type { RepositoryFigures } from '../../src/wire/index.ts';
import { World, walk } from '../ledger/world.ts';

// The daemon has other things that keep it running; the times of a queue do not.
const running = setInterval(() => {}, 60_000);
t.teardown(() => clearInterval(running));

async function open(t: Test, isForgiving = true) {
  const ledger = await new World(t).open();
  walk(ledger, 'alice/a', 100, { path: '/srv/a.git' });
  const doubts: string[] = [];
  const words: (readonly [string, number | null, number])[] = [];
  const reach = {
    number: 0,
    doubted: doubts,
    doubt: (path: string) => {
      doubts.push(path);
      reach.number += 1;
    },
    forget: () => 0,
    measured: (path: string, found: { readonly unreachableBytes: number } | null, number: number): void => {
      words.push([path, found?.unreachableBytes ?? null, number]);
    },
    onLapse: () => {},
  };
  const worker = new DaemonWorker({
    quarantineRemoved: () => {},
    reach,
    isForgiving: () => isForgiving,
    ledger,
    pageOf: () => '',
    forge: null,
    collected: () => {},
    now: Date.now,
    monotonic: () => performance.now(),
    measure: () => 'apparent',
    log: { error: () => {}, info: () => {}, warn: () => {} },
  });
  t.teardown(() => worker.close());
  return { worker, connect: () => connect(worker), words, doubts };
}

/** Connects a worker, and gives what it says and is told. */
function connect(worker: DaemonWorker) {
  let mark = '';
  const pushed: string[] = [];
  const peer = worker.connected({
    send: message => {
      if ('mark' in message) mark = String(message.mark);
      if ('pushed' in message && Array.isArray(message.pushed)) pushed.push(...message.pushed);
      return true;
    },
    ask: () => Promise.reject(new Error('it answers nothing')),
    close: () => {},
  });
  return {
    report: (...repositories: readonly RepositoryFigures[]) =>
      peer.reported({
        version: '1',
        pid: 1,
        uid: 0,
        gits: [],
        hooks: null,
        quarantines: { removed: [], held: [] },
        repositories,
      }),
    /** The mark that it was given last. */
    mark: () => mark,
    /** The pushes that it has been told of since. */
    pushed: async () => {
      await nextTurn();
      return pushed.splice(0);
    },
    end: () => peer.closed(),
  };
}

function figures(mark: string, lent = false): RepositoryFigures {
  const measured = { object_bytes: 100, reachable_bytes: 30, unreachable_bytes: 70, lent };
  return { path: '/srv/a.git', at: 1, mark, measured, fault: null, collected: null };
}

t.test('a word answers the doubts before the mark that the worker had, of this daemon only', async t => {
  const { worker, connect, words } = await open(t);
  const { report, mark: given, pushed } = connect();
  report();
  worker.letThrough('/srv/a.git');
  worker.changed('/srv/a.git');
  t.same(await pushed(), ['/srv/a.git'], 'only a change is a task');
  report();
  const mark = given();
  worker.letThrough('/srv/a.git');
  report(
    figures(mark),
    figures(''),
    figures(`${mark}9`.replace(/^./, 'x')),
    figures(`${mark} `),
    figures(`${mark}x`),
  );
  report(figures(mark, true), { ...figures(mark), measured: null });
  t.same(words, [
    ['/srv/a.git', 70, 2],
    ['/srv/a.git', 70, 0],
    ['/srv/a.git', 70, 0],
    ['/srv/a.git', 70, 2],
    ['/srv/a.git', 70, 0],
    ['/srv/a.git', null, 2],
    ['/srv/a.git', null, 2],
  ]);
});

t.test('a worker is told of a push with the mark that answers its doubt', async t => {
  const { worker, connect } = await open(t);
  const { report, mark, pushed } = connect();
  report();
  worker.changed('/srv/a.git');
  t.same(await pushed(), ['/srv/a.git']);
  t.match(mark(), / 1$/);
});

t.test('a worker that comes new is told what has no answer yet', async t => {
  const { worker, connect } = await open(t);
  worker.changed('/srv/a.git');
  worker.mayHaveChanged('/srv/b.git');
  const first = connect();
  t.same(await first.pushed(), []);
  t.notOk(worker.isHere, 'it has not reported');
  first.report();
  t.ok(worker.isHere);
  t.same(await first.pushed(), ['/srv/a.git']);
  first.report();
  t.same(await first.pushed(), []);
  const second = connect();
  first.end();
  second.report();
  t.same(await second.pushed(), ['/srv/a.git'], 'another one');
  worker.mayHaveChanged('/srv/b.git');
  worker.resized('/srv/c.git');
  worker.appeared('/srv/d.git');
  t.same(await second.pushed(), ['/srv/b.git', '/srv/c.git', '/srv/d.git']);
  second.end();
  t.notOk(worker.isHere);
});

t.test('where all counts, only changes are tasks, and nothing is in doubt', async t => {
  const { worker, connect, doubts } = await open(t, false);
  const { report, pushed } = connect();
  report();
  worker.letThrough('/srv/a.git');
  worker.mayHaveChanged('/srv/b.git');
  worker.resized('/srv/c.git');
  worker.appeared('/srv/d.git');
  worker.changed('/srv/e.git');
  t.same(await pushed(), ['/srv/e.git']);
  t.same(doubts, []);
});

t.test('a silent worker is believed for a day, and no longer', async t => {
  const world = new World(t);
  const ledger = await world.open();
  walk(ledger, 'alice/a', 100, { path: '/srv/a.git' });
  const forgotten: object[] = [];
  const clock = { now: 0 };
  const worker = new DaemonWorker({
    quarantineRemoved: () => {},
    reach: ledger.reach,
    isForgiving: () => true,
    ledger,
    pageOf: () => '',
    forge: null,
    collected: () => {},
    now: () => 0,
    monotonic: () => clock.now,
    measure: () => 'apparent',
    log: { error: () => {}, info: () => {}, warn: details => void forgotten.push(Object(details)) },
  });
  t.teardown(() => worker.close());
  const unreachable = () => ledger.units.unit('/srv/a.git')?.reach?.unreachableBytes ?? 0;
  const hours = (count: number): void => {
    clock.now += count * 3_600_000;
    worker.look();
  };
  const report = (...repositories: readonly RepositoryFigures[]): void => {
    const connection = connect(worker);
    connection.report(...repositories.map(each => ({ ...each, mark: connection.mark() })));
    connection.end();
  };
  report(figures(''));
  t.equal(unreachable(), 70);
  hours(23.99);
  t.equal(unreachable(), 70, 'it has been silent for less than a day');
  t.same(forgotten, []);
  report();
  hours(23.99);
  t.equal(unreachable(), 70, 'a report begins the day anew');
  hours(0.02);
  t.equal(unreachable(), 0, 'nothing is forgiven any more');
  t.same(forgotten, [{ repositories: 1 }], 'and the log says so');
  hours(24);
  t.equal(forgotten.length, 1, 'once');
  report(figures(''));
  t.equal(unreachable(), 70, 'until a worker has measured');
});
