/** Figures of the worker reach the ledger with the number of the doubts that they answer. */

import { join } from 'node:path';
import { mock } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { DaemonWorker } from '../../src/daemon/worker-state.ts';
import type { RepositoryFigures } from '../../src/wire/index.ts';
import { configOf } from '../config/written.ts';
import { FakeWorker, takeWorkers } from '../gate/fake-worker.ts';
import { World, walk } from '../ledger/world.ts';
import { temporaryFolder } from '../temporary-folder.ts';

// The daemon has other things that keep it running; the times of a queue do not.
const running = setInterval(() => {}, 60_000);
t.teardown(() => clearInterval(running));

type Options = ConstructorParameters<typeof DaemonWorker>[0];

function workerOf(t: Test, given: Pick<Options, 'reach' | 'ledger'> & Partial<Options>): DaemonWorker {
  const worker = new DaemonWorker({
    quarantineRemoved: () => {},
    pageOf: () => '',
    forge: null,
    collected: () => {},
    now: Date.now,
    reclaim: () => ({ run: 'measure', expireMs: 3_600_000 }),
    measure: () => 'apparent',
    log: { error: () => {}, info: () => {}, warn: () => {} },
    ...given,
  });
  t.teardown(() => worker.close());
  return worker;
}

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
  ledger.settings = { ...ledger.settings, garbage: isForgiving ? 'forgive' : 'bill' };
  const worker = workerOf(t, { reach, ledger });
  return { worker, connect: () => connect(t, worker), words, doubts, ledger };
}

/** Connects a worker, and gives what it says and is told. */
async function connect(t: Test, worker: DaemonWorker) {
  const socket = join(temporaryFolder(t), 'trusted.sock');
  await takeWorkers(t, socket, worker.link);
  const fake = await FakeWorker.connect(t, socket);
  let mark = '';
  const pushed: string[] = [];
  /** Reads up to the next greeting, which answers a report. */
  const greeting = async () => {
    for (;;) {
      const message = (await fake.next('mark')) ?? {};
      mark = String(message.mark);
      if (!Array.isArray(message.pushed)) return;
      pushed.push(...message.pushed);
    }
  };
  await greeting();
  const report = async (...repositories: readonly RepositoryFigures[]) => {
    fake.report({ repositories });
    await greeting();
  };
  return {
    fake,
    report,
    /** The mark that it was given last. */
    mark: () => mark,
    /** The pushes that it has been told of since. */
    pushed: async () => {
      await nextTurn();
      await report();
      return pushed.splice(0);
    },
    end: async () => {
      fake.socket.destroy();
      while (worker.isHere) await nextTurn();
    },
  };
}

function figures(mark: string, lent = false): RepositoryFigures {
  const measured = { object_bytes: 100, reachable_bytes: 30, unreachable_bytes: 70, lent };
  return { path: '/srv/a.git', at: 1, mark, measured, fault: null, collected_by: null, collected: null };
}

