/**
 * The promises of what a store keeps of owners, as tests; those of events and levels for the store that
 * several hosts share, too.
 *
 * A place is where one store is kept: nothing is in it at first, and opening it again after `close` gives the
 * same one. Only one is open at a place at a time.
 */

import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Test } from 'tap';
import type { RecordChanges, RecordStore, Store } from '../../src/store/index.ts';
import { isLong } from '../run-length.ts';
import { applyTo, emptyModel, eventsBy, levelsBy, type Model, recordsBy, sortedRecords } from './model.ts';
import {
  anyEventQuery,
  anyRegisterChanges,
  event,
  faultyRegisterChanges,
  oddStrings,
  owner,
  share,
} from './records.ts';

type Closable = RecordStore & Pick<Store, 'close'>;

export interface Place<Kind extends Closable> {
  open(): Promise<Kind>;
}

/** Runs what is to be shown on a record store that is closed in any case. */
export async function using<Kind extends Closable, T>(
  place: Place<Kind>,
  act: (records: Kind) => Promise<T>,
): Promise<T> {
  const records = await place.open();
  try {
    return await act(records);
  } finally {
    await records.close();
  }
}

export function recordStoreContract(t: Test, newPlace: () => Place<Store>): void {
  const loaded = (place: Place<Store>) => using(place, async records => sortedRecords(await records.load()));

  t.test('a new record store is empty', async t => {
    t.strictSame(await loaded(newPlace()), { owners: [], documents: [], shares: [] });
  });

  t.test('everything written is there when the record store is opened again', async t => {
    const place = newPlace();
    const changes = {
      owners: [owner('alice', { name: 'Alice' }), owner('tools', { type: 'organization' })],
      documents: [{ kind: 'rule', key: 'total', text: '{"limit":-1}' }],
      shares: [
        share('alice', 'one', { partial: true }),
        share('alice', 'two', { bytes: {}, units: 0, measuredAt: null }),
        share('tools', 'one'),
      ],
    } satisfies RecordChanges;
    await using(place, records => records.write(changes));
    const model = emptyModel();
    applyTo(model, changes);
    t.strictSame(await loaded(place), recordsBy(model));
  });

  t.test('a record replaces the one with the same key, or of the same owner and host', async t => {
    const place = newPlace();
    await using(place, async records => {
      await records.write({
        owners: [owner('a')],
        shares: [share('a', 'one', { bytes: { 'size:git:lfs': 5 } })],
      });
      await records.write({
        owners: [owner('a', { name: 'B' }), owner('a', { name: 'A' })],
        shares: [share('a', 'one', { bytes: { 'size:repos:public': 1 } })],
      });
    });
    const kept = await loaded(place);
    t.strictSame(kept.owners, [owner('a', { name: 'A' })], 'the later of two in one write');
    t.strictSame(kept.shares, [share('a', 'one', { bytes: { 'size:repos:public': 1 } })], 'all of it');
  });

  t.test('what is taken out and put in by one write is there', async t => {
    const place = newPlace();
    await using(place, async records => {
      await records.write({
        owners: [owner('a'), owner('b')],
        shares: [share('a', 'one'), share('a', 'two')],
      });
      await records.write({
        owners: [owner('a', { id: 9 })],
        goneOwners: ['a', 'b', 'never there'],
        shares: [share('a', 'one', { units: 2 })],
        goneShares: [
          { ownerKey: 'a', host: 'one' },
          { ownerKey: 'a', host: 'two' },
          { ownerKey: 'never', host: 'there' },
        ],
      });
    });
    const kept = await loaded(place);
    t.strictSame(kept.owners, [owner('a', { id: 9 })]);
    t.strictSame(kept.shares, [share('a', 'one', { units: 2 })]);
  });

  t.test('no string is changed, whatever it is made of', async t => {
    const place = newPlace();
    const owners = oddStrings.map(odd => owner(odd));
    const documents = oddStrings.map(odd => ({ kind: odd, key: odd, text: odd }));
    const events = oddStrings.map((odd, at) => event(`${at}`, -at, { kind: odd, ownerKey: odd, text: odd }));
    const shares = oddStrings.map(odd => share(odd, odd));
    const model = emptyModel();
    applyTo(model, { owners, documents, shares });
    await using(place, records => records.write({ owners, documents, shares, events }));
    t.strictSame(await using(place, records => records.events({ limit: 99 })), events);
    t.strictSame(await loaded(place), recordsBy(model));
    await using(place, records =>
      records.write({
        goneOwners: oddStrings,
        goneDocuments: oddStrings.map(odd => ({ kind: odd, key: odd })),
        goneShares: oddStrings.map(odd => ({ ownerKey: odd, host: odd })),
      }),
    );
    t.strictSame(await loaded(place), { owners: [], documents: [], shares: [] });
  });

  t.test('numbers at the ends of their ranges are exact', async t => {
    const place = newPlace();
    const most = Number.MAX_SAFE_INTEGER;
    const largest = share('largest', 'one', {
      bytes: { 'size:git:lfs': most },
      units: most,
      measuredAt: -most,
    });
    await using(place, records =>
      records.write({ shares: [largest], owners: [owner('a', { id: most, since: -most })] }),
    );
    const kept = await loaded(place);
    t.strictSame(kept.shares, [largest]);
    t.strictSame(kept.owners, [owner('a', { id: most, since: -most })]);
  });

  happeningsContract(t, newPlace);

  for (const [fault, changes] of Object.entries(faultyRegisterChanges)) {
    t.test(`a write with ${fault} is refused whole, and its neighbours are kept`, async t => {
      const place = newPlace();
      await using(place, async records => {
        const before = records.write({ owners: [owner('before')] });
        const faulty = records.write(changes);
        const after = records.write({ owners: [owner('after')] });
        await t.rejects(faulty, { code: 'invalid' });
        await Promise.all([before, after]);
      });
      const kept = await loaded(place);
      t.strictSame(kept.owners, [owner('after'), owner('before')]);
      t.strictSame(kept.shares, []);
    });
  }

  t.test('writes take effect in the order in which they are asked for', async t => {
    const place = newPlace();
    await using(place, async records => {
      const asked: Promise<unknown>[] = [];
      for (let id = 1; id <= 500; id++) {
        asked.push(records.write(id % 7 === 0 ? { goneOwners: ['a'] } : { owners: [owner('a', { id })] }));
        if (id === 250) {
          asked.push(
            records
              .load()
              .then(kept => t.strictSame(kept.owners, [owner('a', { id })], 'a load has its place too')),
          );
        }
      }
      await Promise.all(asked);
    });
    t.strictSame((await loaded(place)).owners, [owner('a', { id: 500 })]);
  });

  t.test('closing waits for the writes under way, and takes no more', async t => {
    const place = newPlace();
    const records = await place.open();
    const writes = Array.from({ length: 50 }, (_, index) => records.write({ owners: [owner(`${index}`)] }));
    const closing = records.close();
    await t.rejects(records.write({ owners: [owner('late')] }), { code: 'store_away' });
    await t.rejects(records.load(), { code: 'store_away' });
    await Promise.all([...writes, closing, records.close()]);
    t.equal((await loaded(place)).owners.length, 50);
  });

  t.test('an empty write is no fault', async t => {
    await using(newPlace(), async records => {
      await records.write({});
      await records.write({ owners: [], goneOwners: [], shares: [] });
      t.strictSame((await records.load()).owners, []);
    });
  });

  t.test('any sequence of writes gives what plain maps would, also after opening again', async () => {
    await anySequence(newPlace, {
      changes: anyRegisterChanges,
      faulty: Object.values(faultyRegisterChanges),
      compare: async (records, model) =>
        assert.deepStrictEqual(sortedRecords(await records.load()), recordsBy(model)),
    });
  });
}

