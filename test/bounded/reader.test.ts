/**
 * JSON from strangers: the same values as JSON.parse gives, within bounds, and without a step that takes
 * long.
 */

import { deepStrictEqual, strictEqual } from 'node:assert';
import fc from 'fast-check';
import t from 'tap';
import {
  exactNumber,
  Inexact,
  JsonFault,
  mostCharacters,
  mostDepth,
  mostInARow,
  mostNames,
  readJson,
  readJsonInSlices,
} from '../../src/bounded/index.ts';
import { isLong } from '../run-length.ts';

const options = { number: Number, mostValues: 1_000_000 };

/** Undefined: it is no JSON. */
function byEngine(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function byReader(text: string): unknown {
  try {
    return readJson(text, options);
  } catch (error) {
    if (error instanceof JsonFault) return undefined;
    throw error;
  }
}

t.test('every document is read as JSON.parse reads it', async () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), fc.constantFrom(undefined, 1, '\t'), (text, indent) => {
      const written = JSON.stringify(JSON.parse(text), null, indent);
      deepStrictEqual(byReader(written), JSON.parse(written));
    }),
  );
});

t.test('whatever characters come, it takes exactly what JSON.parse takes', async t => {
  const pieces = [
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '\\',
    '\\u00',
    '41',
    '0',
    '1',
    '-',
    '.',
    'e',
    'E',
    '+',
    ' ',
    '\n',
  ];
  const more = [
    'true',
    'nul',
    'null',
    'a',
    '\0',
    '\u2028',
    '\ud800',
    '"a"',
    '"__proto__"',
    '\ufeff',
    '\v',
    '\u00a0',
  ];
  const text = fc.array(fc.constantFrom(...pieces, ...more), { maxLength: 9 }).map(parts => parts.join(''));
  fc.assert(
    fc.property(text, written => {
      deepStrictEqual(byReader(written), byEngine(written));
    }),
    { numRuns: isLong ? 1_000_000 : 20_000 },
  );
  for (const written of [
    '"\\"',
    '"\\',
    '"\\u12"',
    '01',
    '-',
    '1.',
    '.5',
    '1e',
    '1e+',
    '[,]',
    '[1,]',
    '{"a"}',
    '{"a":1,}',
    '',
  ]) {
    t.equal(byReader(written), undefined, written);
    t.equal(byEngine(written), undefined, written);
  }
});

t.test('of a name that comes twice the last one holds, and __proto__ is a name like any other', async t => {
  t.strictSame(readJson('{"a":1,"a":2}', options), { a: 2 });
  const read = readJson('{"__proto__":{"is":1}}', options);
  t.strictSame(Object.entries(Object(read)), [['__proto__', { is: 1 }]]);
});

t.test('a document has at most so many levels and values, and a fault quotes nothing of it', async t => {
  const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
  t.ok(readJson(nested(mostDepth), options));
  t.throws(() => readJson(nested(mostDepth + 1), options), new JsonFault('it is nested too deeply'));
  t.throws(() => readJson('{"a":'.repeat(5000), options), new JsonFault('it is nested too deeply'));
  t.strictSame(readJson('[1,2]', { ...options, mostValues: 3 }), [1, 2]);
  t.throws(
    () => readJson('[1,2,3]', { ...options, mostValues: 3 }),
    new JsonFault('it has more than 3 values'),
  );
  await t.rejects(readJsonInSlices('{"secret', options), { message: /^it has a mistake/ });
});

t.test('a text, a number, blanks in a row and the names of an object have a bound', async t => {
  for (const [what, most, written] of [
    ['text', mostCharacters, (length: number) => `"${'x'.repeat(length)}"`],
    ['text', mostCharacters, (length: number) => `"${'\\\\'.repeat(length / 2)}"`],
    ['text', mostCharacters, (length: number) => `"${'\\"'.repeat(length / 2)}"`],
    ['number', mostInARow, (length: number) => '7'.repeat(length)],
    ['run of blanks', mostInARow, (length: number) => `[1${' '.repeat(length)}]`],
  ] as const) {
    t.not(readJson(written(most), options), undefined);
    t.throws(
      () => readJson(written(most + 2), options),
      new JsonFault(`a ${what} has more than ${most} characters`),
    );
  }
  const named = (count: number) => `{${Array.from({ length: count }, (_, n) => `"${n}":0`).join(',')}}`;
  t.strictSame(
    readJson(`[${named(mostNames)},${named(2)}]`, options),
    JSON.parse(`[${named(mostNames)},${named(2)}]`),
  );
  t.throws(
    () => readJson(named(mostNames + 1), options),
    new JsonFault('an object has more than 10000 names'),
  );
});

t.test('a long document is read in slices, and others get their turn between them', async t => {
  for (const written of [
    `[${'{"a":[]},'.repeat(300_000)}0]`,
    `[${`"${'\\u0041'.repeat(30_000)}",`.repeat(150)}0]`,
    `[${`${' '.repeat(200_000)}0,`.repeat(40)}0]`,
  ]) {
    let turns = 0;
    let next = setImmediate(function again() {
      turns++;
      next = setImmediate(again);
    });
    t.strictSame(await readJsonInSlices(written, options), JSON.parse(written));
    clearImmediate(next);
    t.ok(turns >= 10, `${turns} turns`);
  }
});

t.test('a number is what its text says, or no number', async t => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), value => {
      strictEqual(exactNumber(JSON.stringify(value)), value + 0);
    }),
  );
  fc.assert(fc.property(fc.maxSafeInteger(), value => strictEqual(exactNumber(String(value)), value)));
  for (const [text, value] of [
    ['1e3', 1000],
    ['100.0', 100],
    ['1E+2', 100],
    ['0.5', 0.5],
    ['0e9', 0],
    [`1.${'0'.repeat(98)}`, 1],
  ] as const) {
    t.equal(exactNumber(text), value, text);
  }
  for (const text of [
    '9007199254740993',
    '1.0000000000000000001',
    '1e400',
    '1e-400',
    `1.${'0'.repeat(99)}`,
  ]) {
    t.type(exactNumber(text), Inexact, text);
  }
});

t.test('a number of a million characters costs no more than its length', async t => {
  const before = process.threadCpuUsage();
  const many = 1_000_000;
  for (const text of [`1${'0'.repeat(many)}1`, `0.${'0'.repeat(many)}1`, '9'.repeat(many)]) {
    t.type(readJson(text, { ...options, number: exactNumber }), Inexact);
  }
  const { user, system } = process.threadCpuUsage(before);
  t.ok(user + system < 500_000, `${user + system} µs`);
});
