/** Usage as it was: kept as steps, thinned, and never changed by what comes late. */

import { join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import { noUsage, type Usage } from '../../src/quota/index.ts';
import type { HistoryStore, Store } from '../../src/store/index.ts';
import { open } from './samples.ts';

const day = 24;
const keep = { hourlyDays: 2, dailyDays: 6 };

/** In each leaf another size. */
const using = (bytes: number): Usage => noUsage.map((_, index) => bytes * (index + 1));

let stores = 0;
const directory = t.testdir();

async function withStore<T>(act: (store: Store & HistoryStore) => Promise<T>): Promise<T> {
  const store = await open(join(directory, `${++stores}.db`));
  try {
    return await act(store);
  } finally {
    await store.close();
  }
}

/** Records an hour as it is recorded: owners first. */
async function record(store: HistoryStore, hour: number, owners: Readonly<Record<number, number>>) {
  const records = Object.entries(owners).map(([id, bytes]) => ({ ownerId: Number(id), usage: using(bytes) }));
  await store.recordOwners(hour, records);
  const all = Object.values(owners).reduce((sum, bytes) => sum + bytes, 0);
  await store.recordHour({ hour, at: hour * 3_600_000 + 1, usage: using(all) });
}

/** Usage of an owner at each recorded hour, by the steps. */
async function usedAt(store: HistoryStore, ownerId: number): Promise<Map<number, number>> {
  const { hours, steps } = await store.history({ ownerId, fromHour: 0, toHour: Number.MAX_SAFE_INTEGER });
  return new Map(hours.map(({ hour }) => [hour, steps.findLast(step => step.hour <= hour)?.usage[0] ?? 0]));
}

async function thinAll(store: HistoryStore, nowHour: number): Promise<number[]> {
  const all: number[] = [];
  for (;;) {
    const ids = await store.thinHistory({ afterOwner: all.at(-1) ?? -1, nowHour, ...keep });
    if (ids.length === 0) return all;
    all.push(...ids);
  }
}

t.test('an owner takes a row only where the usage is another than before', async t => {
  await withStore(async store => {
    await record(store, 10, { 1: 5, 2: 0 });
    await record(store, 11, { 1: 5, 2: 0 });
    await record(store, 12, { 1: 6, 2: 0 });
    const asked = { fromHour: 11, toHour: 12 };
    const { hours, steps } = await store.history({ ownerId: 1, ...asked });
    t.strictSame(hours, [
      { hour: 11, at: 11 * 3_600_000 + 1, usage: using(5) },
      { hour: 12, at: 12 * 3_600_000 + 1, usage: using(6) },
    ]);
    t.strictSame(steps, [
      { hour: 10, usage: using(5) },
      { hour: 12, usage: using(6) },
    ]);
    t.strictSame((await store.history({ ownerId: 2, ...asked })).steps, [], 'who uses nothing takes nothing');
    t.strictSame((await store.history({ ownerId: null, ...asked })).steps, []);
    await store.forgetHistory([1]);
    t.strictSame((await store.history({ ownerId: 1, ...asked })).steps, []);
  });
});

t.test('an hour is there only once all of it is, and may be begun again', async t => {
  await withStore(async store => {
    await store.recordOwners(10, [{ ownerId: 1, usage: using(5) }]);
    t.strictSame([...(await usedAt(store, 1))], []);
    await record(store, 10, { 1: 7 });
    t.strictSame([...(await usedAt(store, 1))], [[10, 7]]);
  });
});

t.test('a size that is none is refused, and nothing of its write is kept', async t => {
  await withStore(async store => {
    const faulty = { ownerId: 2, usage: using(-1) };
    const refused = store.recordOwners(3, [{ ownerId: 1, usage: using(1) }, faulty]);
    await t.rejects(refused, { code: 'invalid' });
    await record(store, 3, {});
    t.strictSame([...(await usedAt(store, 1))], [[3, 0]]);
  });
});

const anyHours = (minLength: number) =>
  fc.uniqueArray(
    fc.record({
      hour: fc.integer({ min: 0, max: 12 * day }),
      owners: fc.dictionary(fc.constantFrom('1', '2', '3'), fc.integer({ min: 0, max: 3 })),
    }),
    { selector: ({ hour }) => hour, minLength, maxLength: 60 },
  );

t.test('every recorded hour says what was recorded, in whatever order hours came', async t => {
  await fc.assert(
    fc.asyncProperty(anyHours(0), async recorded => {
      await withStore(async store => {
        // Owners that are left out are as at the hour before.
        const wanted = new Map<number, Record<string, number>>();
        for (const { hour, owners } of recorded) {
          const before = [...wanted.keys()].filter(other => other < hour).sort((a, b) => a - b);
          const now = { ...wanted.get(before.at(-1) ?? Number.NaN), ...owners };
          await record(store, hour, now);
          wanted.set(hour, now);
        }
        for (const id of [1, 2, 3]) {
          for (const [hour, used] of await usedAt(store, id)) {
            if (used !== (wanted.get(hour)?.[id] ?? 0)) t.fail(`${id} at ${hour}: ${used}`);
          }
        }
        t.equal((await usedAt(store, 1)).size, recorded.length);
      });
    }),
    { numRuns: 40 },
  );
});

t.test('thinning keeps what held at the end of each day, and in the end only what still holds', async t => {
  await fc.assert(
    fc.asyncProperty(anyHours(40), async recorded => {
      await withStore(async store => {
        const inOrder = recorded.toSorted((a, b) => a.hour - b.hour);
        let now: Record<string, number> = {};
        for (const { hour, owners } of inOrder) {
          now = { ...now, ...owners };
          await record(store, hour, now);
        }
        const before = await usedAt(store, 1);
        await thinAll(store, 20 * day);
        const after = await usedAt(store, 1);
        const reckoned = inOrder.at(-25);
        const firstHourly =
          reckoned === undefined ? 0 : (Math.floor(reckoned.hour / day) - keep.hourlyDays) * day;
        const firstDaily = firstHourly - (keep.dailyDays - keep.hourlyDays) * day;
        const isLast = (hour: number) => {
          return ![...before.keys()].some(
            other => other > hour && Math.floor(other / day) === Math.floor(hour / day),
          );
        };
        const wanted = [...before].filter(
          ([hour]) => hour >= firstHourly || (hour >= firstDaily && isLast(hour)),
        );
        t.strictSame([...after], wanted);
        await thinAll(store, 20 * day);
        t.strictSame([...(await usedAt(store, 1))], wanted, 'and again it changes nothing');
      });
    }),
    { numRuns: 8 },
  );
});

t.test('of an owner who stays as he is one row is left, however long ago it was written', async t => {
  await withStore(async store => {
    await record(store, 1, { 1: 4 });
    for (let hour = 100; hour < 130; hour++) await record(store, hour * day, { 1: 4 });
    t.strictSame(await thinAll(store, 130 * day), [1]);
    const { hours, steps } = await store.history({ ownerId: 1, fromHour: 104 * day, toHour: 130 * day });
    t.equal(hours.length, 26);
    t.strictSame(steps, [{ hour: 1, usage: using(4) }]);
  });
});

t.test('thinning goes on where it ended, a few owners at a time', async t => {
  await withStore(async store => {
    const many = Object.fromEntries(Array.from({ length: 450 }, (_, id) => [id + 1, 1]));
    await record(store, 5, many);
    const first = await store.thinHistory({ afterOwner: -1, nowHour: 6, ...keep });
    t.ok(first.length > 0 && first.length < 450);
    t.strictSame(await thinAll(store, 6), Object.keys(many).map(Number));
  });
});

t.test('a clock that was years ahead for a day has cost nothing', async t => {
  await withStore(async store => {
    for (let hour = 0; hour < 3 * day; hour++) await record(store, hour, { 1: hour });
    for (let hour = 0; hour < day; hour++) {
      await record(store, 90_000 + hour, { 1: 7 });
      await thinAll(store, 90_000 + hour);
    }
    await record(store, 3 * day, { 1: 8 });
    const found = await usedAt(store, 1);
    t.strictSame(
      [...found].slice(0, 3 * day + 1),
      Array.from({ length: 3 * day + 1 }, (_, hour) => [hour, hour === 3 * day ? 8 : hour]),
    );
  });
});
