import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import t from 'tap';
import { formatBytes, formatUse, parseSize, wholePercent, writeSize } from '../src/text.ts';

// The shape is that of the file, which the cases below walk through whole.
const vectors: { readonly sizes: readonly { readonly text: string; readonly bytes: number | 'error' }[] } =
  JSON.parse(readFileSync(new URL('./vectors/config.json', import.meta.url), 'utf8'));

/** Bytes, or the reason why there are none. */
function read(text: string): number | string {
  const size = parseSize(text);
  return size.ok ? size.value : size.problem;
}

t.test('every recorded size is read as recorded', async t => {
  t.ok(vectors.sizes.length > 0);
  for (const { text, bytes } of vectors.sizes) {
    const size = parseSize(text);
    t.equal(size.ok ? size.value : 'error', bytes, JSON.stringify(text));
  }
});

t.test('a size may leave digits out on one side of the point, have leading zeros, and commas', async t => {
  t.equal(read('.5G'), 500_000_000);
  t.equal(read('1.G'), 1_000_000_000);
  t.equal(read('007k'), 7000);
  t.equal(read('0,001,024KiB'), 1_048_576);
  t.equal(read('1,234.5 k'), 1_234_500);
  t.equal(read('0.000'), 0);
  t.equal(read(`${'0'.repeat(400)}5`), 5);
});

t.test('what is no size is refused with the reason', async t => {
  for (const text of [
    '.',
    ',500',
    '1,00',
    '1,0000',
    '1.000,5',
    '1.5.G',
    'G5',
    '5 G B',
    '5iB',
    '\u212a',
    '1\u212a',
    '5\u00a0G',
  ]) {
    t.equal(read(text), 'not a size', JSON.stringify(text));
  }
  t.equal(read(' '), 'empty');
  t.match(read('-2'), /only -1 \(no limit\)/);
  t.match(read('- 1'), /only -1/);
  t.match(read('8EiB'), /at most 9007199254740991 bytes/);
});

t.test('fractions of a byte are dropped, but a size above 0 never becomes 0', async t => {
  t.equal(read('1.9999999999999999999'), 1);
  t.equal(read('0.0019k'), 1);
  t.equal(read('0.9'), 'less than a byte, but more than 0');
  t.equal(read('.0009k'), 'less than a byte, but more than 0');
});

t.test('the largest size is read to the byte, however it is written', async t => {
  t.equal(read('9,007,199,254,740,991'), Number.MAX_SAFE_INTEGER);
  t.equal(read('9007199254740.991k'), Number.MAX_SAFE_INTEGER);
  t.equal(read('9.007199254740991P'), Number.MAX_SAFE_INTEGER);
  t.equal(read('9007199254740991.999'), Number.MAX_SAFE_INTEGER);
  t.match(read('9.007199254740992P'), /too large/);
});

t.test('a size is exact: no digit of it passes through a rounded number', async () => {
  const digits = fc.stringMatching(/^[0-9]{1,12}$/);
  const unit = fc.constantFrom(['', 1n], ['kB', 1000n], ['Mi', 1048576n], ['g', 10n ** 9n] as const);
  fc.assert(
    fc.property(fc.nat(9_000_000), digits, unit, (whole, fraction, [written, factor]) => {
      const scale = 10n ** BigInt(fraction.length);
      const scaled = (BigInt(whole) * scale + BigInt(fraction)) * BigInt(factor);
      fc.pre(scaled === 0n || scaled >= scale);
      return read(`${whole}.${fraction} ${written}`) === Number(scaled / scale);
    }),
  );
});

t.test('bytes are shown to about three digits, in powers of 1000', async t => {
  const shown: readonly (readonly [number, string])[] = [
    [0, '0 B'],
    [1, '1 B'],
    [999, '999 B'],
    [1000, '1 kB'],
    [1049, '1.05 kB'],
    [8_100_000_000, '8.1 GB'],
    [10_000_000_000, '10 GB'],
    [12_400_000_000, '12.4 GB'],
    [124_000_000_000, '124 GB'],
    [124_449_000_000, '124 GB'],
    [999_499, '999 kB'],
    [999_500, '1 MB'],
    [999_999, '1 MB'],
    [999_999_999_999, '1 TB'],
    [Number.MAX_SAFE_INTEGER, '9.01 PB'],
    [-5_300_000, '-5.3 MB'],
  ];
  for (const [bytes, text] of shown) t.equal(formatBytes(bytes), text);
});

/** Largest numbers that can be read after they were rounded up. */
const readable = fc.maxSafeNat().map(bytes => Math.min(bytes, 9_000_000_000_000_000));

