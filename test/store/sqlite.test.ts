/** The store of one host keeps its promises. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import { type Changes, openStore, type Store } from '../../src/store/index.ts';
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

t.test('a new store is empty', async t => {
  t.strictSame(await loaded(newPlace()), keptBy(emptyModel()));
});

t.test('everything written is there when the store is opened again', async t => {
  const place = newPlace();
  const changes = {
    owners: [owner('alice', { name: 'Alice' }), owner('tools', { type: 'organization' })],
    documents: [{ kind: 'rule', key: 'total', text: '{"limit":-1}' }],
    shares: [
      share('alice', 'one', { partial: true }),
      share('alice', 'two', { bytes: {}, units: 0, measuredAt: null }),
      share('tools', 'one'),
    ],
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

t.test('a record replaces the one with the same id, key, seq, path, or owner and host', async t => {
  const place = newPlace();
  const root = { path: '/srv', device: 1n, inode: 1n, fileSystem: null };
  const delta = { seq: 1, owner: 'a', leaf: 'size:git:lfs', bytes: 1, at: 1 } as const;
  await using(place, async store => {
    await store.write({
      units: [unit('a')],
      roots: [root],
      deltas: [delta],
      owners: [owner('a')],
      shares: [share('a', 'one', { bytes: { 'size:git:lfs': 5 } })],
    });
    await store.write({
      units: [unit('a', { bytes: 2 }), unit('a', { bytes: 3 })],
      roots: [{ ...root, inode: 9n }],
      deltas: [{ ...delta, bytes: 9 }],
      owners: [owner('a', { name: 'B' }), owner('a', { name: 'A' })],
      shares: [share('a', 'one', { bytes: { 'size:repos:public': 1 } })],
    });
  });
  const kept = await loaded(place);
  t.strictSame(kept.units, [unit('a', { bytes: 3 })], 'the later of two in one write');
  t.strictSame(kept.owners, [owner('a', { name: 'A' })]);
  t.strictSame(kept.roots, [{ ...root, inode: 9n }]);
  t.strictSame(kept.deltas, [{ ...delta, bytes: 9 }]);
  t.strictSame(kept.shares, [share('a', 'one', { bytes: { 'size:repos:public': 1 } })], 'all of it');
});

t.test('what is taken out and put in by one write is there', async t => {
  const place = newPlace();
  await using(place, async store => {
    await store.write({
      units: [unit('a'), unit('b')],
      owners: [owner('a'), owner('b')],
      shares: [share('a', 'one'), share('a', 'two')],
    });
    await store.write({
      units: [unit('a', { seq: 2 })],
      goneUnits: ['a', 'b', 'never there'],
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
  t.strictSame(kept.units, [unit('a', { seq: 2 })]);
  t.strictSame(kept.owners, [owner('a', { id: 9 })]);
  t.strictSame(kept.shares, [share('a', 'one', { units: 2 })]);
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

happeningsContract(t, newPlace);

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
    const { units, owners, deltas, shares } = await loaded(place);
    t.strictSame(units, [unit('after'), unit('before')]);
    t.strictSame([owners, deltas, shares], [[], [], []]);
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
