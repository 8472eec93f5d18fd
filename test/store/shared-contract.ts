/**
 * What a store that hosts share promises beyond what every record store does, as tests for any of them.
 *
 * See record-store-contract.ts for places; of these, several stores may be open at a time.
 */

import { once } from 'node:events';
import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import type { Test } from 'tap';
import type {
  Basis,
  Change,
  ClaimOutcome,
  Position,
  RedisSettings,
  SharedStore,
} from '../../src/store/index.ts';
import { until } from '../e2e/ask.ts';
import { commit } from './commit.ts';
import { sortedRecords } from './model.ts';
import { event, oddStrings, owner, share } from './records.ts';
import { comes } from './redis-servers.ts';

export interface SharedPlace {
  readonly prefix: string;
  open(settings?: Partial<RedisSettings>): Promise<SharedStore>;
}

/** A store that ends with the test. */
export async function opened(
  t: Test,
  place: SharedPlace,
  settings: Partial<RedisSettings> = {},
): Promise<SharedStore> {
  const store = await place.open(settings);
  t.teardown(() => store.close());
  return store;
}

export function position(version: number, differing: Partial<Position> = {}): Position {
  return { generation: 'first', version, mark: `mark-${version}`, ...differing };
}

export const rule = (key: string, text = '{}') => ({ kind: 'rule', key, text });

/** All of the log after a change. */
async function allAfter(store: SharedStore, number: number): Promise<readonly Change[]> {
  const changes: Change[] = [];
  for (let last = number; ; ) {
    const some = await store.changesAfter(last, 10);
    if (some === null) throw new Error(`a gap after ${last}`);
    if (some.length === 0) return changes;
    changes.push(...some);
    last = some.at(-1)?.number ?? last;
  }
}

const documentsOf = async (store: SharedStore) =>
  sortedRecords({ ...(await store.policy()).policy, shares: [] }).documents;

