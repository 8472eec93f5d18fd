/** Tests for any shared store. Of a place several stores may be open at a time. */

import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Test } from 'tap';
import type { LargeUnit, SharedStore } from '../../src/store/index.ts';
import { sortedRecords } from './model.ts';
import { event, oddStrings, owner, share } from './records.ts';
import {
  commit,
  documentsOf,
  opened,
  position,
  rule,
  type SharedPlace,
  sharesOf,
  tell,
} from './shared-place.ts';

export function sharedContract(t: Test, newPlace: () => SharedPlace): void {
  policyContract(t, newPlace);
  volatileContract(t, newPlace);
  usageContract(t, newPlace);
  hostsContract(t, newPlace);
  eventsContract(t, newPlace);
}

function policyContract(t: Test, newPlace: () => SharedPlace): void {
  t.test('a new shared store stands nowhere', async t => {
    const store = await opened(t, newPlace());
    const { server, ...state } = await store.state();
    t.strictSame(state, { position: null, supersedes: [], usage: new Map(), volatile: null });
    t.type(server, 'string');
    t.strictSame((await store.policy()).policy, { owners: [], documents: [] });
    t.strictSame([await store.hosts(), await sharesOf(store, 'one')], [[], []]);
  });

  t.test('a change of policy is made upon the one before, and never upon another', async t => {
    const store = await opened(t, newPlace());
    const first = { owners: [owner('a')], documents: [rule('r')] };
    t.equal(await store.replace(first, null, [position(1)], []), 'kept');
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
    t.equal(await store.commit({}, position(2), 'm', 'another server'), null);
  });

  t.test('a change of owners who are others by now is not made, and nothing of it', async t => {
    const store = await opened(t, newPlace());
    const owners = [owner('a', { id: 1 }), owner('b', { id: 2 })];
    await store.replace({ owners, documents: [] }, null, [position(1)], []);
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

  t.test('owners are compared with those of the store', async t => {
    const store = await opened(t, newPlace());
    t.strictSame(await store.compareOwners([owner('a')]), { mark: null, lacking: [owner('a')], others: [] });
    const kept = [owner('same', { id: 1 }), owner('\u{e9}/ other', { id: 2 })];
    await store.replace({ owners: kept, documents: [] }, null, [position(1)], []);
    const known = [owner('same', { id: 1 }), owner('\u{e9}/ other', { id: 3 }), owner('new', { id: 4 })];
    t.strictSame(await store.compareOwners(known), {
      mark: 'mark-1',
      lacking: known.slice(2),
      others: kept.slice(1),
    });
  });

  t.test('of changes made at once on several hosts none is lost', async t => {
    const place = newPlace();
    const stores = await Promise.all([1, 2, 3].map(() => opened(t, place)));
    await stores[0]?.replace({ owners: [], documents: [] }, null, [position(1)], []);
    const each = 10;
    await Promise.all(
      stores.map(async (store, host) => {
        for (let made = 0; made < each; ) {
          const { position: basis } = await store.state();
          if (basis === null) throw new Error('no position');
          const next = position(basis.version + 1, { mark: `${host}-${made}` });
          if ((await commit(store, { documents: [rule(`${host}-${made}`)] }, basis, next)) === 'kept') made++;
        }
      }),
    );
    const store = await opened(t, place);
    t.equal((await documentsOf(store)).length, stores.length * each);
    t.equal((await store.state()).position?.version, 1 + stores.length * each);
  });

  t.test('what has changed since a version is told, with the versions between', async t => {
    const store = await opened(t, newPlace());
    await store.replace({ owners: [owner('a', { id: 1 })], documents: [] }, null, [position(1)], []);
    const odd = rule('odd \ud800/\0', JSON.stringify('\ud800'));
    await commit(store, { documents: [odd, rule('gone')] }, position(1), position(2));
    const change = { owners: [owner('b\ud800', { id: 4 })], goneOwners: ['a'] };
    const gone = { goneDocuments: [{ kind: 'rule', key: 'gone' }] };
    await commit(store, { ...change, ...gone }, position(2), position(3));
    t.strictSame(await store.policySince({ version: 1 }), {
      position: position(3),
      markThere: 'mark-1',
      versions: [position(2), position(3)],
      change: { documents: [odd], ...gone, ...change },
    });
    t.match(await store.policySince({ version: 3 }), { markThere: 'mark-3', versions: [] });
    t.match(await store.policySince({ version: 0 }), { markThere: null, change: null }, 'put there whole');
    const many = Array.from({ length: 3000 }, (_, at) => rule(`${at}`));
    await commit(store, { documents: many }, position(3), position(4));
    t.match(await store.policySince({ version: 3 }), { versions: [position(4)], change: null }, 'too much');
    await store.replace({ owners: [], documents: [] }, position(4), [position(5, { generation: 'b' })], []);
    t.match(await store.policySince({ version: 3 }), { markThere: null, change: null }, 'no longer told');
  });

  t.test('lost changes are written again, and lead through the versions that they had', async t => {
    const store = await opened(t, newPlace());
    await store.replace({ owners: [], documents: [rule('a')] }, null, [position(1)], []);
    const known = { owners: [], documents: [rule('a'), rule('b')] };
    const through = [position(1), position(2), position(3)];
    t.equal(await store.replace(known, position(2), through, []), 'conflict');
    t.equal(await store.replace(known, position(1), through, []), 'kept');
    t.match(await store.policySince({ version: 2 }), { position: position(3), markThere: 'mark-2' });
    t.strictSame(await documentsOf(store), [rule('a'), rule('b')]);
  });

  t.test('a policy is put in place of another as a whole, and only where nothing came between', async t => {
    const place = newPlace();
    const store = await opened(t, place);
    const old = { owners: [owner('old')], documents: [rule('old')] };
    t.equal(await store.replace(old, position(7), [position(8)], []), 'conflict', 'nothing is there');
    t.equal(await store.replace(old, null, [position(1)], []), 'kept');
    t.equal(await store.replace({ owners: [], documents: [] }, null, [position(1)], []), 'conflict');
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
    t.equal(await store.replace(policy, position(1), [second], ['first', 'odd\ud800']), 'kept');
    looking.abort();
    const counts = await seen;
    counts.delete('1 1');
    counts.delete('2500 2500');
    t.strictSame([...counts], [], 'nobody sees half of it');
    t.strictSame((await store.state()).position, second);
    t.strictSame((await store.state()).supersedes, ['first', 'odd\ud800']);
    const all = (records: typeof policy) => sortedRecords({ ...records, shares: [] });
    t.strictSame(all({ ...(await store.policy()).policy } as typeof policy), all(policy));
    t.equal(await commit(store, {}, second, position(2, { generation: 'second' })), 'kept');
    t.strictSame((await store.state()).supersedes, ['first', 'odd\ud800'], 'a change keeps what was decided');
  });

  t.test('a policy that changes all the time is read as of one moment', async t => {
    const place = newPlace();
    const [store, other] = [await opened(t, place), await opened(t, place)];
    const pair = (version: number) => ['a', 'b'].map(key => rule(key, `${version}`));
    const filling = Array.from({ length: 3000 }, (_, at) => rule(`${at}`));
    await store.replace({ owners: [], documents: [...filling, ...pair(1)] }, null, [position(1)], []);
    let isOver = false;
    const changing = (async () => {
      for (let version = 2; !isOver; version += 1) {
        await commit(store, { documents: pair(version) }, position(version - 1), position(version));
      }
    })();
    for (let round = 0; round < 10; round += 1) {
      const { policy, state } = await other.policy();
      const [a, b] = ['a', 'b'].map(key => policy.documents.find(each => each.key === key)?.text);
      t.strictSame([a, b], [`${state.position?.version}`, `${state.position?.version}`]);
    }
    isOver = true;
    await changing;
  });
}

function volatileContract(t: Test, newPlace: () => SharedPlace): void {
  t.test('volatile documents have no version: the last writer wins, and what changed is told', async t => {
    const place = newPlace();
    const [store, other] = [await opened(t, place), await opened(t, place, { writer: 'other' })];
    await store.replace({ owners: [], documents: [] }, null, [position(1)], []);
    const session = (key: string, text = '{}') => ({ kind: 'session', key, text });
    const odd = 'odd \ud800/\0';
    await store.writeVolatile({ documents: [session('a'), session(odd)] });
    await other.writeVolatile({ documents: [session('a', '{"later":1}')] });
    await store.writeVolatile({ goneDocuments: [{ kind: 'session', key: odd }] });
    const { position: at, volatile } = await store.state();
    t.strictSame(at, position(1));
    t.match(volatile, /^\w+ 3$/);
    t.strictSame(await other.volatile(), [session('a', '{"later":1}')]);
    const gone = { kind: 'session', key: odd, text: null };
    t.strictSame(await other.volatileAfter(0), [session('a', '{"later":1}'), gone]);
    t.strictSame(await other.volatileAfter(2), [gone]);
    t.strictSame(await other.volatileAfter(3), []);
    await store.writeVolatile({ goneDocuments: [{ kind: 'session', key: 'a' }] });
    t.strictSame(await other.volatile(), [], 'none are left, which is not that there never were any');
    t.match((await store.state()).volatile, /4$/);
    const many = Array.from({ length: 1500 }, (_, number) => session(`${number}`));
    await store.writeVolatile({ documents: many });
    t.equal(await other.volatileAfter(4), null, 'too many to be read one by one');
    t.equal((await other.volatile()).length, many.length);
  });
}

function usageContract(t: Test, newPlace: () => SharedPlace): void {
  t.test('a host tells upon what it told last, and others find what has changed', async t => {
    const place = newPlace();
    const [store, other] = [await opened(t, place), await opened(t, place)];
    const host = 'odd\ud800 host/:{}';
    const shares = oddStrings.map(odd => share(odd, host, { partial: true, units: 2 }));
    t.equal(await tell(store, host, shares), 'kept');
    t.strictSame(await sharesOf(other, host), sortedRecords({ owners: [], documents: [], shares }).shares);
    const small = share('small', host, { bytes: {}, units: 0, measuredAt: null });
    const large = share('large', host, {
      bytes: { 'size:git:lfs': Number.MAX_SAFE_INTEGER },
      unreachable: { 'size:repos:private': 3 },
    });
    await tell(store, host, [small], [oddStrings[0] ?? '']);
    await tell(store, host, [large]);
    t.equal((await other.state()).usage.get(host), 'first 2');
    t.strictSame(await other.usageAfter(host, 0), {
      number: 2,
      shares: [
        [oddStrings[0], null],
        ['small', small],
        ['large', large],
      ],
      isMore: false,
    });
    t.strictSame((await other.usageAfter(host, 2)).shares, []);
    const lost = { from: 'first 1', to: 'first 2', usage: new Map(), gone: [], largest: new Map() };
    t.equal(await store.tellUsage(host, lost), 'conflict');
    t.equal(await store.tellUsage(host, { ...lost, from: 'first 2', to: 'second 0' }), 'kept');
    t.strictSame((await other.usageAfter(host, -1)).shares, [], 'another epoch has everything read again');
  });

  t.test('what is told by the thousands is read some at a time', async t => {
    const store = await opened(t, newPlace());
    const keys = Array.from({ length: 4500 }, (_, at) => `owner-${at}`);
    for (let at = 0; at < keys.length; at += 900) {
      await tell(
        store,
        'one',
        keys.slice(at, at + 900).map(key => share(key, 'one')),
      );
    }
    const found = new Set<string>();
    for (let number = -1, isMore = true; isMore; ) {
      const page = await store.usageAfter('one', number);
      for (const [ownerKey] of page.shares) found.add(ownerKey);
      ({ number, isMore } = page);
    }
    t.equal(found.size, keys.length);
    t.equal((await sharesOf(store, 'one')).length, keys.length);
  });

  t.test('the largest units of an owner are read when they are asked for', async t => {
    const store = await opened(t, newPlace());
    const unit: LargeUnit = { kind: 'walked', name: '/a\ud800.git', leaf: 'size:git:lfs', bytes: 9 };
    const largest = new Map([['alice', [unit]]]);
    const told = { from: null, to: 'e 1', usage: new Map(), gone: [], largest };
    await store.tellUsage('one', told);
    t.strictSame(
      await store.largestUnits('alice', ['two', 'one']),
      new Map<string, readonly LargeUnit[]>([
        ['two', []],
        ['one', [unit]],
      ]),
    );
    const pages: unknown[] = [];
    for await (const page of store.allLargest('one')) pages.push(...page);
    t.strictSame(pages, [['alice', [unit]]]);
  });
}

const claim = (store: SharedStore, token: string, life: string, begins: 'unsure' | 'sure' | null = null) =>
  store.claim({ host: 'one', token, life, version: '1', begins });

function hostsContract(t: Test, newPlace: () => SharedPlace): void {
  t.test('a name is that of the token that has it, and of its last life', async t => {
    const place = newPlace();
    const store = await opened(t, place);
    t.equal(await claim(store, 'a', '1', 'unsure'), 'unknown', 'the store may have lost who has it');
    t.equal(await claim(store, 'a', '1', 'sure'), 'kept');
    t.equal(await claim(store, 'a', '1'), 'kept');
    t.equal(await claim(store, 'b', '2', 'unsure'), 'taken');
    t.equal(await claim(store, 'a', '3', 'unsure'), 'kept', 'the same host after a restart');
    t.equal(await claim(store, 'a', '1'), 'taken', 'and the one before is told so');
    await store.release({ host: 'one', token: 'a', life: '1', version: '1' });
    t.equal(await claim(store, 'b', '2', 'unsure'), 'taken', 'nobody gives up what is not theirs');
    await store.release({ host: 'one', token: 'a', life: '3', version: '1' });
    t.equal(await claim(store, 'b', '2', 'unsure'), 'kept');
    const brief = await opened(t, place, { aliveMs: 20 });
    t.equal(await claim(brief, 'b', '2'), 'kept');
    while ((await claim(store, 'a', '1')) !== 'kept') await delay(5);
    t.match(await store.hosts(), [{ host: 'one', isAlive: true, version: '1', isParted: false }]);
  });

  t.test('a host is listed, and forgotten with what it told once it is silent', async t => {
    const place = newPlace();
    const store = await opened(t, place);
    const about = { isParted: true, praefectStorage: 'gitaly-1' };
    await store.claim({ host: 'one', token: 'a', life: '1', version: '1', begins: 'sure', ...about });
    await tell(store, 'one', [share('alice', 'one')]);
    await tell(store, 'silent', [share('alice', 'silent')]);
    t.match(await store.hosts(), [{ host: 'one', isAlive: true, ...about }]);
    await t.rejects(store.forgetHost('one'), { code: 'conflict', message: /is running/ });
    await t.rejects(store.forgetHost('never there'), { code: 'not_found' });
    await store.release({ host: 'one', token: 'a', life: '1', version: '1' });
    for (const host of ['one', 'silent']) await store.forgetHost(host);
    t.strictSame(await store.hosts(), []);
    t.strictSame(await sharesOf(store, 'one', 'silent'), []);
    t.equal((await store.state()).usage.get('one'), 'forgotten');
    await t.rejects(store.forgetHost('one'), { code: 'not_found' });
    await tell(store, 'one', [share('alice', 'one')]);
    t.equal((await sharesOf(store, 'one')).length, 1, 'who comes back tells again');
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
    t.equal(await brief.takeTask('tell', 'brief'), true);
    while (!(await one.takeTask('tell', 'one'))) await delay(5);
    t.pass('a silent one loses it');
  });

  t.test('who follows is told of changes, and hears what is said', async t => {
    const place = newPlace();
    const [store, other] = [await opened(t, place), await opened(t, place)];
    const words = new EventTarget();
    const heard: string[] = [];
    let told = 0;
    const news = new EventTarget();
    other.follow({
      said: text => {
        heard.push(text);
        words.dispatchEvent(new Event('heard'));
      },
      changed: () => {
        told++;
        news.dispatchEvent(new Event('told'));
      },
    });
    const hears = async (text: string) => {
      while (!heard.includes(text)) {
        const next = once(words, 'heard');
        await store.say(text);
        await Promise.race([next, delay(50)]);
      }
    };
    await hears('{"first":"\u2028"}');
    const before = told;
    await hears('{}');
    t.equal(told, before, 'it is no news of a change');
    const changes: Readonly<Record<string, () => Promise<unknown>>> = {
      policy: () => store.replace({ owners: [], documents: [] }, null, [position(1)], []),
      'a change': () => commit(store, {}, position(1), position(2)),
      volatile: () => store.writeVolatile({ documents: [{ kind: 'k', key: 'a', text: '' }] }),
      usage: () => tell(store, 'one', [share('a', 'one')]),
      forgotten: () => store.forgetHost('one'),
    };
    for (const [what, change] of Object.entries(changes)) {
      const next = once(news, 'told');
      await change();
      await next;
      t.pass(what);
    }
  });
}

function eventsContract(t: Test, newPlace: () => SharedPlace): void {
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

  t.test('of too many events the oldest refusals go first, and changes of policy last', async t => {
    const store = await opened(t, newPlace(), { mostEvents: 4 });
    const policy = ['p1', 'p2', 'p3'].map((id, at) => event(id, at, { kind: 'policy' }));
    const ids = async () => (await store.events({ limit: 99 })).map(({ id }) => id).join(' ');
    await store.write({ events: [...policy, event('t', 3, { kind: 'threshold' }), event('r', 9)] });
    t.equal(await ids(), 't p3 p2 p1');
    await store.write({ events: [event('t2', 10, { kind: 'threshold' })] });
    t.equal(await ids(), 't2 p3 p2 p1');
  });

  t.test('changes of policy leave a fifth of all events to others', async t => {
    const store = await opened(t, newPlace(), { mostEvents: 5 });
    const ids = async () => (await store.events({ limit: 99 })).map(({ id }) => id).join(' ');
    await store.write({
      events: Array.from({ length: 5 }, (_, at) => event(`p${at}`, at, { kind: 'policy' })),
    });
    t.equal(await ids(), 'p4 p3 p2 p1 p0', 'unless there is none');
    await store.write({ events: [event('r', 5)] });
    t.equal(await ids(), 'r p4 p3 p2 p1');
    await store.write({ events: [event('p5', 6, { kind: 'policy' })] });
    t.equal(await ids(), 'p5 r p4 p3 p2');
  });

  t.test('an event is found among many of other kinds, and many old ones go at once', async t => {
    const store = await opened(t, newPlace());
    const many = Array.from({ length: 2500 }, (_, at) => event(`e${at}`, at));
    await store.write({ events: [event('rare', -5, { kind: 'policy' }), ...many] });
    const owner = { ownerId: 7, ownerKey: null };
    t.strictSame(
      (await store.events({ owner, kinds: ['policy'], limit: 3 })).map(({ id }) => id),
      ['rare'],
    );
    await store.write({ goneEventsBefore: 2499 });
    t.strictSame(
      (await store.events({ limit: 99 })).map(({ id }) => id),
      ['e2499'],
    );
  });
}
