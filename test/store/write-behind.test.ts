/** Changes get into a store that fails at chosen moments. */

import t, { type Test } from 'tap';
import { SoftquotaError } from '../../src/errors.ts';
import {
  type Changes,
  type EventQuery,
  type EventRecord,
  type LevelRecord,
  mostEvents,
  type Store,
  type StoredRecords,
  type UnitRecord,
  WriteBehind,
} from '../../src/store/index.ts';
import { silentLog } from '../ledger/world.ts';
import { applyTo, emptyModel, eventsBy, keptBy, levelsBy } from './model.ts';
import { event, owner, unit } from './records.ts';

/** A store in memory, whose writes wait until the test lets them through or fails them. */
class HeldStore implements Store {
  readonly model = emptyModel();
  readonly writes: Changes[] = [];
  /** Throws what a write is to fail with. */
  judge: (changes: Changes) => void | Promise<void> = () => {};

  async load(): Promise<StoredRecords> {
    return keptBy(this.model);
  }

  async *units(): AsyncGenerator<readonly UnitRecord[]> {
    yield keptBy(this.model).units;
  }

  async write(changes: Changes): Promise<void> {
    this.writes.push(changes);
    await this.judge(changes);
    applyTo(this.model, changes);
  }

  async events(query: EventQuery): Promise<readonly EventRecord[]> {
    return eventsBy(this.model, query);
  }

  async levels(): Promise<readonly LevelRecord[]> {
    return levelsBy(this.model);
  }

  async close(): Promise<void> {}
}

const away = () => {
  throw new SoftquotaError('store_away', 'no room');
};

function world(t: Test, log: Partial<typeof silentLog> = {}) {
  const store = new HeldStore();
  const writeBehind = new WriteBehind({
    store,
    log: { ...silentLog, ...log },
    now: () => 7,
    probe: () => ({ sweep: { startedAt: 0, finishedAt: 0, units: 0 } }),
  });
  t.teardown(() => writeBehind.close());
  return { store, writeBehind };
}

t.test('what changes in one turn is one write, the newest state of each thing', async t => {
  const { store, writeBehind } = world(t);
  writeBehind.note({ owners: [owner('alice')] });
  writeBehind.note({ units: [unit('a', { bytes: 1 })] });
  writeBehind.note({ units: [unit('a', { bytes: 2 })] });
  writeBehind.note({ units: [unit('b')] });
  writeBehind.note({ goneUnits: ['b'] });
  t.equal(await writeBehind.kept(), true);
  t.equal(store.writes.length, 1);
  t.match(store.writes[0], { units: [{ id: 'a', bytes: 2 }], goneUnits: ['b'], owners: [{ key: 'alice' }] });
});

t.test('a note of nothing writes nothing', async t => {
  const { store, writeBehind } = world(t);
  writeBehind.note({});
  writeBehind.note({ owners: [] });
  t.equal(await writeBehind.kept(), true);
  t.strictSame(store.writes, []);
});

t.test('a write that fails never comes over what was noted since', async t => {
  const { store, writeBehind } = world(t);
  const failed = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  store.judge = () => {
    begun.resolve();
    return failed.promise;
  };
  writeBehind.note({ units: [unit('a', { bytes: 1 })] });
  writeBehind.note({ units: [unit('b', { bytes: 1 })] });
  writeBehind.note({ units: [unit('c', { bytes: 1 })] });
  writeBehind.note({
    sweep: { startedAt: 1, finishedAt: 1, units: 1 },
    roots: [{ path: '/x', device: 1n, inode: 1n, fileSystem: null }],
    goneRoots: ['/y'],
  });
  await begun.promise;
  writeBehind.note({ units: [unit('a', { bytes: 2 })] });
  writeBehind.note({ goneUnits: ['b'] });
  writeBehind.note({ sweep: { startedAt: 2, finishedAt: 2, units: 2 }, goneRoots: ['/x'] });
  store.judge = () => {};
  failed.reject(new SoftquotaError('store_away', 'no room'));
  t.equal(await writeBehind.kept(), false);
  t.strictSame(writeBehind.away, { since: 7, reason: 'no room' });
  await writeBehind.close();
  t.equal(writeBehind.away, null);
  const kept = keptBy(store.model);
  t.strictSame(
    kept.units.map(({ id, bytes }) => [id, bytes]),
    [
      ['a', 2],
      ['c', 1],
    ],
  );
  t.strictSame(kept.roots, []);
  t.equal(kept.sweep?.units, 2);
  t.strictSame(
    [...(store.writes.at(-1)?.goneRoots ?? [])].sort(),
    ['/x', '/y'],
    'nor is what went forgotten',
  );
});

