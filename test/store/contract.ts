/**
 * What every store promises, as tests that any of them can be put through.
 *
 * A place is where one store is kept: nothing is in it at first, and opening it again after
 * `close` gives the same store. Only one store is open at a place at a time.
 */

import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Test } from 'tap';
import type { Changes, Store } from '../../src/store/index.ts';
import { applyTo, emptyModel, eventsBy, keptBy, levelsBy, sorted } from './model.ts';
import { anyChanges, anyEventQuery, event, faultyChanges, oddStrings, owner, unit } from './records.ts';

export interface Place {
  open(): Promise<Store>;
}

export function storeContract(t: Test, newPlace: () => Place): void {
  /** Runs what is to be shown on a store that is closed in any case. */
  async function using<T>(place: Place, act: (store: Store) => Promise<T>): Promise<T> {
    const store = await place.open();
    try {
      return await act(store);
    } finally {
      await store.close();
    }
  }
  const loaded = (place: Place) => using(place, async store => sorted(await store.load()));

  t.test('a new store is empty', async t => {
    t.strictSame(await loaded(newPlace()), {
      units: [],
      deltas: [],
      owners: [],
      documents: [],
      roots: [],
      sweep: null,
    });
  });

  t.test('everything written is there when the store is opened again', async t => {
    const place = newPlace();
    const changes = {
      units: [
        unit('/srv/git/alice/one.git', { partial: true }),
        unit('alice\0size:git:lfs\0store', {
          kind: 'reported',
          name: 'store',
          leaf: 'size:git:lfs',
          files: 0,
        }),
        unit('/srv/git/nobody/two.git', { owner: null }),
      ],
      deltas: [{ seq: 7, owner: 'alice', leaf: 'size:git:lfs', bytes: -12, at: 5 }],
      owners: [owner('alice', { name: 'Alice' }), owner('tools', { type: 'organization' })],
      documents: [{ kind: 'rule', key: 'total', text: '{"limit":-1}' }],
      roots: [{ path: '/srv/git', device: 2049n, inode: 2n }],
      sweep: { startedAt: 1, finishedAt: 2, units: 3 },
    } satisfies Changes;
    await using(place, store => store.write(changes));
    const model = emptyModel();
    applyTo(model, changes);
    t.strictSame(await loaded(place), keptBy(model));
  });

  t.test('a record replaces the one with the same id, key, seq or path', async t => {
    const place = newPlace();
    const root = { path: '/srv', device: 1n, inode: 1n };
    const delta = { seq: 1, owner: 'a', leaf: 'size:git:lfs', bytes: 1, at: 1 } as const;
    await using(place, async store => {
      await store.write({ units: [unit('a')], owners: [owner('a')], roots: [root], deltas: [delta] });
      await store.write({
        units: [unit('a', { bytes: 2 }), unit('a', { bytes: 3 })],
        owners: [owner('a', { name: 'A' })],
        roots: [{ ...root, inode: 9n }],
        deltas: [{ ...delta, bytes: 9 }],
      });
    });
    const kept = await loaded(place);
    t.strictSame(kept.units, [unit('a', { bytes: 3 })], 'the later of two in one write');
    t.strictSame(kept.owners, [owner('a', { name: 'A' })]);
    t.strictSame(kept.roots, [{ ...root, inode: 9n }]);
    t.strictSame(kept.deltas, [{ ...delta, bytes: 9 }]);
  });

  t.test('what is taken out and put in by one write is there', async t => {
    const place = newPlace();
    await using(place, async store => {
      await store.write({ units: [unit('a'), unit('b')] });
      await store.write({ units: [unit('a', { seq: 2 })], goneUnits: ['a', 'b', 'never there'] });
    });
    t.strictSame((await loaded(place)).units, [unit('a', { seq: 2 })]);
  });

  t.test('an owner stays when the last unit goes', async t => {
    const place = newPlace();
    await using(place, async store => {
      await store.write({ units: [unit('a')], owners: [owner('alice')] });
      await store.write({ goneUnits: ['a'] });
    });
    t.strictSame((await loaded(place)).owners, [owner('alice')]);
  });

  t.test('no string is changed, whatever it is made of', async t => {
    const place = newPlace();
    const units = oddStrings.map(odd => unit(odd, { host: odd, owner: odd }));
    const owners = oddStrings.map(odd => owner(odd));
    const roots = oddStrings.map(path => ({ path, device: 0n, inode: 0n }));
    const documents = oddStrings.map(odd => ({ kind: odd, key: odd, text: odd }));
    const events = oddStrings.map((odd, at) => event(`${at}`, -at, { kind: odd, ownerKey: odd, text: odd }));
    await using(place, store => store.write({ units, owners, documents, roots, events }));
    t.strictSame(await using(place, store => store.events({ limit: 99 })), events);
    const kept = await loaded(place);
    const found = (ids: readonly string[]) => ids.toSorted();
    t.strictSame(found(kept.units.map(({ id }) => id)), found(oddStrings));
    t.ok(kept.units.every(({ id, host, name, owner }) => id === host && id === name && id === owner));
    t.strictSame(found(kept.owners.map(({ key }) => key)), found(oddStrings));
    t.strictSame(found(kept.roots.map(({ path }) => path)), found(oddStrings));
    t.strictSame(found(kept.documents.map(({ text }) => text)), found(oddStrings));
    t.ok(kept.documents.every(({ kind, key, text }) => kind === key && key === text));
    await using(place, store =>
      store.write({
        goneUnits: oddStrings,
        goneOwners: oddStrings,
        goneDocuments: oddStrings.map(odd => ({ kind: odd, key: odd })),
        goneRoots: oddStrings,
      }),
    );
    t.strictSame(await loaded(place), {
      units: [],
      deltas: [],
      owners: [],
      documents: [],
      roots: [],
      sweep: null,
    });
  });

  t.test('numbers at the ends of their ranges are exact', async t => {
    const place = newPlace();
    const most = Number.MAX_SAFE_INTEGER;
    const largest = unit('largest', { bytes: most, files: most, measuredAt: -most, seq: most });
    const roots = [0n, 2n ** 53n + 1n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n, -(2n ** 63n)].map(
      (number, index) => ({
        path: `/${index}`,
        device: number,
        inode: number,
      }),
    );
    await using(place, store => store.write({ units: [largest], roots }));
    const kept = await loaded(place);
    t.strictSame(kept.units, [largest]);
    t.same(
      kept.roots.map(({ device, inode }) => [String(device), String(inode)]),
      roots.map(({ device }) => [String(device), String(device)]),
    );
  });

  t.test('deltas are loaded in the order of their seq', async t => {
    const place = newPlace();
    const seqs = [10, -1, 9, 2 ** 40, 100];
    const deltas = seqs.map(seq => ({ seq, owner: 'a', leaf: 'size:git:lfs', bytes: 1, at: 1 }) as const);
    await using(place, store => store.write({ deltas }));
    t.strictSame(
      (await loaded(place)).deltas.map(({ seq }) => seq),
      [-1, 9, 10, 100, 2 ** 40],
    );
  });

  t.test('events come newest first, page by page, all or those of a kind or of an owner', async t => {
    const place = newPlace();
    const events = [
      event('p-1', 30, { kind: 'policy', ownerId: null, ownerKey: null }),
      event('b', 20),
      event('a', 20, { ownerKey: 'as-she-was-called' }),
      event('c', 10, { ownerId: null }),
      event('d', 5, { ownerId: 8, ownerKey: 'bob', kind: 'policy' }),
    ];
    await using(place, store => store.write({ events }));
    await using(place, async store => {
      const ids = async (query: Parameters<Store['events']>[0]) =>
        (await store.events(query)).map(({ id }) => id).join(' ');
      t.strictSame(await store.events({ limit: 9 }), events);
      t.equal(await ids({ limit: 2 }), 'p-1 b');
      t.equal(await ids({ limit: 2, after: { at: 20, id: 'b' } }), 'a c');
      t.equal(await ids({ limit: 9, after: { at: 20, id: 'as it would be' } }), 'a c d');
      t.equal(await ids({ limit: 9, kind: 'policy' }), 'p-1 d');
      const alice = { ownerId: 7, ownerKey: 'alice' };
      t.equal(await ids({ limit: 9, owner: alice }), 'b a c', 'by id or by name, and each once');
      t.equal(await ids({ limit: 9, owner: { ...alice, ownerId: null } }), 'b c');
      t.equal(await ids({ limit: 1, owner: alice, after: { at: 20, id: 'a' } }), 'c');
      t.equal(await ids({ limit: 9, owner: { ownerId: 8, ownerKey: 'bob' }, kind: 'refusal' }), '');
      await store.write({ goneEventsBefore: 20, events: [event('a', 40)] });
      t.equal(await ids({ limit: 9 }), 'a p-1 b', 'what is put again has the new place only');
    });
  });

  t.test('levels are kept by owner', async t => {
    const place = newPlace();
    await using(place, async store => {
      await store.write({ levels: [1, 2, 3].map(ownerId => ({ ownerId, text: 'high' })) });
      await store.write({ levels: [{ ownerId: 2, text: 'low' }], goneLevels: [3, 4] });
    });
    const levels = await using(place, store => store.levels());
    t.strictSame(
      levels.toSorted((a, b) => a.ownerId - b.ownerId),
      [
        { ownerId: 1, text: 'high' },
        { ownerId: 2, text: 'low' },
      ],
    );
  });

  for (const [fault, changes] of Object.entries(faultyChanges)) {
    t.test(`a write with ${fault} is refused whole, and its neighbours are kept`, async t => {
      const place = newPlace();
      await using(place, async store => {
        const before = store.write({ units: [unit('before')] });
        const faulty = store.write(changes);
        const after = store.write({ units: [unit('after')] });
        await t.rejects(faulty, { code: 'invalid' });
        await Promise.all([before, after]);
      });
      const kept = await loaded(place);
      t.strictSame(kept.units, [unit('after'), unit('before')]);
      t.strictSame([kept.owners, kept.deltas], [[], []]);
    });
  }

  t.test('writes take effect in the order in which they are asked for', async t => {
    const place = newPlace();
    await using(place, async store => {
      const asked: Promise<unknown>[] = [];
      for (let seq = 1; seq <= 500; seq++) {
        asked.push(store.write(seq % 7 === 0 ? { goneUnits: ['a'] } : { units: [unit('a', { seq })] }));
        if (seq === 250) {
          asked.push(
            store
              .load()
              .then(kept => t.strictSame(kept.units, [unit('a', { seq })], 'a load has its place too')),
          );
        }
      }
      await Promise.all(asked);
    });
    t.strictSame((await loaded(place)).units, [unit('a', { seq: 500 })]);
  });

  t.test('closing waits for the writes under way, and takes no more', async t => {
    const place = newPlace();
    const store = await place.open();
    const writes = Array.from({ length: 50 }, (_, index) => store.write({ units: [unit(`${index}`)] }));
    const closing = store.close();
    await t.rejects(store.write({ units: [unit('late')] }), { code: 'store_away' });
    await t.rejects(store.load(), { code: 'store_away' });
    await Promise.all([...writes, closing, store.close()]);
    t.equal((await loaded(place)).units.length, 50);
  });

  t.test('an empty write is no fault', async t => {
    await using(newPlace(), async store => {
      await store.write({});
      await store.write({ units: [], goneUnits: [] });
      t.strictSame((await store.load()).units, []);
    });
  });

  t.test('any sequence of writes gives what plain maps would, also after opening again', async () => {
    const faulty = fc
      .constantFrom(...Object.values(faultyChanges))
      .map(changes => ({ changes, sound: false }));
    const sound = anyChanges.map(changes => ({ changes, sound: true }));
    const atOnce = fc.array(fc.oneof({ weight: 5, arbitrary: sound }, { weight: 1, arbitrary: faulty }), {
      maxLength: 6,
    });
    const round = fc.record({ atOnce, reopens: fc.boolean(), query: anyEventQuery });
    const rounds = fc.array(round, { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(rounds, async rounds => {
        const place = newPlace();
        const model = emptyModel();
        let store = await place.open();
        try {
          for (const { atOnce, reopens, query } of rounds) {
            const outcomes = await Promise.allSettled(atOnce.map(({ changes }) => store.write(changes)));
            for (const [index, { changes, sound }] of atOnce.entries()) {
              assert.equal(outcomes[index]?.status, sound ? 'fulfilled' : 'rejected');
              if (sound) applyTo(model, changes);
            }
            if (reopens) {
              await store.close();
              store = await place.open();
            }
            assert.deepStrictEqual(sorted(await store.load()), keptBy(model));
            assert.deepStrictEqual(await store.events(query), eventsBy(model, query));
            const levels = await store.levels();
            assert.deepStrictEqual(
              levels.toSorted((a, b) => a.ownerId - b.ownerId),
              levelsBy(model),
            );
          }
        } finally {
          await store.close();
        }
      }),
      { numRuns: 30 },
    );
  });
}
