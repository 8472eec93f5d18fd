/** Tests for any shared store: the hosts themselves. */

import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import type { Test } from 'tap';
import type { ClaimOutcome, SharedStore } from '../../src/store/index.ts';
import { until } from '../e2e/ask.ts';
import { sortedRecords } from './model.ts';
import { owner, share } from './records.ts';
import { comes } from './redis-servers.ts';
import { allAfter, opened, rule, type SharedPlace } from './shared-place.ts';

export function sharedHostsContract(t: Test, newPlace: () => SharedPlace): void {
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
}
