/** Usage is recorded once an hour, whatever happens in between. */

import { join } from 'node:path';
import t, { type Test } from 'tap';
import { SoftquotaError } from '../../src/errors.ts';
import type { Ledger } from '../../src/ledger/index.ts';
import { History, type Range, Totals } from '../../src/overview/index.ts';
import { leafIndex, leafMask } from '../../src/quota/index.ts';
import { type HistoryStore, openStore, type Store } from '../../src/store/index.ts';
import { until } from '../e2e/ask.ts';
import { directoryFor, lfs, openOn, repos, SetClock, silentLog, walk } from '../ledger/world.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

interface Open {
  readonly store: Store & HistoryStore;
  readonly ledger: Ledger;
  readonly totals: Totals;
  history: History;
}

class World {
  readonly clock = new SetClock();
  /** While it is true no hour can be ended. */
  isAway = false;
  /** Number of attempts that failed. */
  refused = 0;
  /** Called while the store looks whether an hour is recorded. */
  meanwhile: () => Promise<void> = async () => {};
  readonly #file: string;
  #open: Open | null = null;

  private constructor(file: string) {
    this.#file = file;
  }

  static async open(t: Test): Promise<World> {
    const world = new World(join(directoryFor(t), 'softquota.db'));
    t.teardown(() => world.close());
    await world.restart();
    return world;
  }