t.test('many notes go in several writes, and what is said of the whole sweep in the last', async t => {
  const { store, writeBehind } = world(t);
  for (let n = 0; n < 12_000; n++) writeBehind.note({ units: [unit(`u${n}`)] });
  writeBehind.note({ sweep: { startedAt: 1, finishedAt: 2, units: 12_000 } });
  await writeBehind.kept();
  t.strictSame(
    store.writes.map(({ units, sweep }) => [units?.length, sweep !== undefined]),
    [
      [5000, false],
      [5000, false],
      [2000, true],
    ],
  );
});

t.test('one record that can never be taken is named in the log, and all others are kept', async t => {
  const told: object[] = [];
  const { store, writeBehind } = world(t, { error: (details?: object) => told.push(details ?? {}) });
  store.judge = ({ units = [] }) => {
    if (units.some(({ bytes }) => bytes < 0)) throw new SoftquotaError('invalid', 'a size below 0');
  };
  for (let n = 0; n < 1000; n++) writeBehind.note({ units: [unit(`u${n}`, { bytes: n === 700 ? -1 : n })] });
  writeBehind.note({ goneUnits: ['gone'] });
  t.equal(await writeBehind.kept(), true);
  t.equal(writeBehind.away, null);
  t.equal(store.model.units.size, 999);
  t.match(told, [{ record: { units: [{ id: 'u700' }] } }]);
});

t.test('a policy that can never be taken is named in the log as a whole, and all else is kept', async t => {
  const told: object[] = [];
  const { store, writeBehind } = world(t, { error: (details?: object) => told.push(details ?? {}) });
  store.judge = ({ documents = [] }) => {
    if (documents.length > 0) throw new SoftquotaError('invalid', 'no document');
  };
  writeBehind.note({ units: [unit('a')], owners: [owner('alice')] });
  writeBehind.note({
    documents: [{ kind: 'rule', key: 'r', text: '{}' }],
    replicated: { generation: 'g', version: 2, mark: 'm' },
  });
  t.equal(await writeBehind.kept(), true);
  t.match(told, [
    { record: { owners: [{ key: 'alice' }], documents: [{ key: 'r' }], replicated: { version: 2 } } },
  ]);
  t.strictSame([...store.model.units.keys()], ['a']);
  t.equal(store.model.replicated, null);
});

t.test('a store that goes away while a faulty record is looked for gets the rest later', async t => {
  const { store, writeBehind } = world(t);
  let writes = 0;
  store.judge = ({ units = [] }) => {
    writes += 1;
    if (writes === 4) away();
    if (units.some(({ bytes }) => bytes < 0)) throw new SoftquotaError('invalid', 'a size below 0');
  };
  for (let n = 0; n < 64; n++) writeBehind.note({ units: [unit(`u${n}`, { bytes: n === 40 ? -1 : n })] });
  t.equal(await writeBehind.kept(), false);
  await writeBehind.close();
  t.equal(store.model.units.size, 63);
});

