/** Tests for any shared store: reservations, forgiven bytes and events. */

import { once } from 'node:events';
import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import type { Test } from 'tap';
import { until } from '../e2e/ask.ts';
import { event, share } from './records.ts';
import { opened, type SharedPlace } from './shared-place.ts';

export function sharedWorkContract(t: Test, newPlace: () => SharedPlace): void {
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
