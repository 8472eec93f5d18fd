import fc from 'fast-check';
import t from 'tap';
import { nameFault, ownerKey } from '../../src/quota/index.ts';
import { printable } from '../../src/text.ts';

const text = fc.string({ unit: 'binary' });

t.test('owners are the same whose names differ only in the case of ASCII letters', async t => {
  t.equal(ownerKey('Alice', true), ownerKey('aLICE', true));
  t.not(ownerKey('Alice', false), ownerKey('alice', false));
  t.not(ownerKey('Émile', true), ownerKey('émile', true), 'other letters keep their case');
  t.not(ownerKey('ISTANBUL', true), ownerKey('\u0131stanbul', true));
});

t.test('owners are the same whose names are written with composed or with combining characters', async t => {
  t.equal(ownerKey('e\u0301mile', false), ownerKey('\u00e9mile', false));
  t.equal(ownerKey('\u212aai', true), 'kai', 'the Kelvin sign is the letter K');
});

t.test('the key of a key is itself', async t => {
  t.equal(ownerKey('H\u0331', true), ownerKey('\u1e96', true));
  fc.assert(
    fc.property(
      text,
      fc.boolean(),
      (name, fold) => ownerKey(ownerKey(name, fold), fold) === ownerKey(name, fold),
    ),
  );
});

t.test('ordinary names of any script can be taken, and so can format characters', async t => {
  for (const name of [
    'alice',
    '...',
    '.a',
    'Ж',
    '組織',
    'a b',
    ' a',
    'a\u202eb',
    'a/b',
    '-',
    '🦊'.repeat(255),
  ]) {
    t.equal(nameFault(name), null, JSON.stringify(name));
  }
});

t.test('a name that cannot be taken is told why', async t => {
  const faults: readonly (readonly [string, RegExp])[] = [
    ['', /empty/],
    [' ', /only spaces/],
    ['\u3000\u00a0', /only spaces/],
    ['.', /directory/],
    ['..', /directory/],
    ['a\u0000', /control/],
    ['a\n', /control/],
    ['a\u007f', /control/],
    ['a\u0085', /control/],
    ['a\ud800', /Unicode/],
    ['x'.repeat(256), /longer than 255/],
  ];
  for (const [name, why] of faults) t.match(nameFault(name), why, JSON.stringify(name));
});

t.test('what could mislead on a terminal is shown escaped, everything else as it is', async t => {
  const shown: readonly (readonly [string, string])[] = [
    ['alice', 'alice'],
    ['Ünïcödé 組織 Ж 🦊 "quoted" \\ %', 'Ünïcödé 組織 Ж 🦊 "quoted" \\ %'],
    ['e\u0301', 'e\u0301'],
    ['\u001b[31mred', '\\u{1b}[31mred'],
    ['a\nb\tc\u0000', 'a\\u{a}b\\u{9}c\\u{0}'],
    ['\u007f\u009b', '\\u{7f}\\u{9b}'],
    ['ecila\u202e', 'ecila\\u{202e}'],
    ['\u061c\u200e\u200f\u2066\u2069', '\\u{61c}\\u{200e}\\u{200f}\\u{2066}\\u{2069}'],
    ['a\u2028b\u2029c', 'a\\u{2028}b\\u{2029}c'],
    ['al\u200bi\u200dce\ufeff', 'al\\u{200b}i\\u{200d}ce\\u{feff}'],
    ['alice\u3164\ufe0f\u00ad', 'alice\\u{3164}\\u{fe0f}\\u{ad}'],
    ['\u{e0061}', '\\u{e0061}'],
    ['a\udc80b\ud800', 'a\\u{dc80}b\\u{d800}'],
  ];
  for (const [from, to] of shown) t.equal(printable(from), to);
});
