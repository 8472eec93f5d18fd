/** Hosts that share a store: one of them sends for all, and one that was cut off repeats nothing. */

import { mock } from 'node:test';
import t from 'tap';
import { SoftquotaError } from '../../src/errors.ts';
import { positionKind } from '../../src/notices/deliveries.ts';
import { hooked, minuteMs } from './world.ts';

t.test('a host that was cut off from the store makes no notice come again', async t => {
  const { receiver, world } = await hooked(t);
  const here = world.notices;
  const state = { takesNothing: null, isFirst: false };
  const there = world.noticesOn('there', state);
  t.teardown(() => there.close());
  const { now } = performance;
  let passedMs = 0;
  const clock = mock.method(performance, 'now', () => now.call(performance) + passedMs);
  t.teardown(() => clock.mock.restore());
  const tick = async () => {
    passedMs += minuteMs;
    for (const notices of [here, there]) {
      await notices.tick();
      await notices.settled();
    }
  };

  world.takesNothing = new SoftquotaError('store_away', 'the store is away');
  receiver.answer = response => void response.writeHead(500).end();
  await world.store('alice', 8500);
  t.match(here.deliveries(), [[/^t-/, { attempts: 1 }]], 'it is sent while the lease lasts, but not taken');

  Object.assign(state, { isFirst: true });
  world.isFirst = false;
  receiver.answer = response => void response.writeHead(204).end();
  await tick();
  await world.store('alice', 11_000);
  await tick();
  t.equal(receiver.taken.length, 2);
  const position = () => world.ledger.documents.snapshot.get(positionKind, 'events');
  const written = position();

  world.takesNothing = null;
  world.clock.pass(minuteMs);
  await tick();
  await tick();
  t.strictSame([receiver.taken.length, here.deliveries(), position()], [2, [], written]);
});