export function sharedContract(t: Test, newPlace: () => SharedPlace): void {
  const nothing = { position: null, heads: null, supersedes: [], lastChange: 0 };

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

  t.test(
    'a change of one line is not made to wait for one of the other, and is upon the last of its own',
    async t => {
      const store = await opened(t, newPlace());
      await store.replace({ owners: [], documents: [] }, null, position(1), []);
      const head = ({ version, mark }: Position) => ({ version, mark });
      const upon = (policy: Position, account: Position, ...lines: Basis['lines']): Basis => ({
        generation: 'first',
        heads: { policy: head(policy), account: head(account) },
        lines,
      });
      const [one, two, three] = [position(1), position(2), position(3)];
      const account = { documents: [{ kind: 'token', key: 'a', text: '{}' }] };
      t.strictSame(await store.commit(account, upon(one, one, 'account'), two.mark), two);
      t.strictSame(
        await store.commit({ documents: [rule('r')] }, upon(one, one, 'policy'), three.mark),
        three,
        'it takes the next version of both',
      );
      t.strictSame((await store.state()).heads, { policy: head(three), account: head(two) });
      const refused = {
        'another of its line came first': upon(three, one, 'account'),
        'so of a change of both': upon(three, one, 'policy', 'account'),
        'a change of the other line is lacking': upon(three, position(4), 'policy'),
        'another stands in its place': upon(three, position(2, { mark: 'other' }), 'policy'),
      };
      for (const [why, basis] of Object.entries(refused))
        t.equal(await store.commit({}, basis, 'x'), null, why);
      t.match(
        (await allAfter(store, 0)).map(change => (change.is === 'policy' ? change.lines : null)),
        [['policy', 'account'], ['account'], ['policy']],
      );
    },
  );

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
        { is: 'policy', position: position(1), lines: ['policy', 'account'], change: null },
        { is: 'owners', owners: [owner('a', { id: 1 }), owner('b\ud800', { id: 2 })] },
        { is: 'policy', position: position(2), lines: ['policy', 'account'], change: told },
        { is: 'shares', ownerKeys: [...oddStrings] },
        { is: 'shares', ownerKeys: ['a'] },
        { is: 'policy', position: position(3), lines: ['policy', 'account'], change: null },
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

  t.test('shares are read by owner, those of all hosts', async t => {
    const store = await opened(t, newPlace());
    const keys = Array.from({ length: 600 }, (_, at) => `owner-${at}`);
    const shares = keys.flatMap(key => [share(key, 'one'), share(key, 'odd\ud800 host/{}')]);
    await store.write({ shares });
    const wanted = [...keys.slice(10, 400), 'never there', 'owner-10'];
    t.strictSame(
      sortedRecords({ owners: [], documents: [], shares: await store.sharesOf(wanted) }).shares,
      sortedRecords({ owners: [], documents: [], shares: shares.slice(20, 800) }).shares,
    );
  });

  t.test('a share is found that comes again while others load', async t => {
    const place = newPlace();
    const [store, other] = [await opened(t, place), await opened(t, place)];
    for (let round = 1; round <= 40; round++) {
      await store.write({ goneShares: [{ ownerKey: 'a', host: 'one' }] });
      const again = share('a', 'one', { units: round });
      await Promise.all([other.load(), store.write({ shares: [again] }), other.load()]);
      t.strictSame((await other.load()).shares, [again]);
    }
  });

  t.test('a task is one host’s at a time, until it gives it up or is silent', async t => {
    const place = newPlace();
    const [one, two] = [await opened(t, place), await opened(t, place, { aliveMs: 60_000 })];
    t.equal(await two.takeTask('tell', 'two'), true);
    t.equal(await two.takeTask('tell', 'two'), true, 'it keeps it');
    t.equal(await one.takeTask('tell', 'one'), false);
    t.equal(await one.takeTask('other', 'one'), true, 'another task is another’s');
    await one.leaveTask('tell', 'one');
    t.equal(await one.takeTask('tell', 'one'), false, 'nobody gives up what is not theirs');
    await two.leaveTask('tell', 'two');
    const brief = await opened(t, place, { aliveMs: 20 });
    t.equal(await brief.takeTask('tell', 'odd\ud800 host/{}'), true);
    await comes('the task', () => one.takeTask('tell', 'one'));
  });

  t.test('a change calls those who follow, until they no longer want it', async t => {
    const place = newPlace();
    const [store, other] = [await opened(t, place), await opened(t, place)];
    const calls = new EventTarget();
    let count = 0;
    const unfollow = other.follow(() => {
      count++;
      calls.dispatchEvent(new Event('told'));
    });
    await once(calls, 'told');
    for (const change of [{ documents: [rule('a')] }, { shares: [share('a', 'one')] }]) {
      const told = once(calls, 'told');
      await store.write(change);
      await told;
    }
    const enrolled = once(calls, 'told');
    await store.enroll([owner('a')]);
    await enrolled;
    unfollow();
    const before = count;
    const again = new EventTarget();
    other.follow(() => again.dispatchEvent(new Event('told')));
    const told = once(again, 'told');
    await store.write({ shares: [share('a', 'one')] });
    await told;
    await setImmediate();
    t.equal(count, before);
  });

  t.test('a host has its name to itself as long as its daemon is heard of', async t => {
    const place = newPlace();
    // Long enough for some questions one after the other, also on a busy host.
    const settings = { aliveMs: 2000, renewalMs: 200 };
    const [one, two] = [await opened(t, place, settings), await opened(t, place, settings)];
    const claim = { host: 'host\ud800 1', token: 'one', life: 'one-1', version: '0.1.0' };
    const rival = { ...claim, token: 'two', life: 'two-1' };
    t.equal(await one.claim(claim), 'young_store', 'the store may have lost who has it');
    const otherThan = (store: SharedStore, asked: typeof claim, outcome: ClaimOutcome) =>
      until(async () => {
        const found = await store.claim(asked);
        return found === outcome ? null : found;
      });
    t.equal(await otherThan(one, claim, 'young_store'), 'kept');
    t.equal(await one.claim(claim), 'kept', 'it keeps the name');
    t.equal(await two.claim(rival), 'taken', 'another does not get it');
    t.equal(await two.claim({ ...rival, host: 'host-2' }), 'kept', 'but one of its own');
    await two.release(rival);
    t.equal(await two.claim(rival), 'taken', 'nor takes it away');
    const restarted = { ...claim, life: 'one-2', version: '0.2.0' };
    await one.claim(claim);
    t.equal(
      await two.claim(restarted),
      'former_life',
      'its own daemon waits for the one before to be silent',
    );
    t.equal(await otherThan(two, restarted, 'former_life'), 'kept');
    const [host] = (await one.hosts()).filter(({ host }) => host === claim.host);
    t.match(host, { isAlive: true, version: '0.2.0' });
    t.ok(Math.abs((host?.seenAt ?? 0) - Date.now()) < 60_000);
    t.equal(await one.claim(claim), 'regained', 'the one before lives all the same, and goes first');
    t.equal(await one.claim(claim), 'kept');
    t.equal(await two.claim(restarted), 'former_life');
    await one.release(claim);
    t.equal(await two.claim(rival), 'kept', 'a name that was given up is free at once');
    const third = { ...claim, token: 'three', life: 'three-1' };
    t.equal(await otherThan(one, third, 'taken'), 'kept', 'and one that nobody keeps, after a while');
  });

  t.test(
    'where names are lost, who had one has it at once, and others wait until all had the time',
    async t => {
      const place = newPlace();
      const store = await opened(t, place, { aliveMs: 60_000, renewalMs: 200 });
      const older = { host: 'one', token: 'a', life: 'a-1', version: '1' };
      const newer = { ...older, token: 'b', life: 'b-1' };
      t.equal(await store.claim(older), 'young_store');
      t.equal(await store.claim(newer), 'young_store');
      t.equal(await store.claim({ ...newer, isHeld: true }), 'kept');
      t.equal(await store.claim(older), 'regained', 'of two that live the older has it');
      t.equal(await store.claim({ ...newer, isHeld: true }), 'taken');
      t.equal(await store.claim(older), 'kept');
    },
  );

  t.test('a host that is gone is forgotten with its shares', async t => {
    const store = await opened(t, newPlace());
    const claim = { host: 'gone', token: 'a', life: 'a', version: '1', isHeld: true };
    await store.claim(claim);
    const keys = Array.from({ length: 300 }, (_, at) => `owner-${at}`);
    await store.write({ shares: keys.flatMap(key => [share(key, 'gone'), share(key, 'stays')]) });
    await t.rejects(store.forgetHost('gone'), { code: 'conflict' });
    t.equal((await store.load()).shares.length, 600, 'a living one keeps all');
    await store.release(claim);
    const { lastChange } = await store.state();
    await store.forgetHost('gone');
    t.strictSame(await store.hosts(), []);
    const { shares } = await store.load();
    t.ok(shares.length === 300 && shares.every(({ host }) => host === 'stays'));
    const told = (await allAfter(store, lastChange)).flatMap(one =>
      one.is === 'shares' ? one.ownerKeys : [],
    );
    t.strictSame(told.toSorted(), keys.toSorted());
    await t.rejects(store.forgetHost('gone'), { code: 'not_found' });
  });

  t.test('what is put back of a host is there only where that one has said nothing since', async t => {
    const store = await opened(t, newPlace());
    await store.write({
      shares: [share('alice', 'one', { units: 2 }), share('bob', 'one')],
      goneShares: [{ ownerKey: 'carol', host: 'one' }],
    });
    const { lastChange } = await store.state();
    const older = ['alice', 'carol', 'dave'].map(ownerKey => share(ownerKey, 'one', { units: 1 }));
    await store.restoreShares([...older, share('alice', 'two')]);
    const shares = (await store.load()).shares.map(({ ownerKey, host, units }) => [ownerKey, host, units]);
    t.strictSame(shares.filter(([ownerKey]) => ownerKey !== 'bob').toSorted(), [
      ['alice', 'one', 2],
      ['alice', 'two', share('alice', 'two').units],
      ['dave', 'one', 1],
    ]);
    const told = (await allAfter(store, lastChange)).flatMap(change =>
      change.is === 'shares' ? change.ownerKeys : [],
    );
    t.strictSame(told.toSorted(), ['alice', 'dave'], 'and who follows is told of that');
    await store.write({ shares: [share('dave', 'one', { units: 3 })] });
    await store.restoreShares(older);
    t.match(await store.sharesOf(['dave']), [{ units: 3 }]);
  });

  t.test('a host finds its mark as long as nothing is lost', async t => {
    const store = await opened(t, newPlace());
    await store.mark('one', 'first');
    t.ok(await store.isMarked('one', 'first'));
    await store.mark('one', 'second');
    t.ok(await store.isMarked('one', 'second'));
  });

  t.test(
    'what several hosts mount is walked by the one that took it first, until it is forgotten',
    async t => {
      const place = newPlace();
      const [one, two] = [await opened(t, place), await opened(t, place)];
      const odd = 'odd\ud800 name/{}';
      const claimed = (host: string) => ({ host, token: host, life: host, version: '1', isHeld: true });
      for (const host of ['one', odd]) t.equal(await one.claim(claimed(host)), 'kept');
      t.strictSame([...(await one.walkers())], []);
      const took = await Promise.all([one.takeWalk(odd, 'one'), two.takeWalk(odd, odd)]);
      const [walker = ''] = took;
      t.strictSame(took, [walker, walker], 'both are told the same');
      t.equal(await one.takeWalk(odd, walker), walker, 'who has it keeps it');
      t.equal(await two.takeWalk('second', 'one'), 'one');
      t.strictSame((await two.walkers()).get(odd), walker);
      const other = walker === 'one' ? odd : 'one';
      await two.leaveWalk(odd, other);
      t.equal(await two.takeWalk(odd, other), walker, 'nobody gives up what is not theirs');
      await one.release(claimed(walker));
      t.equal(await two.takeWalk(odd, other), walker, 'a host that is gone has it still');
      await two.forgetHost(walker);
      t.equal((await two.walkers()).get(odd), undefined);
      t.equal(await two.takeWalk(odd, other), other);
      t.equal(await one.claim(claimed(walker)), 'kept');
      t.equal(await one.takeWalk(odd, walker), other, 'and does not take it back');
      await two.leaveWalk(odd, other);
      t.equal(await one.takeWalk(odd, walker), walker);
    },
  );

  t.test('what several hosts reserve at once never passes a limit together', async t => {
    const place = newPlace();
    const [one, two] = [await opened(t, place), await opened(t, place)];
    const ownerKey = 'odd\ud800 name/{}';
    const limitOf = (limitBytes: number, ownBytes = 0) => ({
      limitBytes,
      counts: 1,
      ownBytes,
      ownUnreachable: 0,
      forgivesBytes: 0,
    });
    const roomFor = (limitBytes: number) => [[limitOf(limitBytes)]];
    const asked = (host: string, id: string, bytes: number, limitBytes = 100) => ({
      host,
      ownerKey,
      mask: 1,
      parts: [{ id, bytes }],
      milliseconds: 600_000,
      limits: roomFor(limitBytes),
      refusesReached: false,
    });
    await one.write({
      shares: [
        { ...share(ownerKey, 'three'), bytes: { 'size:repos:public': 20, 'size:git:lfs': 1000 } },
        { ...share(ownerKey, 'one'), bytes: { 'size:repos:public': 5000 } },
      ],
    });
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, each) => one.reserve(asked(`host-${each}`, 'push', 10))),
    );
    t.equal(answers.filter(answer => answer?.usage[0] === 5020).length, 50, 'all that others have counts');
    const host = (each: number) => ({ ...asked(`host-${each}`, 'push', 10), limits: roomFor(5100) });
    const taken = await Promise.all(
      Array.from({ length: 50 }, (_, each) => (each % 2 === 0 ? one : two).reserve(host(each))),
    );
    t.equal(taken.filter(answer => answer === null).length, 8, 'there was room for as many');
    const refused = taken.find(answer => answer !== null);
    t.equal(
      refused?.reserved.reduce((sum, { bytes }) => sum + bytes, 0),
      80,
    );

    const own = (bytes: number, ownBytes: number, refusesReached = false) => ({
      ...asked('one', 'own', bytes),
      limits: [[limitOf(200, ownBytes)], [limitOf(0)]],
      refusesReached,
    });
    t.equal(await two.reserve(own(50, 50)), null, 'its own share is what it says itself');
    t.equal(await two.reserve(own(100, 0)), null, 'one with the same id takes its place');
    t.not(await two.reserve(own(100, 1)), null);
    t.not(await two.reserve(own(100, 0, true)), null, 'where reaching refuses');
    t.match(await one.reserve(asked('four', 'x', 1)), { reserved: { length: 9 } });
    const first = taken.indexOf(null);
    await one.endReserved(`host-${first}`, ownerKey, ['push', 'never']);
    await one.endReserved('one', ownerKey, ['own']);
    t.match(await one.reserve(asked('four', 'x', 1)), { reserved: { length: 7 } });
    t.equal(await one.reserve({ ...asked('four', 'x', 1), limits: null, milliseconds: 1 }), null);
    await until(
      async () => ((await two.reserve(asked('five', 'y', 1)))?.reserved.length === 7 ? true : null),
      () => 'one whose time has ended still counts',
    );
  });

  t.test('what no ref reaches, here and elsewhere, is forgiven once, up to the most', async t => {
    const store = await opened(t, newPlace());
    const ownerKey = 'alice';
    await store.write({
      shares: [
        {
          ...share(ownerKey, 'two'),
          bytes: { 'size:repos:public': 100, 'size:git:lfs': 1000 },
          unreachable: { 'size:repos:public': 70 },
        },
      ],
    });
    t.match(await store.sharesOf([ownerKey]), [{ unreachable: { 'size:repos:public': 70 } }]);
    const asked = (ownUnreachable: number, forgivesBytes: number, counts = 1) => ({
      host: 'one',
      ownerKey,
      mask: 1,
      parts: [{ id: 'push', bytes: 10 }],
      milliseconds: 600_000,
      limits: [[{ limitBytes: 100, counts, ownBytes: 50, ownUnreachable, forgivesBytes }]],
      refusesReached: false,
    });
    t.match(await store.reserve(asked(0, 0)), { usage: { 0: 100 }, unreachable: { 0: 70, 1: 0 } });
    t.not(await store.reserve(asked(0, 59)), null);
    t.equal(await store.reserve(asked(0, 60)), null, '50 + 100 - 60 + 10');
    t.not(await store.reserve(asked(0, 1000, 4)), null, 'only those that the limit counts');
    t.not(await store.reserve({ ...asked(0, 70), parts: [{ id: 'push', bytes: 21 }] }), null);
    t.equal(await store.reserve({ ...asked(20, 90), parts: [{ id: 'push', bytes: 40 }] }), null);
    await store.write({ shares: [{ ...share(ownerKey, 'two'), bytes: { 'size:repos:public': 100 } }] });
    t.not(await store.reserve(asked(0, 1000)), null, 'what is said no more is forgiven no more');
  });

  t.test('what is said is heard by those who listen, until they no longer want it', async t => {
    const place = newPlace();
    const [store, other] = [await opened(t, place), await opened(t, place)];
    const heard: string[] = [];
    const words = new EventTarget();
    const unlisten = other.listen(text => {
      heard.push(text);
      words.dispatchEvent(new Event('heard'));
    });
    const both: string[] = [];
    other.listen(text => both.push(text));
    let told = 0;
    other.follow(() => told++);
    const hears = async (text: string) => {
      while (!heard.includes(text)) {
        const next = once(words, 'heard');
        await store.say(text);
        await Promise.race([next, delay(50)]);
      }
    };
    await hears('{"first":"\u2028"}');
    const before = told;
    await hears('second');
    t.equal(told, before, 'it is no news of a change');
    unlisten();
    await store.say('third');
    while (!both.includes('third')) await setImmediate();
    t.notOk(heard.includes('third'));
  });

  t.test('of too many events the oldest go', async t => {
    const store = await opened(t, newPlace(), { mostEvents: 5 });
    await store.write({ events: Array.from({ length: 9 }, (_, at) => event(`e${at}`, at)) });
    await store.write({ events: [event('e9', 9), event('old', -1)] });
    const ids = async (query: object) => (await store.events({ limit: 99, ...query })).map(({ id }) => id);
    const newest = ['e9', 'e8', 'e7', 'e6', 'e5'];
    t.strictSame(await ids({}), newest);
    t.strictSame(await ids({ kind: 'refusal' }), newest);
    t.strictSame(await ids({ owner: { ownerId: 7, ownerKey: 'alice' } }), newest);
  });

  t.test('an event is found among many of other kinds, and many old ones go at once', async t => {
    const store = await opened(t, newPlace());
    const many = Array.from({ length: 2500 }, (_, at) => event(`e${at}`, at));
    await store.write({ events: [event('rare', -5, { kind: 'policy' }), ...many] });
    const owner = { ownerId: 7, ownerKey: null };
    t.strictSame(
      (await store.events({ owner, kind: 'policy', limit: 3 })).map(({ id }) => id),
      ['rare'],
    );
    await store.write({ goneEventsBefore: 2499 });
    t.strictSame(
      (await store.events({ limit: 99 })).map(({ id }) => id),
      ['e2499'],
    );
  });
}
