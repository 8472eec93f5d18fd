import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import t from 'tap';
import { decodePath, encodePath } from '../../src/layout/index.ts';
import { canonicalPath } from '../../src/layout/path.ts';
import { emptyDirectory } from './world.ts';

/** Bytes that are often, but not always, nearly UTF-8. */
const names = fc
  .array(
    fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 3 }),
      fc.string({ unit: 'binary', maxLength: 3 }).map(text => Buffer.from(text)),
      fc.constantFrom(Buffer.of(0xed, 0xb2, 0x80), Buffer.of(0xf0, 0x9f, 0x98), Buffer.of(0xc0, 0x80)),
    ),
  )
  .map(parts => Buffer.concat(parts));

t.test('every sequence of bytes is a path, and leads back to the same bytes', async () => {
  fc.assert(
    fc.property(names, bytes => {
      const path = decodePath(bytes);
      assert.deepEqual(Buffer.from(encodePath(path)), bytes);
      assert.equal(path.isWellFormed(), typeof encodePath(path) === 'string');
    }),
    { numRuns: 1000 },
  );
});

t.test('what is UTF-8 reads as it is, a byte order mark included', async t => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), text => {
      assert.equal(decodePath(Buffer.from(text)), text);
      assert.equal(encodePath(text), text);
    }),
  );
  t.equal(decodePath(Buffer.from('\ufeffa')), '\ufeffa');
});

t.test('bytes that are not UTF-8 stand as lone surrogates, each for itself', async t => {
  t.equal(decodePath(Buffer.of(0x61, 0xff, 0xc3, 0xa9, 0xc3)), 'a\udcffé\udcc3');
  t.equal(decodePath(Buffer.of(0xed, 0xb2, 0x80)), '\udced\udcb2\udc80');
});

t.test('a view into a larger buffer is read as itself alone', async t => {
  t.equal(decodePath(Buffer.from('xabcx').subarray(1, 4)), 'abc');
});

t.test('a file with any name can be found again on the disk', async t => {
  const directory = emptyDirectory(t);
  const path = `${directory}/b\udcff\udc80é`;
  writeFileSync(encodePath(path), '');
  t.same(readdirSync(directory, { encoding: 'buffer' }).map(decodePath), ['b\udcff\udc80é']);
});

t.test('a lone surrogate that stands for no byte names nothing', async t => {
  for (const path of ['/a\ud800', '/a\udc7f', '/a\udd00', '/\udbffx']) {
    t.throws(() => encodePath(path), { code: 'bad_parameter' });
    t.equal(canonicalPath(path), null);
  }
  t.equal(canonicalPath('/a\0b'), null);
  t.equal(canonicalPath('/😀'), '/😀');
});

t.test('a path that spells by surrogates what is UTF-8 has one canonical spelling', async t => {
  t.equal(canonicalPath('/\udcc3\udca9'), '/é');
  t.equal(canonicalPath('/\udcc3/\udca9'), '/\udcc3/\udca9');
});
