/** Lists of numbers by row, against a map. */

import fc from 'fast-check';
import t from 'tap';
import { PackedNumbers } from '../src/packed-numbers.ts';

const length = 8;
const anyNumber = fc.oneof(
  { weight: 3, arbitrary: fc.constant(0) },
  { weight: 2, arbitrary: fc.integer({ min: -5, max: Number.MAX_SAFE_INTEGER }) },
);
const anyList = fc.array(anyNumber, { minLength: length, maxLength: length });
const anyStep = fc.tuple(fc.nat(30), fc.option(anyList));

t.test('it holds what a map would hold, whatever comes and goes', async t => {
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 200 }), steps => {
      const packed = new PackedNumbers(length);
      const lists = new Map<number, readonly number[]>();
      for (const [row, list] of steps) {
        if (list === null) packed.delete(row);
        else packed.set(row, list);
        if (list === null) lists.delete(row);
        else lists.set(row, list);
        for (let each = 0; each <= 30; each += 1) {
          const [is, shall] = [packed.get(each), lists.get(each)];
          if (is?.join() !== shall?.join() || packed.has(each) !== lists.has(each)) return false;
          const odd = shall && (shall[1] ?? 0) + (shall[3] ?? 0) + (shall[5] ?? 0) + (shall[7] ?? 0);
          if (packed.sum(each, 0b10101010) !== odd) return false;
        }
      }
      return true;
    }),
  );
  t.pass();
});

t.test('a list is a copy, and one with nothing but 0 is there', async t => {
  const packed = new PackedNumbers(2);
  packed.set(3, [0, 0]);
  packed.get(3)?.fill(7);
  t.strictSame([packed.get(3), packed.get(2), packed.get(-1)], [[0, 0], undefined, undefined]);
  t.throws(() => new PackedNumbers(9), 'more places than a mask has');
});
