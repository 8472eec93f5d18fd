/** Tests for any shared store: unreachable bytes, what hosts say, and events. */

import { once } from 'node:events';
import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import type { Test } from 'tap';
import { event, share } from './records.ts';
import { opened, type SharedPlace } from './shared-place.ts';

export function sharedWorkContract(t: Test, newPlace: () => SharedPlace): void {
  t.test(
    'the unreachable bytes of a share are kept beside its bytes, and go when they are said no more',
    async t => {
      const store = await opened(t, newPlace());
      const bytes = { 'size:repos:public': 100, 'size:git:lfs': 1000 };
      const unreachable = { 'size:repos:public': 70 };
      await store.write({ shares: [{ ...share('alice', 'two'), bytes, unreachable }] });
      t.match(await store.sharesOf(['alice']), [{ bytes, unreachable }]);
      await store.write({ shares: [{ ...share('alice', 'two'), bytes }] });
      t.match(await store.sharesOf(['alice']), [{ bytes, unreachable: undefined }]);
    },
  );

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