/** Events, and levels of owners. */
export function happeningsContract(t: Test, newPlace: () => Place<Closable>): void {
  t.test('events come newest first, page by page, all or those of a kind or of an owner', async t => {
    const place = newPlace();
    const events = [
      event('p-1', 30, { kind: 'policy', ownerId: null, ownerKey: null }),
      event('b', 20),
      event('a', 20, { ownerKey: 'as-she-was-called' }),
      event('c', 10, { ownerId: null }),
      event('d', 5, { ownerId: 8, ownerKey: 'bob', kind: 'policy' }),
    ];
    await using(place, records => records.write({ events }));
    await using(place, async records => {
      const ids = async (query: Parameters<RecordStore['events']>[0]) =>
        (await records.events(query)).map(({ id }) => id).join(' ');
      t.strictSame(await records.events({ limit: 9 }), events);
      t.equal(await ids({ limit: 2 }), 'p-1 b');
      t.equal(await ids({ limit: 2, after: { at: 20, id: 'b' } }), 'a c');
      t.equal(await ids({ limit: 9, after: { at: 20, id: 'as it would be' } }), 'a c d');
      t.equal(await ids({ limit: 9, kind: 'policy' }), 'p-1 d');
      const alice = { ownerId: 7, ownerKey: 'alice' };
      t.equal(await ids({ limit: 9, owner: alice }), 'b a c', 'by id or by name, and each once');
      t.equal(await ids({ limit: 9, owner: { ...alice, ownerId: null } }), 'b c');
      t.equal(await ids({ limit: 1, owner: alice, after: { at: 20, id: 'a' } }), 'c');
      t.equal(await ids({ limit: 9, owner: { ownerId: 8, ownerKey: 'bob' }, kind: 'refusal' }), '');
      await records.write({ goneEventsBefore: 20, events: [event('a', 40)] });
      t.equal(await ids({ limit: 9 }), 'a p-1 b', 'what is put again has the new place only');
    });
  });

  t.test('levels are kept by owner', async t => {
    const place = newPlace();
    await using(place, async records => {
      await records.write({ levels: [1, 2, 3].map(ownerId => ({ ownerId, text: 'high' })) });
      await records.write({ levels: [{ ownerId: 2, text: 'low' }], goneLevels: [3, 4] });
    });
    const levels = await using(place, records => records.levels());
    t.strictSame(
      levels.toSorted((a, b) => a.ownerId - b.ownerId),
      [
        { ownerId: 1, text: 'high' },
        { ownerId: 2, text: 'low' },
      ],
    );
  });
}