t.test('what is shown can be read again, and is near what was meant', async () => {
  fc.assert(
    fc.property(fc.oneof(readable, fc.nat(2_000_000)), bytes => {
      const again = read(formatBytes(bytes));
      return typeof again === 'number' && Math.abs(again - bytes) <= bytes * 0.005;
    }),
  );
});

t.test('more bytes are never shown as less', async () => {
  const near = fc
    .tuple(fc.nat(15), fc.integer({ min: -600, max: 600 }))
    .map(([power, off]) => 10 ** power + off);
  const bytes = fc.oneof(readable, near).map(each => Math.max(0, each));
  fc.assert(
    fc.property(bytes, bytes, (one, other) => {
      const [less, more] = one < other ? [one, other] : [other, one];
      return Number(read(formatBytes(less))) <= Number(read(formatBytes(more)));
    }),
  );
});

t.test('usage beside its limit reads like the two sizes and a percentage', async t => {
  const use = (used: number, limit: number) => Object.values(formatUse(used, limit)).join(' | ');
  t.equal(use(12_400_000_000, 10_000_000_000), '12.4 GB | 10 GB | 124 %');
  t.equal(use(9_200_000_000, 10_000_000_000), '9.2 GB | 10 GB | 92 %');
  t.equal(use(0, 10), '0 B | 10 B | 0 %');
  t.equal(use(10, 10), '10 B | 10 B | 100 %');
  t.equal(use(1_000_000_000_000, 1), '1 TB | 1 B | 100,000,000,000,000 %');
});

t.test('usage that differs from its limit never reads like it', async t => {
  const use = (used: number, limit: number) => Object.values(formatUse(used, limit)).join(' | ');
  t.equal(use(10_040_000_000, 10_000_000_000), '10.04 GB | 10 GB | over 100 %');
  t.equal(use(10_004_000_000, 10_000_000_000), '10.004 GB | 10 GB | over 100 %');
  t.equal(use(10_000_010_000, 10_000_000_000), '10,000,010,000 B | 10,000,000,000 B | over 100 %');
  t.equal(use(10_000_000_001, 10_000_000_000), '10,000,000,001 B | 10,000,000,000 B | over 100 %');
  t.equal(use(9_999_999_999, 10_000_000_000), '9,999,999,999 B | 10,000,000,000 B | 99 %');
  t.equal(use(999_995, 1_000_000), '999,995 B | 1,000,000 B | 99 %');
  t.equal(use(1, 1_000_000), '1 B | 1 MB | under 1 %');
  const bytes = fc.oneof(fc.maxSafeNat(), fc.nat(3000)).filter(each => each > 0);
  fc.assert(
    fc.property(bytes, bytes, fc.integer({ min: -3, max: 3 }), (limit, other, off) =>
      [other, limit + off].every(used => {
        fc.pre(used >= 0 && used <= Number.MAX_SAFE_INTEGER);
        const shown = formatUse(used, limit);
        const equal = used === limit;
        return (shown.used === shown.limit) === equal && (shown.percent === '100 %') === equal;
      }),
    ),
  );
});

t.test('a percentage is exact, and rounded down', async t => {
  t.equal(wholePercent(2_900_000_000, 10_000_000_000), 29);
  t.equal(wholePercent(57, 100), 57);
  t.equal(wholePercent(999, 1000), 99);
  t.equal(wholePercent(Number.MAX_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER), 99);
  const limits = fc.oneof(fc.maxSafeNat(), fc.nat(3000)).filter(each => each > 0);
  fc.assert(
    fc.property(
      limits,
      fc.oneof(fc.maxSafeNat(), fc.nat(3000)),
      (limit, used) => wholePercent(used, limit) === Number((BigInt(used) * 100n) / BigInt(limit)),
    ),
  );
});

t.test('without a limit, and of a limit of 0, there is no percentage', async t => {
  t.same(formatUse(5000, -1), { used: '5 kB', limit: 'unlimited', percent: '-' });
  t.same(formatUse(5000, 0), { used: '5 kB', limit: '0 B', percent: '-' });
  t.same(formatUse(0, 0), { used: '0 B', limit: '0 B', percent: '-' });
});

t.test('a size is written as short as it can be and still be read as the same', async t => {
  t.equal(writeSize(10_000_000_000), '10 GB');
  t.equal(writeSize(1.5 * 1024 ** 3), '1.5 GiB');
  t.equal(writeSize(12_345_678), '12345678 B');
  t.equal(writeSize(-1), '-1');
  const bytes = fc.oneof(fc.maxSafeNat(), fc.nat(5000), fc.constant(-1));
  fc.assert(fc.property(bytes, size => t.same(parseSize(writeSize(size)), { ok: true, value: size })));
});
