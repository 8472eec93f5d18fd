import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { decodeWtf8, encodeWtf8 } from '../src/wtf8.ts';
import { oddStrings } from './store/records.ts';

const anyCodes = fc.array(
  fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.integer({ min: 0xd7f0, max: 0xe010 })),
);

t.test('every string comes back as it was', async () => {
  for (const text of oddStrings) assert.equal(decodeWtf8(encodeWtf8(text)), text);
  fc.assert(
    fc.property(anyCodes, codes => {
      const text = String.fromCharCode(...codes);
      assert.equal(decodeWtf8(encodeWtf8(text)), text);
    }),
    { numRuns: 2000 },
  );
});

t.test('a name without lone surrogates is kept as UTF-8, which other tools can read', async t => {
  for (const text of ['alice', 'Ünïcödé', '😀', 'a\0b']) {
    t.strictSame(Buffer.from(encodeWtf8(text)), Buffer.from(text, 'utf8'));
  }
  t.equal(Buffer.from(encodeWtf8('a\udcffb')).toString('hex'), '61edb3bf62');
});

t.test('bytes are a string in one way only, or in none', async t => {
  const none = [
    'ff',
    'c3',
    'c080',
    'eda0',
    'eda0bdedb880',
    'ed80',
    'f0808080',
    'edb3bfff',
    'ededb3bf',
    'f4908080',
  ];
  for (const hex of none) t.equal(decodeWtf8(Buffer.from(hex, 'hex')), null, hex);
  const nearby = fc.oneof(
    fc.integer({ min: 0, max: 255 }),
    fc.constantFrom(0xed, 0xa0, 0xb0, 0x80, 0xbf, 0xef),
  );
  fc.assert(
    fc.property(fc.array(nearby), bytes => {
      const text = decodeWtf8(Uint8Array.from(bytes));
      if (text !== null) assert.deepEqual([...encodeWtf8(text)], bytes);
    }),
    { numRuns: 2000 },
  );
});
