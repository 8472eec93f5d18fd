/** Reservations: their sums, their ends, and how many there can be. */

import t from 'tap';
import { type Reservation, Reservations, type ReservationsOptions } from '../../src/ledger/reservations.ts';
import { leafMask, usageOf } from '../../src/quota/index.ts';
import { SetClock } from './world.ts';

const lfs = leafMask('size:git:lfs');

function world(limits: Pick<ReservationsOptions, 'mostInAll' | 'mostOfOwner'> = {}) {
  const clock = new SetClock();
  const changed: string[] = [];
  const reservations = new Reservations({ clock, onChange: key => void changed.push(key), ...limits });
  t.teardown(() => reservations.close());
  let count = 0;
  const hold = (differing: Partial<Reservation> = {}, usage = usageOf({})) => {
    const expiresAt = clock.monotonic() + 600_000;
    const usual = { id: `${++count}`, ownerKey: 'alice', mask: lfs, bytes: 100, unit: null, expiresAt };
    return reservations.hold({ ...usual, end: 'grown', ...differing }, usage);
  };
  const bytes = (stored = 0) => {
    const found = reservations.of('alice', usageOf({ 'size:git:lfs': stored }));
    return [...(found?.claimed ?? []), ...(found?.expected ?? [])].reduce((sum, each) => sum + each.bytes, 0);
  };
  return { clock, changed, reservations, hold, bytes };
}

t.test('what nobody reports ends as the usage grows, the oldest first', async t => {
  const { hold, bytes, reservations } = world();
  const ended: string[] = [];
  reservations.onEnded = ({ id }) => void ended.push(id);
  hold();
  hold();
  t.equal(bytes(), 200);
  t.equal(bytes(30), 170);
  t.equal(bytes(10), 170, 'what goes brings nothing back');
  t.equal(bytes(90), 90, 'and what comes then counts anew');
  t.strictSame(ended, ['1']);
  hold({ end: 'reported' });
  t.equal(bytes(1000), 100, 'what is reported does not end so');
  t.strictSame(ended, ['1', '2']);
});

t.test('beyond the most of an owner actions are added up, and nobody else reserves', async t => {
  const { hold, bytes, reservations, clock } = world({ mostOfOwner: 2 });
  hold({ end: 'landed' });
  hold({ end: 'landed' });
  hold({ end: 'landed', expiresAt: clock.monotonic() + 700_000 });
  hold({ end: 'landed' });
  t.equal(bytes(), 400);
  t.equal(reservations.all.length, 3);
  t.throws(() => hold({ end: 'reported' }), { code: 'too_many_reservations', status: 429 });
  t.ok(hold({ end: 'reported', ownerKey: 'bob' }));
  clock.pass(600_000);
  t.equal(bytes(), 200, 'the sum ends with the last of them');
  clock.pass(100_000);
  t.equal(bytes(), 0);
});

t.test('there is a most for all owners together', async t => {
  const { hold, reservations } = world({ mostInAll: 3 });
  for (const ownerKey of ['a', 'b', 'c', 'd', 'e', 'f']) hold({ ownerKey });
  t.throws(() => hold({ ownerKey: 'g', end: 'reported' }), { code: 'too_many_reservations' });
  t.throws(() => hold({ ownerKey: 'g' }), { code: 'too_many_reservations' });
  t.ok(hold({ ownerKey: 'f' }), 'who has one has a sum');
  reservations.release(reservations.all);
  t.ok(hold({ ownerKey: 'g', end: 'reported' }));
});

t.test('those who watch are told, also where nobody asks when a time ends', async t => {
  const { changed, reservations, clock } = world();
  const told = Promise.withResolvers<void>();
  reservations.onEnded = () => told.resolve();
  reservations.hold(
    {
      id: 'x',
      ownerKey: 'bob',
      mask: lfs,
      bytes: 1,
      end: 'reported',
      expiresAt: clock.monotonic() + 1,
      unit: null,
    },
    null,
  );
  t.strictSame(changed, ['bob']);
  clock.pass(1);
  const awake = setInterval(() => {}, 1000);
  await told.promise;
  clearInterval(awake);
  t.strictSame(changed, ['bob', 'bob']);
});
