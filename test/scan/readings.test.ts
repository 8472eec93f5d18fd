import t from 'tap';
import { Readings, type SizeReading } from '../../src/scan/readings.ts';

function certainAfter(
  ...readings: (Partial<SizeReading> & Pick<SizeReading, 'at' | 'bytes'>)[]
): number | null {
  const all = new Readings();
  for (const reading of readings)
    all.add({ certainBytes: reading.bytes, collectors: [], objectBytes: reading.bytes, ...reading });
  return all.certainBytes();
}

t.test('nothing is certain before two seconds have gone by', async t => {
  t.equal(certainAfter({ at: 0, bytes: 200 }), null);
  t.equal(certainAfter({ at: 0, bytes: 200 }, { at: 1999, bytes: 200 }), null);
  t.equal(certainAfter({ at: 0, bytes: 200 }, { at: 2000, bytes: 200 }), 200);
});

t.test('the least of the last two seconds is, and nothing of before', async t => {
  const rising = [0, 1000, 2000, 3000, 4000].map(at => ({ at, bytes: 200 + at }));
  t.equal(certainAfter(...rising), 2200);
  t.equal(certainAfter(...rising, { at: 5000, bytes: 2300, objectBytes: 5000 }), 2300);
});

t.test('while objects become fewer it takes six seconds', async t => {
  const falling = [0, 1000, 2000, 3000, 4000, 5000].map(at => ({ at, bytes: 10_000 - at }));
  t.equal(certainAfter(...falling), null);
  t.equal(certainAfter(...falling, { at: 6000, bytes: 4000 }), 4000);
  const refs = [0, 1000, 2000].map(at => ({ at, bytes: 10_000 - at, objectBytes: 500 }));
  t.equal(certainAfter(...refs), 8000, 'which refs are not');
});

t.test('one gc at work all the time leaves only what it cannot hold twice', async t => {
  const collected = { collectors: ['a'], certainBytes: 150 };
  t.equal(certainAfter({ at: 0, bytes: 300, ...collected }), null, 'of two looks');
  t.equal(
    certainAfter(
      { at: 0, bytes: 300, ...collected },
      { at: 100, bytes: 310, ...collected, certainBytes: 160 },
    ),
    150,
  );
  const long = [0, 2000, 4000, 6000, 8000].map(at => ({ at, bytes: 300, ...collected }));
  t.equal(certainAfter(...long), 150);
  t.equal(certainAfter(...long, { at: 8100, bytes: 170 }), 170, 'until it is over');
  t.equal(certainAfter(...long, { at: 8100, bytes: 310, collectors: ['b'], certainBytes: 200 }), 300);
});

t.test('however often a unit is walked, little is remembered', async t => {
  const readings = new Readings();
  for (let walk = 0; walk < 100_000; walk++)
    readings.add({ at: walk, bytes: walk, certainBytes: 0, collectors: [], objectBytes: walk });
  t.equal(readings.certainBytes(), 97_980);
  t.equal(readings.least(), 93_980);
});
