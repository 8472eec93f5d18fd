/** Reservations outlive the daemon that took them. */

import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { KeptReservations } from '../../src/daemon/kept-reservations.ts';
import { Reservations } from '../../src/ledger/reservations.ts';
import { directoryFor, SetClock } from '../ledger/world.ts';

interface Life {
  readonly reservations: Reservations;
  readonly kept: KeptReservations;
  readonly logged: { readonly file: string; readonly reason: string }[];
}

const clock = new SetClock();

function begin(t: Test, dataPath: string): Life {
  const reservations = new Reservations({ clock, onChange: () => {} });
  const logged: Life['logged'] = [];
  const log = { error: (about: Life['logged'][number]) => void logged.push(about) };
  const kept = new KeptReservations({ reservations, dataPath, log, pauseMs: 1e6 });
  t.teardown(async () => {
    await kept.close();
    reservations.close();
  });
  return { reservations, kept, logged };
}

function hold({ reservations }: Life, id: string, bytes: number, seconds = 600) {
  const expiresAt = clock.monotonic() + seconds * 1000;
  const unit = '/srv/git/zoë/\udcff.git';
  const end = id.startsWith('push') ? 'landed' : 'reported';
  return reservations.hold({ id, ownerKey: 'zoë', mask: 1, bytes, end, expiresAt, unit }, null);
}

t.test('after a restart what is reserved is reserved still, for the rest of its time', async t => {
  const dataPath = directoryFor(t);
  const before = begin(t, dataPath);
  hold(before, 'push a', 5);
  hold(before, 'b', 7, 60);
  hold(before, 'c', 9, 10);
  before.reservations.landed(hold(before, 'push d', 11), '/srv/git/zoë/\udcff.git', 12);
  await before.kept.close();
  t.equal(statSync(join(dataPath, 'reservations')).mode & 0o777, 0o600);
  clock.pass(10_000);
  const after = begin(t, dataPath);
  t.strictSame(
    after.reservations.all.map(({ id, bytes, landedSeq }) => [id, bytes, landedSeq]),
    [
      ['push a', 5, null],
      ['b', 7, null],
      ['push d', 11, 0],
    ],
  );
  t.match(after.reservations.of('zoë', null), { claimed: [{ bytes: 7 }], expected: [{ bytes: 16 }] });
  after.reservations.measured('/srv/git/zoë/\udcff.git', 1, 0, false);
  clock.pass(49_999);
  t.ok(after.reservations.claim('b'));
  clock.pass(1);
  t.equal(after.reservations.claim('b'), null);
  t.match(after.reservations.of('zoë', null), { claimed: [], expected: [{ bytes: 5 }] });
  after.reservations.release(after.reservations.all);
  await after.kept.save();
  t.notOk(existsSync(join(dataPath, 'reservations')), 'of nothing no file stays');
});

t.test('none lasts longer because the clock was set back', async t => {
  const dataPath = directoryFor(t);
  const before = begin(t, dataPath);
  hold(before, 'a', 5, 3600);
  await before.kept.close();
  clock.wallMs -= 86_400_000;
  const after = begin(t, dataPath);
  clock.monotonicMs += 3_600_000;
  t.equal(after.reservations.claim('a'), null);
});

t.test('a file that cannot be read or written is logged once, and stops nothing', async t => {
  const dataPath = directoryFor(t);
  const file = join(dataPath, 'reservations');
  writeFileSync(file, '{"id": "a"}\n');
  const life = begin(t, dataPath);
  t.match(life.logged, [{ file }]);
  t.strictSame(life.reservations.all, []);
  mkdirSync(`${file}.new`);
  writeFileSync(join(`${file}.new`, 'in the way'), '');
  hold(life, 'b', 5);
  await life.kept.save();
  await life.kept.save();
  t.equal(life.logged.length, 2);
  rmSync(`${file}.new`, { recursive: true });
  await life.kept.save();
  t.match(readFileSync(file, 'utf8'), /"id":"b"/);
});