t.test('a word answers the doubts before the mark that the worker had, of this daemon only', async t => {
  const { worker, connect, words } = await open(t);
  const { report, mark: given, pushed } = await connect();
  await report();
  worker.letThrough('/srv/a.git');
  worker.changed('/srv/a.git');
  t.same(await pushed(), ['/srv/a.git'], 'only a change is a task');
  await report();
  const mark = given();
  worker.letThrough('/srv/a.git');
  await report(
    figures(mark),
    figures(''),
    figures(`${mark}9`.replace(/^./, 'x')),
    figures(`${mark} `),
    figures(`${mark}x`),
  );
  await report(figures(mark, true), { ...figures(mark), measured: null });
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

t.test('the worker is told of repositories only, and of paths that nobody has walked', async t => {
  const { worker, connect, ledger } = await open(t);
  walk(ledger, 'alice/packages', 100, { path: '/srv/packages/alice', leaf: 'size:assets:packages:all' });
  const { report, pushed } = await connect();
  await report();
  for (const path of ['/srv/a.git', '/srv/packages/alice', '/srv/new.git']) {
    worker.changed(path);
    worker.mayHaveChanged(path);
  }
  t.same(await pushed(), ['/srv/a.git', '/srv/new.git']);
});

t.test('a fault that is too long is cut, and the worker stays connected', async t => {
  const { worker, connect } = await open(t);
  const { report } = await connect();
  await report({ ...figures(''), measured: null, fault: 'x'.repeat(5000) });
  t.equal(worker.space.figures('/srv/a.git')?.fault, 'x'.repeat(4096));
});

t.test('what cannot be measured is told while the repository is there', async t => {
  const { worker, connect, ledger } = await open(t);
  const { report } = await connect();
  await report({ ...figures(''), measured: null, fault: 'git says no' });
  const failing = async () => (await worker.space.observed()).failing;
  t.same(await failing(), { first: [{ path: '/srv/a.git', why: 'git says no' }], count: 1 });
  ledger.walks.recordGone('/srv/a.git', ledger.walks.nextSeq());
  t.same(await failing(), { first: [], count: 0 });
});

t.test('what is unreachable counts where the worker may delete it, and while it is there', async t => {
  const { worker, connect, ledger } = await open(t);
  const hashed = `/srv/@hashed/aa/bb/aabb${'0'.repeat(60)}.git`;
  for (const path of [hashed, '/srv/lent.git']) walk(ledger, `bob/${path}`, 100, { path });
  const { report } = await connect();
  const others = { ...figures('', true), path: '/srv/lent.git' };
  await report(
    figures(''),
    { ...figures(''), path: '/srv/gone.git' },
    { ...figures(''), path: hashed },
    others,
  );
  t.equal((await worker.space.observed()).unreachableBytes, 70);
  ledger.walks.recordGone('/srv/a.git', ledger.walks.nextSeq());
  t.equal((await worker.space.observed()).unreachableBytes, 0);
});

t.test('health needs no look at each repository, and findings look at them in slices', async t => {
  const { worker, connect, ledger } = await open(t);
  const { report } = await connect();
  const many = Array.from({ length: 200 }, (_, at) => ({ ...figures(''), path: `/srv/${at}.git` }));
  for (const { path } of many) walk(ledger, `bob/${path}`, 100, { path });
  await report(...many);
  const { units } = ledger;
  const { unit } = units;
  const looked = mock.method(units, 'unit', (path: string) => {
    const until = performance.now() + 0.1;
    while (performance.now() < until);
    return unit.call(units, path);
  });
  t.match(worker.presence(configOf(t, '')), { isForgiving: true, silentMs: Number });
  t.equal(looked.mock.callCount(), 0);
  const found = worker.space.observed();
  t.ok(looked.mock.callCount() < many.length);
  t.equal((await found).unreachableBytes, 14_000);
});

t.test('a worker is told of a push with the mark that answers its doubt', async t => {
  const { worker, connect } = await open(t);
  const { report, mark, pushed } = await connect();
  await report();
  worker.changed('/srv/a.git');
  t.same(await pushed(), ['/srv/a.git']);
  t.match(mark(), / 1$/);
});

t.test('a worker that comes new is told what has no answer yet', async t => {
  const { worker, connect } = await open(t);
  worker.changed('/srv/a.git');
  worker.mayHaveChanged('/srv/b.git');
  const first = await connect();
  t.notOk(worker.isHere, 'it has not reported');
  await first.report();
  t.ok(worker.isHere);
  t.same(await first.pushed(), ['/srv/a.git']);
  await first.report();
  t.same(await first.pushed(), []);
  const second = await connect();
  await first.end();
  await second.report();
  t.same(await second.pushed(), ['/srv/a.git'], 'another one');
  worker.mayHaveChanged('/srv/b.git');
  worker.resized('/srv/c.git');
  worker.appeared('/srv/d.git');
  t.same(await second.pushed(), ['/srv/b.git', '/srv/c.git', '/srv/d.git']);
  await second.end();
  t.notOk(worker.isHere);
});

t.test('where all counts, only changes are tasks, and nothing is in doubt', async t => {
  const { worker, connect, doubts } = await open(t, false);
  const { report, pushed } = await connect();
  await report();
  worker.letThrough('/srv/a.git');
  worker.mayHaveChanged('/srv/b.git');
  worker.resized('/srv/c.git');
  worker.appeared('/srv/d.git');
  worker.changed('/srv/e.git');
  t.same(await pushed(), ['/srv/e.git']);
  t.same(doubts, []);
});

t.test('what owners with little room deleted is collected first, and refusals say by when', async t => {
  const ledger = await new World(t).open();
  ledger.settings = { ...ledger.settings, totalBytes: 140, garbage: 'forgive', garbageMostBytes: 50 };
  walk(ledger, 'alice/a', 200, { path: '/srv/a.git' });
  walk(ledger, 'bob/b', 10, { path: '/srv/b.git' });
  walk(ledger, 'carol/c', 80, { path: '/srv/c.git' });
  walk(ledger, 'dan/d', 80, { path: '/srv/d.git' });
  const expireMs = 3_600_000;
  const worker = workerOf(t, {
    reach: ledger.reach,
    ledger,
    now: () => 1_000_000,
    reclaim: () => ({ run: 'gc', expireMs }),
    pauseMs: 1,
  });
  const roomOf = (name: string, path: string) => {
    const { owner, decision } = ledger.decide(name, 'size:repos:private', 0);
    return worker.roomFor(owner.name, path, decision);
  };
  t.match(roomOf('alice', '/srv/a.git'), { isForgiving: false }, 'nobody measures');
  const { fake, report } = await connect(t, worker);
  worker.start();
  const unreachable = { ...figures(''), at: 5 };
  const ofLimit = (path: string, bytes: number) => ({
    ...unreachable,
    path,
    measured: { object_bytes: 80, reachable_bytes: 80 - bytes, unreachable_bytes: bytes, lent: false },
  });
  const others = [ofLimit('/srv/c.git', 41), ofLimit('/srv/d.git', 39)];
  await report(unreachable, { ...unreachable, path: '/srv/b.git', measured: null }, ...others);
  const tasks = [await fake.task(), await fake.task()].map(({ kind, path }) => `${kind} ${path}`);
  t.same(new Set(tasks), new Set(['collect_first /srv/a.git', 'collect_first /srv/c.git']));
  const freedAt = 1_000_000 + expireMs + 120_000;
  t.same(roomOf('alice', '/srv/a.git'), { isForgiving: true, passesAt: null, freedAt });
  await report({ ...unreachable, collected_by: 2_000_000 });
  t.same(roomOf('alice', '/srv/a.git'), { isForgiving: true, passesAt: 2_120_000, freedAt });
  const collected = { at: 6, freed_bytes: 0, fault: null };
  await report({ ...unreachable, collected_by: 2_000_000, collected });
  t.same(
    roomOf('alice', '/srv/a.git'),
    { isForgiving: true, passesAt: null, freedAt: null },
    'nobody knows where the last collection freed nothing',
  );
  t.same(roomOf('bob', '/srv/b.git').freedAt, null, 'or could not be measured');
});

t.test('a git that pushes use is told until the worker has it', async t => {
  const { worker, connect } = await open(t);
  const config = configOf(t, '');
  const others = () => worker.presence(config).otherGits;
  const { fake } = await connect();
  const has = async (...gits: readonly string[]) => {
    fake.report({ exec_paths: gits });
    await fake.taken();
  };
  await has('/usr/lib/git-core');
  for (const git of ['/usr/lib/git-core', '/opt/a', '/opt/b']) worker.gitUsed(git);
  t.same(others(), ['/opt/a', '/opt/b']);
  await has('/usr/lib/git-core', '/opt/a');
  t.same(others(), ['/opt/b']);
});

t.test('many collections leave the worker room for other questions, and each has its turn', async t => {
  const { worker, connect } = await open(t);
  const { fake, report } = await connect();
  await report();
  const paths = Array.from({ length: 51 }, (_, at) => `/srv/${at}.git`);
  for (const path of paths) worker.space.reclaim(path, path);
  const asked = [];
  for (let count = 0; count < 50; count += 1) asked.push(await fake.task());
  t.same(
    asked.map(({ kind, path }) => `${kind} ${path}`),
    paths.slice(0, 50).map(path => `reclaim ${path}`),
  );
  void worker.quarantine('/srv/a.git', 'tmp_objdir-incoming-abcdef', 1000);
  t.match(await fake.task(), { kind: 'quarantine' }, 'the last one waits');
  fake.send({ result: { id: asked[7]?.id, value: { freed_bytes: 1, unreachable_bytes: 0 } } });
  t.match(await fake.task(), { kind: 'reclaim', path: '/srv/50.git' });
  fake.socket.destroy();
  while (worker.space.runs().some(({ state }) => state === 'running')) await nextTurn();
  t.same(Map.groupBy(worker.space.runs(), ({ state }) => state).get('done')?.length, 1);
});

t.test('a silent worker is believed for a day, and no longer', async t => {
  const world = new World(t);
  const ledger = await world.open();
  walk(ledger, 'alice/a', 100, { path: '/srv/a.git' });
  const forgotten: object[] = [];
  const { now } = performance;
  let passedMs = 0;
  const clock = mock.method(performance, 'now', () => now.call(performance) + passedMs);
  t.teardown(() => clock.mock.restore());
  const log = {
    error: () => {},
    info: () => {},
    warn: (details: unknown) => void forgotten.push(Object(details)),
  };
  const worker = workerOf(t, { reach: ledger.reach, ledger, now: () => 0, log });
  const forget = mock.method(ledger.reach, 'forget');
  const unreachable = () => ledger.units.unit('/srv/a.git')?.reach?.unreachableBytes ?? 0;
  const hours = (count: number): void => {
    passedMs += count * 3_600_000;
    worker.look();
  };
  const report = async (...repositories: readonly RepositoryFigures[]): Promise<void> => {
    const connection = await connect(t, worker);
    await connection.report(...repositories.map(each => ({ ...each, mark: connection.mark() })));
    await connection.end();
  };
  await report(figures(''));
  t.equal(unreachable(), 70);
  hours(23.99);
  t.equal(unreachable(), 70, 'it has been silent for less than a day');
  t.same(forgotten, []);
  await report();
  hours(23.99);
  t.equal(unreachable(), 70, 'a report begins the day anew');
  hours(0.02);
  t.equal(unreachable(), 0, 'nothing is forgiven any more');
  t.same(forgotten, [{ repositories: 1 }], 'and the log says so');
  hours(24);
  t.equal(forgotten.length, 1, 'once');
  t.equal(forget.mock.callCount(), 1, 'and no repository is looked at again');
  await report(figures(''));
  t.equal(unreachable(), 70, 'until a worker has measured');
});
