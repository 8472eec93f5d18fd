import fc from 'fast-check';
import t from 'tap';
import { decodeValue, encodeValue } from '../../src/config/lines.ts';
import { configOf, faultsOf } from './written.ts';

/** Text after the `=`, the value that it means, and why. */
const cases: readonly (readonly [written: string, text: string, why: string])[] = [
  [
    ' Ask: https://git.example/quota#help',
    'Ask: https://git.example/quota#help',
    'a # in a word is no comment',
  ],
  [' a;b', 'a;b', 'a ; in a word is no comment'],
  ['#a', '#a', 'a # right after the = belongs to the value'],
  [' a # b', 'a', 'a # after a space begins a comment'],
  [' a\t; b', 'a', 'a ; after a tab begins a comment'],
  [' # b', '', 'a comment alone leaves nothing'],
  [' a \\# b', 'a # b', 'an escaped # begins no comment'],
  [' a\\\\b', 'a\\b', 'two backslashes are one'],
  [' a\\b', 'a\\b', 'one backslash before a letter stays'],
  [' "a # b" # c', 'a # b', 'quotes hold anything, and a comment may follow'],
  [' "a \\"b\\" \\u0063"', 'a "b" c', "double quotes have JSON's escapes"],
  [' "a\tb"', 'a\tb', 'a tab may stand in double quotes'],
  [' \'a \\ "b" # c\' ; d', 'a \\ "b" # c', 'in single quotes all stands for itself'],
  [' "  a "', '  a ', 'quotes keep white space'],
  [' true', 'true', 'true is a text until its key says otherwise'],
  [" '5'", '5', 'a quoted number is a text'],
  [' "null"', 'null', 'so is null'],
  [' a = b', 'a = b', 'only the first = divides'],
  [' a\u2028b # c', 'a\u2028b', 'a line separator ends no line'],
  [' a "b', 'a "b', 'a quotation mark inside is a character'],
];

t.test('a value is read as the manual says', async t => {
  for (const [written, text, why] of cases) t.same(decodeValue(written), { ok: true, value: text }, why);
});

t.test('quotes that do not hold a value are refused, not guessed at', async t => {
  t.match(decodeValue(' "a'), { ok: false, problem: 'a quotation mark that is not closed' });
  t.match(decodeValue(" 'tis"), { ok: false, problem: 'a quotation mark that is not closed' });
  t.match(decodeValue(' "a", "b"'), { ok: false, problem: /^text after the closing quotation mark/ });
  t.match(decodeValue(' "a"#b'), { ok: false, problem: /^text after the closing quotation mark/ });
  t.match(decodeValue(' "C:\\dir"'), { ok: false, problem: /^an unknown escape/ });
});

t.test('any text that is written is read as the same text, on one line without controls', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string(), (text, comment) => {
      const written = encodeValue(text);
      const decoded = decodeValue(` ${written}  # ${comment}`);
      return decoded.ok && decoded.value === text && !/[\p{Cc}\p{Zl}\p{Cs}]/u.test(written);
    }),
    { numRuns: 2000 },
  );
});

t.test('capitals do not matter in names, line ends and a byte order mark do not matter at all', async t => {
  const ini = '\uFEFF[QUOTA]\r\n  enabled=on\r\n\r\n [ Quota.Default ] ; here\r\nTotal\t= 5 MB # there\r\n';
  const { quota } = configOf(t, ini);
  t.match(quota, { enabled: true, totalBytes: 5_000_000 });
});

t.test('a section may go on further below', async t => {
  const { quota } = configOf(t, '[quota]\nENABLED = 1\n[log]\n[quota]\nMODE = Report\n');
  t.match(quota, { enabled: true, mode: 'report' });
});

t.test('what is neither heading nor setting is named with its line', async t => {
  const ini = 'nonsense\n[quota\nENABLED = maybe\n[quota]\n= 5\nENABLED : true\n[log] x\nLEVEL\n';
  t.same(faultsOf(t, ini), [
    'app.ini:1: not a [section] and not KEY = value.',
    'app.ini:2: not a heading. Write [section].',
    'app.ini:5: not a [section] and not KEY = value.',
    'app.ini:6: not a [section] and not KEY = value.',
    'app.ini:7: not a heading. Write [section].',
    'app.ini:8: not a [section] and not KEY = value.',
  ]);
});

t.test('a control character is named and never printed', async t => {
  t.same(faultsOf(t, '[hooks]\nCONTACT = a\u001b[2Jb\n# \0\n'), [
    'app.ini:2: a control character U+001b. Write plain text in UTF-8.',
    'app.ini:3: a NUL character. Write plain text in UTF-8.',
  ]);
});
