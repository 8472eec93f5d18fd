/** JSON from strangers: the same values as JSON.parse gives, within bounds, and no number rounded. */

import fc from 'fast-check';
import t from 'tap';
import { JsonFault, mostDepth, readExactJson, readJson } from '../../src/bounded/index.ts';

const mostValues = 1000;
/** Reads the numbers of no longer text one by one. */
const mostExactCharacters = 64 * 1024;
const mistake = new JsonFault('it has a mistake, is cut short, or has more text after it');

t.test('every document is read as JSON.parse reads it', async t => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), text => {
      const written = JSON.stringify(JSON.parse(text), null, 1);
      t.strictSame(readJson(written, mostValues), JSON.parse(written));
    }),
  );
});

t.test('what is no JSON says so', async t => {
  for (const text of ['', '{', '[1', '{"a":1}}', '"a', '"\\', 'no', '[1,]', '\ufeff1']) {
    for (const read of [readJson, readExactJson]) t.throws(() => read(text, mostValues), mistake, text);
  }
});

t.test('a document may have so many levels, wherever brackets stand in its texts', async t => {
  const nested = (depth: number) => `${'[{"[\\"{":'.repeat(depth / 2)}"]}\\\\"${'}]'.repeat(depth / 2)}`;
  t.strictSame(readJson(nested(mostDepth), mostValues), JSON.parse(nested(mostDepth)));
  const tooDeep = new JsonFault('it is nested too deeply');
  for (const text of [nested(mostDepth + 2), '['.repeat(500_000), '{"a":'.repeat(5000)]) {
    t.throws(() => readJson(text, 1_000_000), tooDeep);
  }
});

t.test('a document may have so many values', async t => {
  const fault = new JsonFault('it has more than 1000 values');
  const list = (length: number) => `[${'0,'.repeat(length - 1)}",,["]`;
  t.ok(readJson(list(mostValues - 2), mostValues));
  for (const text of [list(mostValues), `[${'[],'.repeat(600)}0]`, `{${'"a":{},'.repeat(600)}"b":0}`]) {
    t.throws(() => readJson(text, mostValues), fault);
  }
});

t.test('a number that can be represented is what its text says, however it is written', async t => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), fc.constantFrom('', '.0', 'e0'), (value, end) => {
      if (Math.abs(value) >= 1e15 && end === 'e0') return;
      t.equal(readExactJson(`${value}${end}`, mostValues), value);
    }),
  );
  for (const [text, value] of [
    ['1e3', 1000],
    ['1.5E+1', 15],
    ['100e-2', 1],
    ['-0', -0],
    ['0e9', 0],
    ['9007199254740991.0', 2 ** 53 - 1],
    ['0.5', 0.5],
  ] as const) {
    t.equal(readExactJson(text, mostValues), value, text);
  }
});

t.test('a number that would be rounded is none', async t => {
  for (const number of [
    '9007199254740993',
    '1.0000000000000000001',
    '9007199254740991.4',
    '900719925474099.999999999999999',
    '1.00000000000000000001e3',
    '1e-400',
    `1${'0'.repeat(400)}`,
  ]) {
    t.strictSame(readExactJson(`{"limit":${number},"name":"1e5"}`, mostValues), {
      limit: Number.NaN,
      name: '1e5',
    });
    t.equal(readJson(number, mostValues), Number(number), 'where nobody minds');
  }
});

t.test('a long text is read where no number in it may be rounded', async t => {
  const filling = 'x e5 1e5 9007199254740993 '.repeat(mostExactCharacters / 20);
  const document = (number: string) => `{"limit":${number},"is":true,"text":${JSON.stringify(filling)}}`;
  for (const limit of [123_456_789_012_345, 2_000_000_000_000_000, Number.MAX_SAFE_INTEGER]) {
    t.match(readExactJson(document(`${limit}`), mostValues), { limit, is: true });
  }
  for (const number of ['9007199254740992', '12345678901234567', '0.12345678901234567', '1e5']) {
    t.throws(() => readExactJson(document(number), mostValues), /above 2\^53 - 1, with an exponent/);
  }
  t.throws(() => readExactJson('1'.repeat(2 * mostExactCharacters), mostValues), /above 2\^53 - 1/);
});
