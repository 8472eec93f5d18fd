/** The rule by which a repository counts its objects, case by case, and its laws. */

import fc from 'fast-check';
import t from 'tap';
import { countObjects, quietSpanMs, UnitCounts } from '../../src/scan/counting.ts';
import { noSigns } from '../../src/scan/gitfiles.ts';
import { noQuarantines } from '../../src/scan/quarantine.ts';
import { nothingListed } from '../../src/scan/task.ts';

const hour = 3_600_000;
const longestStepMs = 30_000;

type ObjectsCount = NonNullable<Parameters<typeof countObjects>[0]>;
type ObjectsWalk = Parameters<typeof countObjects>[1];

const known: ObjectsCount = { bytes: 1000, isUnsure: false, moreSince: null, stepMs: 100 };

const quiet: ObjectsWalk = {
  bytes: 1000,
  signs: noSigns,
  quietMs: Number.POSITIVE_INFINITY,
  at: 0,
  milliseconds: 1,
  takenBytes: 0,
  hasEnded: false,
  isUnsure: false,
};

const fresh: ObjectsWalk = { ...quiet, quietMs: 4000 };
const packing: ObjectsWalk = { ...quiet, signs: { ...noSigns, isWriting: true } };

const bytesOf = (before: ObjectsCount | null, walk: ObjectsWalk): number =>
  countObjects(before, walk).count.bytes;

t.test('a quiet walk counts as it is, whether that is more or less', async t => {
  for (const bytes of [0, 999, 5000]) {
    const { count, againMs } = countObjects(known, { ...quiet, bytes });
    t.equal(count.bytes, bytes);
    t.equal(againMs, null);
  }
});

t.test('with any sign of a repack no more counts than pushes explain, and less counts at once', async t => {
  const signs = [{ isChanged: true }, { isWriting: true }, { isCollected: true }, { isMaintained: true }].map(
    sign => ({ ...quiet, signs: { ...noSigns, ...sign } }),
  );
  for (const walk of [...signs, fresh, { ...quiet, quietMs: -1 }, { ...quiet, hasEnded: true }]) {
    t.equal(bytesOf(known, { ...walk, bytes: 1900 }), 1000);
    t.equal(bytesOf(known, { ...walk, bytes: 1900, takenBytes: 300 }), 1300);
    t.equal(bytesOf(known, { ...walk, bytes: 1200, takenBytes: 300 }), 1200);
    t.equal(bytesOf(known, { ...walk, bytes: 400 }), 400);
    t.ok(countObjects(known, walk).againMs, 'and it is walked again');
  }
});

t.test('where packs came or went during the walk, nothing counts less for it', async t => {
  for (const walk of [packing, { ...packing, isUnsure: true }]) {
    const changed = { ...walk, signs: { ...walk.signs, arePacksChanged: true, isChanged: true } };
    t.equal(bytesOf(known, { ...changed, bytes: 10, takenBytes: 300 }), 1300);
  }
});

t.test('the first walk counts, and one after a push of unknown size', async t => {
  const walk = { ...packing, bytes: 5000 };
  t.equal(bytesOf(null, walk), 5000);
  t.equal(bytesOf({ ...known, isUnsure: true }, walk), 5000);
  t.equal(bytesOf(known, { ...walk, isUnsure: true }), 5000);
  const raced = { ...walk, bytes: 10, signs: { ...noSigns, isChanged: true, arePacksChanged: true } };
  const { count } = countObjects(null, raced);
  t.same(count, { ...count, bytes: 10, isUnsure: true });
  t.equal(bytesOf(count, walk), 5000, 'where it may have seen too little the next one is the first');
});

t.test('what walks see for an hour without a break counts', async t => {
  const later = (walk: ObjectsWalk, times: readonly number[]): readonly number[] => {
    let count = known;
    return times.map(at => {
      count = countObjects(count, { ...walk, at, bytes: at === 2 ? 1000 : 1500 }).count;
      return count.bytes;
    });
  };
  t.strictSame(later(packing, [0, hour - 1, hour]), [1000, 1000, 1500]);
  t.strictSame(later(packing, [0, 2, 3, hour, hour + 3]), [1000, 1000, 1000, 1000, 1500], 'from the break');
  const collected = { ...packing, signs: { ...noSigns, isCollected: true } };
  t.strictSame(later(collected, [0, hour, 12 * hour]), [1000, 1000, 1500], 'beside a living gc twelve');
});