export interface Sequences<Kind extends Closable, Changes extends RecordChanges> {
  readonly changes: fc.Arbitrary<Changes>;
  /** Writes that have to be refused. */
  readonly faulty: readonly Changes[];
  /** Throws where the record store holds anything else than the model does. */
  compare(records: Kind, model: Model): Promise<void>;
}

/** Puts places through writes at once and one after the other, with openings in between. */
export async function anySequence<Kind extends Closable, Changes extends RecordChanges>(
  newPlace: () => Place<Kind & { write(changes: Changes): Promise<void> }>,
  { changes, faulty, compare }: Sequences<Kind, Changes>,
): Promise<void> {
  const unsound = fc.constantFrom(...faulty).map(changes => ({ changes, sound: false }));
  const sound = changes.map(changes => ({ changes, sound: true }));
  const multi = fc.array(fc.oneof({ weight: 5, arbitrary: sound }, { weight: 1, arbitrary: unsound }), {
    maxLength: 6,
  });
  const round = fc.record({ multi, reopens: fc.boolean(), query: anyEventQuery });
  const rounds = fc.array(round, { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(rounds, async rounds => {
      const place = newPlace();
      const model = emptyModel();
      let records = await place.open();
      try {
        for (const { multi, reopens, query } of rounds) {
          const outcomes = await Promise.allSettled(multi.map(({ changes }) => records.write(changes)));
          for (const [index, { changes, sound }] of multi.entries()) {
            assert.equal(outcomes[index]?.status, sound ? 'fulfilled' : 'rejected');
            if (sound) applyTo(model, changes);
          }
          if (reopens) {
            await records.close();
            records = await place.open();
          }
          await compare(records, model);
          assert.deepStrictEqual(await records.events(query), eventsBy(model, query));
          const levels = await records.levels();
          assert.deepStrictEqual(
            levels.toSorted((a, b) => a.ownerId - b.ownerId),
            levelsBy(model),
          );
        }
      } finally {
        await records.close();
      }
    }),
    { numRuns: isLong ? 100 : 10 },
  );
}
