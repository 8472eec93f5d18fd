/** Reservations: their sums, their ends, and how many there can be. */

import t from 'tap';
import { type Reservation, Reservations } from '../../src/ledger/reservations.ts';
import { leafMask, usageOf } from '../../src/quota/index.ts';
import { lfs, SetClock, settings, World, walk } from './world.ts';

const mask = leafMask(lfs);

function world(limits: { readonly mostInAll?: number; readonly mostOfOwner?: number } = {}) {
  const clock = new SetClock();
  const changed: string[] = [];
  const told = Promise.withResolvers<void>();
  const onChange = (key: string) => {
    changed.push(key);
    if (changed.length === 2) told.resolve();
  };
  const reservations = new Reservations({ clock, onChange, ...limits });
  t.teardown(() => reservations.close());
  let count = 0;
  const hold = (differing: Partial<Reservation> = {}, usage = usageOf({})) => {
    const expiresAt = clock.monotonic() + 600_000;
    const usual = { id: `${++count}`, ownerKey: 'alice', mask, bytes: 100, unit: null, expiresAt };
    return reservations.hold({ ...usual, isReported: false, ...differing }, usage);
  };
  const bytes = (stored = 0, ownerKey = 'alice') =>
    (reservations.of(ownerKey, usageOf({ [lfs]: stored })) ?? []).reduce((sum, each) => sum + each.bytes, 0);
  return { clock, changed, told: told.promise, reservations, hold, bytes };
}

t.test('what nobody reports ends as the usage grows, the oldest first', async t => {
  const { hold, bytes, reservations } = world();
  hold();
  hold();
  t.equal(bytes(), 200);
  t.equal(bytes(30), 170);
  t.equal(bytes(10), 170, 'what goes brings nothing back');
  t.equal(bytes(90), 90, 'and what comes then counts anew');
  t.strictSame([...reservations.ofOwner('alice').keys()], ['2']);
  hold({ isReported: true });
  t.equal(bytes(1000), 100, 'what is reported does not end so');
});

t.test('beyond the most of an owner uploads are added up, and nobody else reserves', async t => {
  const { hold, bytes, reservations, clock } = world({ mostOfOwner: 2 });
  hold();
  hold();
  hold({ expiresAt: clock.monotonic() + 700_000 });
  hold();
  t.equal(bytes(), 400);
  t.equal(reservations.ofOwner('alice').size, 3);
  t.throws(() => hold({ isReported: true }), { code: 'too_many_reservations', status: 429 });
  t.ok(hold({ isReported: true, ownerKey: 'bob' }));
  hold({ id: '1', bytes: 50 });
  t.equal(bytes(), 350, 'one that is tried again has its place');
  clock.pass(600_000);
  t.equal(bytes(), 200, 'the sum ends with the last of them');
  clock.pass(100_000);
  t.equal(bytes(), 0);
});

t.test('there is a most for all owners together', async t => {
  const { hold, reservations } = world({ mostInAll: 3 });
  const held = ['a', 'b', 'c', 'd', 'e', 'f'].map(ownerKey => hold({ ownerKey }));
  t.throws(() => hold({ ownerKey: 'g', isReported: true }), { code: 'too_many_reservations' });
  t.throws(() => hold({ ownerKey: 'g' }), { code: 'too_many_reservations' });
  t.ok(hold({ ownerKey: 'f' }), 'who has one has a sum');
  for (const each of held) reservations.release(each);
  t.ok(hold({ ownerKey: 'g', isReported: true }));
});

t.test('those who watch are told, also where nobody asks when a time ends', async t => {
  const { changed, told, hold, clock } = world();
  hold({ ownerKey: 'bob', expiresAt: clock.monotonic() + 1 });
  t.strictSame(changed, ['bob']);
  clock.pass(1);
  const awake = setInterval(() => {}, 1000);
  await told;
  clearInterval(awake);
  t.strictSame(changed, ['bob', 'bob']);
});

t.test('what a walk finds of one that is over is not taken to be the bytes of another', async t => {
  const ledger = await new World(t).open();
  ledger.settings = { ...settings, precise: true, totalBytes: 10_000 };
  const { path, leaf } = walk(ledger, 'alice/app', 1000);
  const push = (id: string) =>
    ledger.admit({
      ownerName: 'alice',
      subject: leaf,
      parts: [{ id, bytes: 2000 }],
      isReported: false,
      unit: path,
      seconds: 60,
    });
  const [first] = push('first').reservations;
  t.ok(push('second').decision.allowed);
  if (first === undefined) throw new Error('nothing was reserved');
  ledger.reservations.replace(first, { landedSeq: ledger.walks.nextSeq() });
  walk(ledger, 'alice/app', 3000);
  t.match(ledger.decide('alice', leaf).decision, { used: 5000, reserved: 2000 });
});
