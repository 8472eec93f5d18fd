/**
 * Promises of the store of one host beyond those of every record store: what was measured is kept with it.
 *
 * See record-store-contract.ts for places.
 */

import assert from 'node:assert/strict';
import type { Test } from 'tap';
import type { Changes, Store } from '../../src/store/index.ts';
import { allIn, applyTo, emptyModel, keptBy, sorted } from './model.ts';
import { anySequence, type Place, using } from './record-store-contract.ts';
import { anyChanges, faultyChanges, oddStrings, owner, unit } from './records.ts';

export function storeContract(t: Test, newPlace: () => Place<Store>): void {
  const loaded = (place: Place<Store>) => using(place, async store => sorted(await allIn(store)));

  t.test('a new store is empty', async t => {
    t.strictSame(await loaded(newPlace()), {
      units: [],
      deltas: [],
      owners: [],
      documents: [],
      shares: [],
      roots: [],
      sweep: null,
      replicated: null,
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
      roots: [{ path: '/srv/git', device: 2049n, inode: 2n, fileSystem: 'fsid=15e5bb136a442be6' }],
      sweep: { startedAt: 1, finishedAt: 2, units: 3 },
      replicated: { generation: 'g', version: 4, mark: 'm' },
    } satisfies Changes;
    await using(place, store => store.write(changes));
    const model = emptyModel();
    applyTo(model, changes);
    t.strictSame(await loaded(place), keptBy(model));
  });

  t.test('of what led to a policy the versions that are no longer wanted go, and others come', async t => {
    const place = newPlace();
    const versions = (...numbers: readonly number[]) =>
      numbers.map(version => ({ version, mark: `m${version}` }));
    const at = (version: number, since: number, ...numbers: readonly number[]) => ({
      replicated: {
        generation: 'g',
        version,
        mark: `m${version}`,
        lineage: { since, versions: versions(...numbers) },
      },
    });
    await using(place, async store => {
      await store.write(at(3, 1, 1, 2, 3));
      await store.write(at(5, 2, 4, 5));
    });
    t.strictSame((await loaded(place)).replicated, at(5, 2, 2, 3, 4, 5).replicated);
    await using(place, store => store.write({ replicated: { generation: 'h', version: 6, mark: 'm' } }));
    t.strictSame((await loaded(place)).replicated, { generation: 'h', version: 6, mark: 'm' });
  });

  t.test('a record replaces the one with the same id, seq or path', async t => {
    const place = newPlace();
    const root = { path: '/srv', device: 1n, inode: 1n, fileSystem: null };
    const delta = { seq: 1, owner: 'a', leaf: 'size:git:lfs', bytes: 1, at: 1 } as const;
    await using(place, async store => {
      await store.write({ units: [unit('a')], roots: [root], deltas: [delta] });
      await store.write({
        units: [unit('a', { bytes: 2 }), unit('a', { bytes: 3 })],
        roots: [{ ...root, inode: 9n }],
        deltas: [{ ...delta, bytes: 9 }],
      });
    });
    const kept = await loaded(place);
    t.strictSame(kept.units, [unit('a', { bytes: 3 })], 'the later of two in one write');
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
    const roots = oddStrings.map(path => ({ path, device: 0n, inode: 0n, fileSystem: path }));
    await using(place, store => store.write({ units, roots }));
    const model = emptyModel();
    applyTo(model, { units, roots });
    t.strictSame(await loaded(place), keptBy(model));
    await using(place, store => store.write({ goneUnits: oddStrings, goneRoots: oddStrings }));
    t.strictSame(await loaded(place), keptBy(emptyModel()));
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
        fileSystem: null,
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

  t.test('any sequence of writes gives what plain maps would, also after opening again', async () => {
    await anySequence<Store, Changes>(newPlace, {
      changes: anyChanges,
      faulty: Object.values(faultyChanges),
      compare: async (store, model) => assert.deepStrictEqual(sorted(await allIn(store)), keptBy(model)),
    });
  });
}
