/** Tests for any shared store: documents and their log. */

import type { Test } from 'tap';
import { commit } from './commit.ts';
import { sortedRecords } from './model.ts';
import { event, oddStrings, owner, share } from './records.ts';
import { allAfter, documentsOf, opened, position, rule, type SharedPlace } from './shared-place.ts';

export function sharedDocumentsContract(t: Test, newPlace: () => SharedPlace): void {
  const nothing = { position: null, supersedes: [], lastChange: 0 };

  t.test('a new shared store stands nowhere', async t => {
    const store = await opened(t, newPlace());
    const { server, ...state } = await store.state();
    t.strictSame(state, nothing);
    t.type(server, 'string');
    t.strictSame(await store.policy(), {
      state: { ...nothing, server },
      policy: { owners: [], documents: [] },
    });
    t.strictSame(await store.changesAfter(0, 10), []);
    t.strictSame([await store.hosts(), await store.sharesOf(['alice'])], [[], []]);
  });

  t.test('a change of policy is made upon the one before, and never upon another', async t => {
    const store = await opened(t, newPlace());
    t.equal(
      await store.replace({ owners: [owner('a')], documents: [rule('r')] }, null, position(1), []),
      'kept',
    );
    const change = { documents: [rule('r', '{"limit":1}')], events: [event('e', 1)] };
    for (const basis of [position(2), position(1, { mark: 'other' }), position(1, { generation: 'other' })]) {
      t.equal(await commit(store, change, basis, position(2)), 'conflict', JSON.stringify(basis));
    }
    t.strictSame(await documentsOf(store), [rule('r')]);
    t.strictSame(await store.events({ limit: 9 }), [], 'nor is the event kept of what was not done');
    t.equal(await commit(store, change, position(1), position(2)), 'kept');
    t.strictSame((await store.state()).position, position(2));
    t.strictSame(await documentsOf(store), change.documents);
    t.strictSame(await store.events({ limit: 9 }), change.events);
  });

  t.test('a change of owners who are others by now is not made, and nothing of it', async t => {
    const store = await opened(t, newPlace());
    await store.replace(
      { owners: [owner('a', { id: 1 }), owner('b', { id: 2 })], documents: [] },
      null,
      position(1),
      [],
    );
    const attempts = {
      'another under the key': { owners: [owner('a', { id: 9 })] },
      'one who is not there': { goneOwners: ['a', 'never there'] },
    };
    for (const [what, change] of Object.entries(attempts)) {
      const whole = { ...change, documents: [rule('new')] };
      t.equal(await commit(store, whole, position(1), position(2)), 'conflict', what);
    }
    t.strictSame(await documentsOf(store), []);
    const renamed = {
      goneOwners: ['a', 'b'],
      owners: [owner('c', { id: 1 }), owner('a', { id: 2, name: 'Other' })],
    };
    t.equal(await commit(store, renamed, position(1), position(2)), 'kept', 'a key that is given up is free');
    const { policy } = await store.policy();
    t.strictSame(sortedRecords({ ...policy, shares: [] }).owners, [
      owner('a', { id: 2, name: 'Other' }),
      owner('c', { id: 1 }),
    ]);
  });

  t.test('of changes made at once on several hosts none is lost', async t => {
    const place = newPlace();
    const stores = await Promise.all([1, 2, 3].map(() => opened(t, place)));
    await stores[0]?.replace({ owners: [], documents: [] }, null, position(1), []);
    const each = 10;
    await Promise.all(
      stores.map(async (store, fleetHost) => {
        for (let made = 0; made < each; ) {
          const { position: basis } = await store.state();
          if (basis === null) throw new Error('no position');
          const next = position(basis.version + 1, { mark: `${fleetHost}-${made}` });
          const change = { documents: [rule(`${fleetHost}-${made}`)] };
          if ((await commit(store, change, basis, next)) === 'kept') made++;
        }
      }),
    );
    const store = await opened(t, place);
    t.equal((await documentsOf(store)).length, stores.length * each);
    t.equal((await store.state()).position?.version, 1 + stores.length * each);
  });

  t.test('volatile documents have no version: the last writer wins, and the log names them', async t => {
    const place = newPlace();
    const [store, other] = [await opened(t, place), await opened(t, place)];
    t.equal(await other.volatile(null), null, 'there never were any');
    await store.replace({ owners: [], documents: [] }, null, position(1), []);
    const session = (key: string, text = '{}') => ({ kind: 'session', key, text });
    await store.writeVolatile({ documents: [session('a'), session('odd \ud800/\0')] });
    await other.writeVolatile({ documents: [session('a', '{"later":1}')] });
    await store.writeVolatile({ goneDocuments: [{ kind: 'session', key: 'odd \ud800/\0' }] });
    t.strictSame((await store.state()).position, position(1));
    t.strictSame(await other.volatile(null), [session('a', '{"later":1}')]);
    t.strictSame(await other.volatile([session('b'), session('a')]), [session('a', '{"later":1}')]);
    const names = (await allAfter(other, 0)).flatMap(change =>
      change.is === 'volatile' ? [change.names] : [],
    );
    t.strictSame(names, [
      [
        { kind: 'session', key: 'a' },
        { kind: 'session', key: 'odd \ud800/\0' },
      ],
      [{ kind: 'session', key: 'a' }],
      [{ kind: 'session', key: 'odd \ud800/\0' }],
    ]);
    await store.writeVolatile({ goneDocuments: [{ kind: 'session', key: 'a' }] });
    t.strictSame(await other.volatile(null), [], 'none are left, which is not that there never were any');
    const many = Array.from({ length: 500 }, (_, number) => session(`${number}`));
    await store.writeVolatile({ documents: many });
    t.match((await allAfter(other, 0)).at(-1), { is: 'volatile', names: null });
    t.equal((await other.volatile(null))?.length, many.length);
  });

  t.test('a policy is put in place of another as a whole, and only where nothing came between', async t => {
    const place = newPlace();
    const store = await opened(t, place);
    const old = { owners: [owner('old')], documents: [rule('old')] };
    t.equal(
      await store.replace(old, position(7), position(8), []),
      'conflict',
      'nothing is there to go on from',
    );
    t.equal(await store.replace(old, null, position(1), []), 'kept');
    t.equal(await store.replace({ owners: [], documents: [] }, null, position(1), []), 'conflict');
    const second = position(1, { generation: 'second' });
    const many = Array.from({ length: 2500 }, (_, at) => rule(`${at}`));
    const policy = { owners: many.map(({ key }, id) => owner(key, { id })), documents: many };
    const looking = new AbortController();
    const seen = (async () => {
      const other = await opened(t, place);
      const counts = new Set<string>();
      while (!looking.signal.aborted) {
        const { owners, documents } = (await other.policy()).policy;
        counts.add(`${owners.length} ${documents.length}`);
      }
      return counts;
    })();
    t.equal(await store.replace(policy, position(1), second, ['first', 'odd\ud800']), 'kept');
    looking.abort();
    const counts = await seen;
    counts.delete('1 1');
    counts.delete('2500 2500');
    t.strictSame([...counts], [], 'nobody sees half of it');
    t.strictSame((await store.state()).position, second);
    t.strictSame((await store.state()).supersedes, ['first', 'odd\ud800']);
    t.strictSame(
      sortedRecords({ ...(await store.policy()).policy, shares: [] }),
      sortedRecords({ ...policy, shares: [] }),
    );
    t.equal(await commit(store, {}, second, position(2, { generation: 'second' })), 'kept');
    t.strictSame((await store.state()).supersedes, ['first', 'odd\ud800'], 'a change keeps what was decided');
  });

  t.test('a policy that is simply written goes on from what is there', async t => {
    const store = await opened(t, newPlace());
    await store.write({ documents: [rule('a')] });
    const { position: first } = await store.state();
    t.equal(first?.version, 1);
    await store.write({ documents: [rule('b')] });
    const { position: second } = await store.state();
    t.strictSame([second?.generation, second?.version], [first?.generation, 2]);
    t.not(second?.mark, first?.mark);
  });

  t.test('whoever puts a new owner on record first has the name', async t => {
    const place = newPlace();
    const [one, two] = [await opened(t, place), await opened(t, place)];
    const keys = Array.from(
      { length: 600 },
      (_, at) => (at < oddStrings.length ? oddStrings[at] : `${at}`) ?? '',
    );
    const of = (fleetHost: number) => keys.map((key, at) => owner(key, { id: fleetHost * 1000 + at }));
    const [before, after] = await Promise.all([one.enroll(of(1)), two.enroll(of(2))]);
    const { owners } = (await one.policy()).policy;
    t.equal(owners.length, keys.length);
    const byKey = new Map(owners.map(kept => [kept.key, kept]));
    t.equal(before.length + after.length, keys.length, 'each of them was there before for one of the two');
    for (const [fleetHost, told] of [before, after].entries()) {
      const isAsKept = told.every(
        ({ id, key }) => byKey.get(key)?.id === id && Math.floor(id / 1000) !== fleetHost + 1,
      );
      t.ok(isAsKept, 'and is given as the other put it there');
    }
    t.strictSame(await one.enroll([owner('a', { id: 77 })]), [byKey.get('a')]);
  });

  t.test('the log tells every change, in order, after what it tells of', async t => {
    const place = newPlace();
    const [store, other] = [await opened(t, place), await opened(t, place)];
    await store.replace({ owners: [], documents: [] }, null, position(1), []);
    await store.enroll([owner('a', { id: 1 }), owner('b\ud800', { id: 2 })]);
    await store.enroll([owner('a', { id: 3 })]);
    const change = { owners: [owner('c', { id: 4 })], goneOwners: ['a'], documents: [rule('r')] };
    const told = { ...change, goneDocuments: [{ kind: 'rule', key: 'gone\0' }] };
    await commit(store, { ...told, events: [event('e', 1)] }, position(1), position(2));
    await store.write({ shares: oddStrings.map(odd => share(odd, 'one')) });
    await store.write({ goneShares: [{ ownerKey: 'a', host: 'one' }], events: [event('f', 1)] });
    await commit(store, { documents: [rule('r', 'long'.repeat(10_000))] }, position(2), position(3));
    const log = await allAfter(other, 0);
    t.strictSame(
      log.map(({ number: _, ...rest }) => rest),
      [
        { is: 'policy', position: position(1), change: null },
        { is: 'owners', owners: [owner('a', { id: 1 }), owner('b\ud800', { id: 2 })] },
        { is: 'policy', position: position(2), change: told },
        { is: 'shares', ownerKeys: [...oddStrings] },
        { is: 'shares', ownerKeys: ['a'] },
        { is: 'policy', position: position(3), change: null },
      ],
    );
    const numbers = log.map(({ number }) => number);
    t.strictSame(
      numbers,
      numbers.toSorted((a, b) => a - b),
    );
    t.equal((await other.state()).lastChange, numbers.at(-1));
    t.strictSame(await other.changesAfter(numbers[0] ?? 0, 2), log.slice(1, 3));
    t.equal(
      await other.changesAfter((numbers.at(-1) ?? 0) + 1, 2),
      null,
      'a number that the log has not reached',
    );
    t.equal(await other.changesAfter((numbers[2] ?? 0) - 1, 2), null, 'a number that was never there');
  });

  t.test('what the log tells of is there to be read', async t => {
    const place = newPlace();
    const [store, other] = [await opened(t, place), await opened(t, place)];
    const rounds = 30;
    const writing = (async () => {
      for (let bytes = 1; bytes <= rounds; bytes++) {
        await store.write({ shares: [share('a', 'one', { bytes: { 'size:git:lfs': bytes } })] });
      }
    })();
    for (let last = 0, told = 0; told < rounds; ) {
      for (const { number } of (await other.changesAfter(last, 1)) ?? []) {
        told++;
        last = number;
        const [read] = await other.sharesOf(['a']);
        if ((read?.bytes['size:git:lfs'] ?? 0) < told) t.fail(`entry ${told} came before its share`);
      }
    }
    await writing;
  });
}