t.test('what must be written at once is refused while away, and shows that it is back', async t => {
  const { store, writeBehind } = world(t);
  store.judge = away;
  await t.rejects(writeBehind.writeFirst({ owners: [owner('alice')] }), { code: 'store_away' });
  t.match(writeBehind.away, { reason: 'no room' });
  writeBehind.note({ units: [unit('a')] });
  store.judge = () => {};
  await writeBehind.writeFirst({ owners: [owner('bob')] });
  while (writeBehind.away !== null) await new Promise(resolve => setImmediate(resolve));
  t.equal(await writeBehind.kept(), true);
  t.strictSame([...store.model.owners.keys()], ['bob'], 'what was refused is not written later');
  t.strictSame([...store.model.units.keys()], ['a']);
});

t.test('what is written at once is not overwritten by the same unit that has waited', async t => {
  const { store, writeBehind } = world(t);
  store.judge = away;
  writeBehind.note({ units: [unit('a', { bytes: 1 })] });
  writeBehind.note({ units: [unit('b', { bytes: 1 })] });
  t.equal(await writeBehind.kept(), false);
  store.judge = () => {};
  await writeBehind.writeFirst({ units: [unit('a', { bytes: 2 })], goneUnits: ['b'] });
  while (writeBehind.away !== null) await new Promise(resolve => setImmediate(resolve));
  t.equal(await writeBehind.kept(), true);
  t.strictSame([...store.model.units.values()], [unit('a', { bytes: 2 })]);
});

t.test('a report that no store could take does not make the store be away', async t => {
  const { store, writeBehind } = world(t);
  store.judge = () => {
    throw new SoftquotaError('invalid', 'nothing that can be kept');
  };
  await t.rejects(writeBehind.writeFirst({ owners: [owner('alice')] }), { code: 'invalid' });
  t.equal(writeBehind.away, null);
});

t.test('closing tries once more what waits, and ends where the store stays away', async t => {
  const { store, writeBehind } = world(t);
  store.judge = away;
  writeBehind.note({ units: [unit('a')] });
  t.equal(await writeBehind.kept(), false);
  const before = store.writes.length;
  await writeBehind.close();
  t.equal(store.writes.length, before + 1);
  t.equal(store.model.units.size, 0);
});

t.test('a note made at the very moment the last write ends is written too', async t => {
  const { store, writeBehind } = world(t);
  for (let turns = 0; turns < 12; turns++) {
    writeBehind.note({ units: [unit(`first${turns}`)] });
    while (!store.writes.some(({ units }) => units?.[0]?.id === `first${turns}`)) await null;
    for (let n = 0; n < turns; n++) await null;
    writeBehind.note({ units: [unit(`second${turns}`)] });
    await writeBehind.kept();
  }
  t.equal(store.model.units.size, 24);
});

t.test('events that come while the store is away are written once it is back, up to a bound', async t => {
  let told = 0;
  const { store, writeBehind } = world(t, {
    error: () => {
      told += 1;
    },
  });
  store.judge = away;
  const at = (id: number) => event(`r-${id}`, id);
  for (let id = 0; id < mostEvents + 100; id += 1) writeBehind.note({ events: [at(id)] });
  writeBehind.note({ events: [{ ...at(7), text: 'more of it' }], levels: [{ ownerId: 1, text: 'high' }] });
  t.equal(await writeBehind.kept(), false);
  t.equal(told, 1, 'that some are lost is said once');
  store.judge = () => {};
  await writeBehind.close();
  t.equal(store.model.events.size, mostEvents);
  t.equal(store.model.events.get('r-7')?.text, 'more of it', 'what is told again of the same thing has room');
  t.strictSame(await store.levels(), [{ ownerId: 1, text: 'high' }]);
});

t.test('events go by the latest time that was said', async t => {
  const { store, writeBehind } = world(t);
  writeBehind.note({ events: [event('a', 1)] });
  await writeBehind.kept();
  writeBehind.note({ goneEventsBefore: 5, events: [event('b', 9)] });
  writeBehind.note({ goneEventsBefore: 3 });
  await writeBehind.kept();
  t.strictSame([...store.model.events.keys()], ['b']);
});
