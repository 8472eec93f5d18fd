/** Faults are told when they begin and when they end, once each. */

import t from 'tap';
import { SoftquotaError } from '../../src/errors.ts';
import type { PresentFault } from '../../src/notices/index.ts';
import { walk } from '../ledger/world.ts';
import type { Receiver } from './receiver.ts';
import { hooked, minuteMs } from './world.ts';

const full: PresentFault = { what: 'disk_full', where: '/srv/git', reason: '1 GB is free' };

function told(receiver: Receiver): readonly unknown[] {
  return receiver.taken.map(({ json: { data } }) => [data.what, data.where, data.state]);
}

t.test('a fault that lasts is told once, and its end once, over restarts', async t => {
  const { receiver, world } = await hooked(t);
  world.faults = { faults: [full], unknown: [] };
  await world.pass(1000);
  await world.pass(8000);
  t.same(told(receiver), [], 'it may be over in a moment');
  await world.pass(2000);
  t.same(told(receiver), [['disk_full', '/srv/git', 'began']]);
  t.equal(
    receiver.taken[0]?.json.data.message,
    'Fault: too little is free at /srv/git (host here): 1 GB is free',
  );
  await world.pass(minuteMs);
  await world.restart();
  await world.pass(minuteMs, 2);
  t.equal(receiver.taken.length, 1);
  await world.restart();
  world.faults = { faults: [], unknown: [] };
  await world.pass(minuteMs, 2);
  t.same(told(receiver).slice(1), [['disk_full', '/srv/git', 'ended']]);
  t.equal(new Set(receiver.ids).size, 2);
});

t.test('what comes and goes is not told, nor the end of what is not known at the moment', async t => {
  const { receiver, world } = await hooked(t);
  for (let passes = 0; passes < 20; passes++) {
    world.faults = { faults: passes % 2 === 0 ? [full] : [], unknown: [] };
    await world.pass(5000);
  }
  t.same(told(receiver), []);
  const forge: PresentFault = { what: 'forge', where: '', reason: 'no connection' };
  world.faults = { faults: [forge], unknown: [] };
  await world.pass(minuteMs, 2);
  world.faults = { faults: [], unknown: ['forge'] };
  await world.restart();
  await world.pass(minuteMs, 2);
  t.same(told(receiver), [['forge', '', 'began']]);
  world.faults = { faults: [], unknown: [] };
  await world.pass(minuteMs, 2);
  t.same(told(receiver).slice(1), [['forge', '', 'ended']]);
});

t.test('a receiver that takes all gets a burst without a pause, and a fault before the rest', async t => {
  const { receiver, world } = await hooked(t);
  world.faults = { faults: [full], unknown: [] };
  await world.pass();
  for (let owner = 0; owner < 50; owner++) walk(world.ledger, `owner-${owner}/app`, 8500);
  await world.pass(11_000);
  t.equal(receiver.taken.length, 51);
  t.ok(receiver.types.slice(0, 4).includes('fault'));
  t.same(world.notices.deliveries(), []);
});

t.test('a fault of the store is told while nothing can be written', async t => {
  const { receiver, world } = await hooked(t);
  world.takesNothing = new SoftquotaError('store_away', 'no room');
  world.faults = { faults: [{ what: 'store', where: '', reason: 'no room' }], unknown: [] };
  await world.pass(minuteMs);
  await world.pass(minuteMs, 5);
  t.same(told(receiver), [['store', '', 'began']]);
  world.takesNothing = null;
  await world.pass(minuteMs);
  await world.restart();
  await world.pass(minuteMs, 2);
  t.equal(receiver.taken.length, 1, 'that it was told is known once the store is back');
});
