/** The book of one repository's pushes, in orders of events that git seldom shows. */

import t from 'tap';
import { PushBook, UnsureUnits } from '../../src/measuring/push-book.ts';
import type { FoundQuarantine } from '../../src/scan/index.ts';

const minute = 60_000;

function seen(bytes: number, more: Partial<FoundQuarantine> = {}): FoundQuarantine {
  return {
    name: 'tmp_objdir-incoming-aaaaaa',
    id: '1:2:3',
    bytes,
    sample: 'pack/pack-1.pack',
    bornAt: 0,
    isUnreadable: false,
    ...more,
  };
}

const { name } = seen(0);
const lines = `${'0'.repeat(40)} ${'1'.repeat(40)} refs/heads/main\n`;
const gone = (isTaken: boolean) => ({ there: [], gone: [{ name, isTaken }] });
const there = (quarantine: FoundQuarantine) => ({ there: [quarantine], gone: [] });

function pushed(): PushBook {
  const book = new PushBook();
  book.begin({ name, quarantine: seen(100), lines }, 10, 0);
  return book;
}

t.test('a push counts until a walk that began after its end, and brings what it had', async t => {
  const book = pushed();
  t.same(book.walked(12, 0), { takenBytes: 0, hasEnded: false, isUnsure: false });
  t.ok(book.saw(gone(true), 20, 0, 0));
  t.equal(book.bytes(0), 100);
  t.match(book.walked(19, 0), { takenBytes: 0, hasEnded: true }, 'a walk that began before');
  t.equal(book.bytes(0), 100);
  t.same(book.walked(21, 0), { takenBytes: 100, hasEnded: false, isUnsure: false });
  t.equal(book.bytes(0), 0);
  t.match(book.walked(22, 0), { takenBytes: 0 }, 'and only once');
});

t.test('a push that began after a walk may have ended during it', async t => {
  t.match(pushed().walked(9, 0), { hasEnded: true });
});

t.test('what is seen in a quarantine counts where it is more than was measured', async t => {
  const book = pushed();
  book.saw(there(seen(150)), 11, 0, 0);
  t.equal(book.bytes(0), 150);
  book.saw(there(seen(70)), 12, 0, 0);
  t.equal(book.bytes(0), 150);
});

t.test('a late look shows nothing that has ended', async t => {
  const book = pushed();
  book.saw(gone(true), 20, 0, 0);
  book.saw(there(seen(100)), 21, 0, 0);
  t.same(book.listed, []);
  book.walked(30, 0);
  book.saw(there(seen(100)), 31, 0, 0);
  t.same(book.listed, [], 'nor after the walk');
  book.saw(there(seen(100, { id: '1:2:4' })), 32, 0, 0);
  t.equal(book.listed.length, 1, 'but another one of this name is another one');
});

t.test('what was not taken counts after all if post-receive tells of it', async t => {
  const book = pushed();
  book.saw(gone(false), 20, 0, 0);
  t.equal(book.bytes(0), 0);
  t.ok(book.arrived(lines, 0));
  t.equal(book.bytes(0), 100, 'a repack has put its objects elsewhere');
  t.match(book.walked(30, 0), { takenBytes: 100 });
});

t.test('a late post-receive is known for a minute, of a push that has counted', async t => {
  for (const isTaken of [true, false]) {
    const book = pushed();
    book.saw(gone(isTaken), 20, 0, 0);
    book.walked(30, 0);
    t.equal(book.arrived(lines, minute - 1), isTaken);
    t.notOk(book.arrived(lines, minute - 1), 'once');
  }
  const book = pushed();
  book.saw(gone(true), 20, 0, 0);
  book.walked(30, 0);
  t.notOk(book.arrived(lines, minute + 1));
  t.notOk(pushed().arrived(lines.replace('main', 'other'), 0), 'and only of its own lines');
});

t.test('nobody knows what a push brought that nobody could read', async t => {
  const book = new PushBook();
  book.begin({ name, quarantine: null, lines }, 10, 0);
  t.same(book.unreadable, [name]);
  book.saw(gone(false), 20, 0, 0);
  t.match(book.walked(30, 0), { takenBytes: 0, isUnsure: true });
});

t.test('the age of a stray is told by its birth, or by the first look', async t => {
  const book = new PushBook();
  const wall = 1_000_000;
  book.saw(there(seen(5, { bornAt: wall - 59_000 })), 1, 500, wall);
  t.equal(book.bytes(500), 0);
  t.equal(book.bytes(1500), 5);
  const other = new PushBook();
  other.saw(there(seen(5, { bornAt: wall - 59_000 })), 1, 500, null);
  t.equal(other.bytes(1500), 0);
  t.equal(other.bytes(500 + minute), 5);
});

t.test('each walk counts as it is that saw something for the first time which nobody measured', async t => {
  const units = new UnsureUnits();
  units.add('a', 10);
  t.notOk(units.take('a', 9), 'a walk that began before');
  units.add('a', 20);
  t.ok(units.take('a', 15), 'one between the two');
  t.notOk(units.take('a', 16));
  t.ok(units.take('a', 21));
  t.notOk(units.take('a', 22));
  t.notOk(units.take('b', 22));
});
