/** The first bytes of zlib streams, as zlib itself inflates them. */

import { randomBytes } from 'node:crypto';
import { constants, deflateSync, inflateSync } from 'node:zlib';
import fc from 'fast-check';
import t from 'tap';
import { DamagedStream, inflateStart } from '../../src/scan/inflated-start.ts';

const { Z_DEFAULT_STRATEGY, Z_FILTERED, Z_FIXED, Z_HUFFMAN_ONLY, Z_RLE } = constants;

/** Contents that come to blocks of all kinds, with copies near and far. */
const contents = fc.oneof(
  fc.uint8Array({ maxLength: 600 }),
  fc.array(fc.constantFrom(0x80, 0x90, 4, 1), { maxLength: 3000 }).map(bytes => Uint8Array.from(bytes)),
  fc.integer({ min: 0, max: 70_000 }).map(length => randomBytes(length)),
  fc
    .tuple(fc.string(), fc.integer({ min: 0, max: 2000 }))
    .map(([text, times]) => Buffer.from(text.repeat(times))),
);

t.test('the first bytes of a stream are those that zlib makes of it', async t => {
  fc.assert(
    fc.property(
      contents,
      fc.integer({ min: -1, max: 9 }),
      fc.constantFrom(Z_DEFAULT_STRATEGY, Z_FILTERED, Z_FIXED, Z_HUFFMAN_ONLY, Z_RLE),
      fc.integer({ min: 0, max: 40 }),
      (content, level, strategy, length) => {
        const deflated = deflateSync(content, { level, strategy });
        const output = new Uint8Array(length);
        const count = inflateStart(Buffer.concat([Buffer.alloc(3), deflated]), 3, output);
        return Buffer.from(content.subarray(0, length)).equals(output.subarray(0, count));
      },
    ),
    { numRuns: 500 },
  );
  t.pass();
});

t.test('a damaged stream gives an error, or what zlib makes of it', async t => {
  const inflated = (input: Buffer): Buffer | null => {
    try {
      return inflateSync(input, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: 1_000_000 });
    } catch {
      return null;
    }
  };
  fc.assert(
    fc.property(contents, fc.nat(), fc.nat(255), (content, at, byte) => {
      const input = deflateSync(content);
      input[at % Math.min(input.length, 100)] = byte;
      const output = new Uint8Array(20);
      try {
        const whole = inflated(input);
        const count = inflateStart(input, 0, output);
        return whole === null || whole.subarray(0, 20).equals(output.subarray(0, count));
      } catch (error) {
        return error instanceof DamagedStream;
      }
    }),
    { numRuns: 2000 },
  );
  for (const input of ['', '78', '789c', '789c07', '789d03', '78bb0000', '7801010500faff61'])
    t.throws(() => inflateStart(Buffer.from(input, 'hex'), 0, new Uint8Array(20)), new DamagedStream());
});
