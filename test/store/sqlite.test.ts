/** The store of one host keeps its promises. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import { openStore, type Store } from '../../src/store/index.ts';
import { isLong } from '../run-length.ts';
import { allIn, applyTo, emptyModel, eventsBy, keptBy, levelsBy, sorted } from './model.ts';
import { happeningsContract, type Place, using } from './record-store-contract.ts';
import {
  anyChanges,
  anyEventQuery,
  event,
  faultyChanges,
  oddStrings,
  owner,
  share,
  unit,
} from './records.ts';

t.setTimeout(isLong ? 1_800_000 : 300_000);

let places = 0;
const directory = t.testdir();

function newPlace(): Place<Store> {
  const file = join(directory, `${++places}.db`);
  return { open: () => openStore({ file }) };
}

const loaded = (place: Place<Store>) => using(place, async store => sorted(await allIn(store)));

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

t.test('no string is changed, whatever it is made of', async t => {
  const place = newPlace();
  const events = oddStrings.map((odd, at) => event(`${at}`, -at, { kind: odd, ownerKey: odd, text: odd }));
  const changes = {
    units: oddStrings.map(odd => unit(odd, { host: odd, owner: odd })),
    roots: oddStrings.map(path => ({ path, device: 0n, inode: 0n, fileSystem: path })),
    owners: oddStrings.map(odd => owner(odd)),
    documents: oddStrings.map(odd => ({ kind: odd, key: odd, text: odd })),
    shares: oddStrings.map(odd => share(odd, odd)),
    events,
  };
  await using(place, store => store.write(changes));
  const model = emptyModel();
  applyTo(model, changes);
  t.strictSame(await loaded(place), keptBy(model));
  t.strictSame(await using(place, store => store.events({ limit: 99 })), events);
  await using(place, store =>
    store.write({
      goneUnits: oddStrings,
      goneRoots: oddStrings,
      goneOwners: oddStrings,
      goneDocuments: oddStrings.map(odd => ({ kind: odd, key: odd })),
      goneShares: oddStrings.map(odd => ({ ownerKey: odd, host: odd })),
    }),
  );
  t.strictSame(await loaded(place), keptBy(emptyModel()));
});

t.test('numbers at the ends of their ranges are exact', async t => {
  const place = newPlace();
  const most = Number.MAX_SAFE_INTEGER;
  const units = [unit('largest', { bytes: most, files: most, measuredAt: -most, seq: most })];
  const bytes = { 'size:git:lfs': most };
  const shares = [share('largest', 'one', { bytes, units: most, measuredAt: -most })];
  const owners = [owner('a', { id: most, since: -most })];
  const roots = [0n, 2n ** 53n + 1n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n, -(2n ** 63n)].map(
    (number, index) => ({ path: `/${index}`, device: number, inode: number, fileSystem: null }),
  );
  await using(place, store => store.write({ units, shares, owners, roots }));
  const kept = await loaded(place);
  t.strictSame([kept.units, kept.shares, kept.owners], [units, shares, owners]);
  t.same(
    kept.roots.map(({ device, inode }) => [String(device), String(inode)]),
    roots.map(({ device }) => [String(device), String(device)]),
  );
});

happeningsContract(t, newPlace);

t.test('a write with a faulty record is refused whole, and its neighbours are kept', async t => {
  const place = newPlace();
  const faults = Object.keys(faultyChanges);
  await using(place, async store => {
    for (const [fault, changes] of Object.entries(faultyChanges)) {
      const before = store.write({ units: [unit(`before ${fault}`)] });
      const faulty = store.write(changes);
      const after = store.write({ units: [unit(`after ${fault}`)] });
      await t.rejects(faulty, { code: 'invalid' }, fault);
      await Promise.all([before, after]);
    }
  });
  const { units, owners, deltas, shares } = await loaded(place);
  const neighbours = faults.flatMap(fault => [`after ${fault}`, `before ${fault}`]);
  t.strictSame(units.map(({ id }) => id).sort(), neighbours.sort());
  t.strictSame([owners, deltas, shares], [[], [], []]);
});

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

t.test('any sequence of writes gives what plain maps would, also after opening again', async () => {
  const unsound = fc
    .constantFrom(...Object.values(faultyChanges))
    .map(changes => ({ changes, sound: false }));
  const sound = anyChanges.map(changes => ({ changes, sound: true }));
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
          assert.deepStrictEqual(sorted(await allIn(records)), keptBy(model));
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
    { numRuns: isLong ? 200 : 20 },
  );
});