t.test('it is walked again in growing steps, and once where only time is missing', async t => {
  let count: ObjectsCount | null = known;
  const steps: (number | null)[] = [];
  for (let walks = 0; walks < 12; walks++) {
    const counted = countObjects(count, packing);
    count = counted.count;
    steps.push(counted.againMs);
  }
  t.strictSame(steps.slice(0, 4), [100, 200, 400, 800]);
  t.equal(steps.at(-1), longestStepMs);
  t.equal(countObjects(count, { ...packing, takenBytes: 1 }).againMs, 100, 'a push begins anew');
  t.equal(countObjects(count, quiet).count.stepMs, 100);
  const again = countObjects(known, fresh).againMs ?? 0;
  t.ok(again > quietSpanMs - 4000 && again < quietSpanMs - 3800);
  t.equal(countObjects(known, { ...packing, milliseconds: 2000 }).againMs, 8000, 'a long walk has its rest');
});

t.test('laws: at most what walks saw or pushes explain, at least what is expected of a race', async t => {
  const flag = fc.boolean();
  const bytes = fc.integer({ min: 0, max: 1_000_000 });
  const walks = fc.record({
    bytes,
    signs: fc.record({
      quietMs: fc.constant(0),
      directories: fc.constant(''),
      isChanged: flag,
      arePacksChanged: flag,
      isWriting: flag,
      isCollected: flag,
      isMaintained: flag,
    }),
    quietMs: fc.integer({ min: -1000, max: 20_000 }),
    at: fc.integer({ min: 0, max: 20 * hour }),
    milliseconds: fc.integer({ min: 0, max: 1000 }),
    takenBytes: bytes,
    hasEnded: flag,
    isUnsure: flag,
  });
  const counts = fc.record({
    bytes,
    isUnsure: flag,
    moreSince: fc.option(fc.integer({ min: 0, max: 20 * hour })),
    stepMs: fc.integer({ min: 100, max: longestStepMs }),
  });
  fc.assert(
    fc.property(fc.option(counts), walks, (before, walk) => {
      const { count, againMs } = countObjects(before, walk);
      const expected = before === null ? walk.bytes : before.bytes + walk.takenBytes;
      t.ok(count.bytes <= Math.max(walk.bytes, expected));
      t.ok(count.bytes >= Math.min(walk.bytes, expected));
      if (walk.signs.arePacksChanged && before !== null) t.ok(count.bytes >= expected);
      if (againMs === null)
        t.equal(count.bytes, walk.signs.arePacksChanged ? Math.max(expected, walk.bytes) : walk.bytes);
      else t.ok(againMs >= 4 * walk.milliseconds && againMs <= Math.max(longestStepMs, 4000 + quietSpanMs));
      t.ok(count.stepMs <= longestStepMs);
    }),
  );
});

t.test('what a push brought counts though the walk after it could not read it', async t => {
  const walkedAgain: string[] = [];
  const pushes = { listed: () => [], walked: () => ({ takenBytes: 300, hasEnded: false, isUnsure: false }) };
  const counts = new UnitCounts(pushes, path => void walkedAgain.push(path));
  t.teardown(() => counts.close());
  const unit = { path: '/srv/a.git', kind: 'repos', owner: 'a', leaf: 'size:repos:private' } as const;
  const objects = { bytes: 900, signs: noSigns, before: noQuarantines, after: noQuarantines };
  const walked = {
    ...({ outcome: 'measured', unit, inner: [], bytes: 1000, files: 1, directories: 1, objects } as const),
    ...{ partial: false, unread: nothingListed, leftovers: nothingListed },
  };
  const start = (seq: number) => ({ seq, at: 0, monotonicMs: 0 });
  t.match(counts.take(walked, start(1), undefined), { bytes: 1000 });
  // With nothing read, a walk has the figure that the unit was known with, without its pushes.
  t.match(counts.take({ ...walked, partial: true }, start(2), 1000), { bytes: 1300 });
  const other = { ...objects, bytes: 1200 };
  const partly = { ...walked, partial: true, bytes: 1250, objects: other };
  t.match(counts.take(partly, start(3), 1000), { bytes: 1300 }, 'also where only other files are unread');
});