  get now(): Open {
    if (this.#open === null) throw new Error('it is closed');
    return this.#open;
  }

  async restart(): Promise<void> {
    await this.close();
    const store = await openStore({ file: this.#file });
    const { clock } = this;
    const ledger = await openOn(store, { clock });
    const totals = new Totals({ ledger, log: silentLog });
    totals.start();
    this.#open = { store, ledger, totals, history: this.#history(store, ledger, totals) };
  }

  #history(store: HistoryStore, ledger: Ledger, totals: Totals): History {
    const recordHour: HistoryStore['recordHour'] = async record => {
      if (this.isAway) {
        this.refused += 1;
        throw new SoftquotaError('store_away', 'the disk is full');
      }
      await store.recordHour(record);
    };
    const watched: HistoryStore = {
      recordOwners: (hour, owners) => store.recordOwners(hour, owners),
      recordHour,
      history: async query => {
        await this.meanwhile();
        return store.history(query);
      },
      thinHistory: thinning => store.thinHistory(thinning),
      forgetHistory: ids => store.forgetHistory(ids),
    };
    return new History({
      store: watched,
      owners: ledger.documents.owners,
      totals,
      log: silentLog,
      now: () => this.clock.wallMs,
    });
  }

  /**
   * Has the hour recorded that it is; resolves once it is, or could not be. A history that is begun anew does
   * so at once.
   */
  async recorded(): Promise<void> {
    await this.begin();
    await this.now.history.close();
  }

  /** Likewise, and the history goes on. */
  async begin(): Promise<void> {
    const { store, ledger, totals } = this.now;
    const hour = Math.floor(this.clock.wallMs / hourMs);
    const { refused } = this;
    await this.now.history.close();
    this.now.history = this.#history(store, ledger, totals);
    this.now.history.start(Promise.resolve());
    await until(async () => {
      const { hours } = await store.history({ ownerId: null, fromHour: hour, toHour: hour });
      return hours.length > 0 || this.refused > refused ? true : null;
    });
  }

  idOf(name: string): number {
    const { id } = this.now.ledger.ownerUsage(name);
    if (id === null) throw new Error(`nobody is named ${name}`);
    return id;
  }

  /** The points of a range: when, in hours since the beginning, and bytes in repositories. */
  async points(ownerId: number | null, range: Range = 'week'): Promise<(readonly [number, number])[]> {
    const { points } = await this.now.history.of(ownerId === null ? null : [ownerId], range);
    const from = new SetClock().wallMs;
    return points.map(({ at, usage }) => [(at - from) / hourMs, usage[leafIndex(repos)] ?? 0]);
  }

  async close(): Promise<void> {
    const open = this.#open;
    this.#open = null;
    await open?.history.close();
    await open?.totals.close();
    await open?.ledger.close();
  }
}

t.test('each hour has a point, of an owner and of all together', async t => {
  const world = await World.open(t);
  walk(world.now.ledger, 'alice/app', 10);
  walk(world.now.ledger, 'bob/app', 5);
  await world.recorded();
  world.clock.pass(hourMs);
  walk(world.now.ledger, 'alice/app', 12);
  await world.recorded();
  world.clock.pass(hourMs);
  await world.recorded();
  t.strictSame(await world.points(world.idOf('alice')), [
    [0, 10],
    [1, 12],
    [2, 12],
  ]);
  t.strictSame(await world.points(null), [
    [0, 15],
    [1, 17],
    [2, 17],
  ]);
});

t.test('before everything is measured nothing is recorded', async t => {
  const world = await World.open(t);
  walk(world.now.ledger, 'alice/app', 10);
  const measured = Promise.withResolvers<void>();
  world.now.history.start(measured.promise);
  await world.now.totals.settled();
  t.strictSame(await world.points(null), []);
  measured.resolve();
  await until(async () => ((await world.points(null)).length > 0 ? true : null));
  t.strictSame(await world.points(null), [[0, 10]]);
});

t.test('an hour is recorded once, also over restarts and with a clock that is set', async t => {
  const world = await World.open(t);
  walk(world.now.ledger, 'alice/app', 10);
  await world.recorded();
  await world.restart();
  world.clock.pass(10 * 60_000);
  walk(world.now.ledger, 'alice/app', 11);
  await world.recorded();
  world.clock.pass(hourMs);
  await world.recorded();
  world.clock.wallMs -= hourMs;
  walk(world.now.ledger, 'alice/app', 30);
  await world.recorded();
  t.strictSame((await world.points(world.idOf('alice'))).length, 1, 'what is later than now is not told');
  world.clock.pass(2 * hourMs);
  await world.recorded();
  t.strictSame(await world.points(world.idOf('alice')), [
    [0, 10],
    [1 + 1 / 6, 11],
    [2 + 1 / 6, 30],
  ]);
});

t.test('what a clock that was set back has recorded changes nothing of what was recorded before', async t => {
  const world = await World.open(t);
  walk(world.now.ledger, 'alice/app', 10);
  await world.recorded();
  world.clock.wallMs -= 5 * hourMs;
  walk(world.now.ledger, 'alice/app', 20);
  await world.recorded();
  world.clock.wallMs += 5 * hourMs;
  t.strictSame(await world.points(world.idOf('alice')), [
    [-5, 20],
    [0, 10],
  ]);
});

t.test('while the store takes nothing an hour is missing, and what changed is in the next one', async t => {
  const world = await World.open(t);
  walk(world.now.ledger, 'alice/app', 10);
  await world.recorded();
  world.clock.pass(hourMs);
  walk(world.now.ledger, 'alice/app', 20);
  world.isAway = true;
  await world.recorded();
  t.equal(world.refused, 1);
  world.isAway = false;
  world.clock.pass(hourMs);
  await world.recorded();
  t.strictSame(await world.points(world.idOf('alice')), [
    [0, 10],
    [2, 20],
  ]);
});

t.test('the history follows an owner who is renamed, and goes with one who is deleted', async t => {
  const world = await World.open(t);
  const { ledger } = world.now;
  await ledger.reports.reportUnit('alice', repos, 'store', 10);
  await world.recorded();
  const id = world.idOf('alice');
  await ledger.reports.reportUnit('alice', repos, 'store', 0);
  await ledger.documents.transact(transaction => transaction.renameOwner('alice', 'alicia', () => true));
  world.clock.pass(hourMs);
  await world.recorded();
  t.equal(world.idOf('alicia'), id);
  t.strictSame(await world.points(id), [
    [0, 10],
    [1, 0],
  ]);
  await ledger.documents.transact(transaction => transaction.deleteOwner('alicia'));
  world.clock.pass(hourMs);
  await world.recorded();
  t.strictSame(await world.points(id), []);
  t.strictSame((await world.points(null)).at(-1), [2, 0]);
});

t.test('several owners together have what each of them had, and of some kinds only', async t => {
  const world = await World.open(t);
  const { reports } = world.now.ledger;
  await reports.reportUnit('alice', repos, 'store', 10);
  await reports.reportUnit('carol', repos, 'store', 1000);
  await world.recorded();
  await reports.reportUnit('bob', repos, 'store', 5);
  await reports.reportUnit('bob', lfs, 'store', 7);
  world.clock.pass(hourMs);
  await world.recorded();
  await reports.reportUnit('alice', repos, 'store', 2);
  world.clock.pass(hourMs);
  await world.recorded();
  const ids = ['alice', 'bob'].map(name => world.idOf(name));
  const bytes = async (counted?: number) => {
    const { points } = await world.now.history.of(ids, 'week', counted);
    return points.map(({ usage }) => usage.reduce((sum, each) => sum + each, 0));
  };
  t.strictSame(await bytes(), [10, 22, 14]);
  t.strictSame(await bytes(leafMask(repos)), [10, 15, 7]);
  t.strictSame((await world.now.history.of([], 'week')).points, []);
});

t.test('an owner who is renamed while an hour is recorded is recorded once', async t => {
  const world = await World.open(t);
  const { ledger, totals } = world.now;
  const { documents } = ledger;
  // There are too many to be counted again in one turn, and the new name comes before the old one.
  await documents.transact(transaction => transaction.createOwner('first'));
  for (let owner = 0; owner < 2000; owner += 1) walk(ledger, `owner${owner}/app`, 1);
  walk(ledger, 'alice/app', 10);
  await totals.settled();
  await documents.transact(transaction => transaction.deleteOwner('first'));
  await totals.settled();
  const id = world.idOf('alice');
  world.meanwhile = async () => {
    world.meanwhile = async () => {};
    await documents.transact(transaction => transaction.renameOwner('alice', 'alicia', () => true));
    void totals.settled();
    await new Promise(resolve => setImmediate(resolve));
  };
  await world.recorded();
  t.equal(world.idOf('alicia'), id);
  t.strictSame(await world.points(id), [], 'the bytes that walks found under the old name are not theirs');
});

t.test('of an owner who went unseen the history goes when it is thinned', async t => {
  const world = await World.open(t);
  await world.now.store.recordOwners(1, [{ ownerId: 77, usage: [1, 1, 1, 1, 1, 1, 1, 1] }]);
  const steps = async () =>
    (await world.now.store.history({ ownerId: 77, fromHour: 1, toHour: 1 })).steps.length;
  // It comes again by itself when the day is over, which is soon.
  const leftMs = 20;
  world.clock.pass(dayMs - (world.clock.wallMs % dayMs) - leftMs);
  await world.begin();
  t.equal(await steps(), 1, 'not at the start, where the clock may be wrong');
  world.clock.pass(leftMs);
  await until(async () => ((await steps()) === 0 ? true : null));
});

t.test('a year is told by the day, years by a few days each, and the newest is always there', async t => {
  const world = await World.open(t);
  walk(world.now.ledger, 'alice/app', 10);
  await world.recorded();
  const { store } = world.now;
  const id = world.idOf('alice');
  const today = Math.floor(world.clock.wallMs / dayMs);
  for (let day = today - 1200; day < today; day++) {
    const at = day * dayMs + 5 * hourMs;
    const usage = [0, 0, 0, 0, 0, 0, 0, 0];
    usage[leafIndex(repos)] = day;
    await store.recordOwners(at / hourMs, [{ ownerId: id, usage }]);
    await store.recordHour({ hour: at / hourMs, at, usage });
  }
  for (const [range, count] of [
    ['month', 32],
    ['year', 367],
    ['all', 301],
  ] as const) {
    const points = await world.points(id, range);
    t.equal(points.length, count, range);
    t.strictSame(points.at(-1), [0, 10], range);
  }
  const { growth } = await world.now.history.of([id], 'day');
  t.match(growth, { perDay: 1 });
});
