import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { type Cache, openCache, prepareCache } from '../../src/scan/cache.ts';
import { gathering } from '../../src/scan/gathering.ts';
import { addDirectory, carryOver, newSums, type Sums, totalOfSums } from '../../src/scan/sums.ts';
import { temporary } from './world.ts';

function file(t: Test): string {
  return join(temporary(t), 'scan.db');
}

function open(t: Test, path: string, faults: string[] = []): Cache {
  const cache = openCache(path, why => faults.push(why));
  t.teardown(() => cache.close());
  return cache;
}

function sumsOf(bytes: Record<string, number>): Sums {
  const sums = newSums();
  addDirectory(sums, -1, '');
  for (const [name, count] of Object.entries(bytes)) sums.bytes[addDirectory(sums, 0, name)] = count;
  return sums;
}

t.test('what is remembered of a unit is given back, whatever bytes its names are', async t => {
  const path = file(t);
  t.equal(prepareCache(path), null);
  const cache = open(t, path);
  const units = ['/srv/a.git', '/srv/\udcff.git', '/srv/\udc80.git', '/srv/\ufffd.git'];
  for (const [index, unit] of units.entries()) cache.write(unit, sumsOf({ '\udce9"\\\n': index, ü: 1 }));
  for (const [index, unit] of units.entries()) {
    t.same(cache.read(unit), sumsOf({ '\udce9"\\\n': index, ü: 1 }), 'by this thread');
    t.same(open(t, path).read(unit), sumsOf({ '\udce9"\\\n': index, ü: 1 }), 'and by another one');
  }
  t.equal(cache.read('/srv/b.git'), null);
});

t.test('a unit is written only where something changed', async t => {
  const path = file(t);
  prepareCache(path);
  const cache = open(t, path);
  cache.write('/a', sumsOf({ a: 1 }));
  const { size } = statSync(`${path}-wal`);
  for (let again = 0; again < 10; again++) cache.write('/a', sumsOf({ a: 1 }));
  t.equal(statSync(`${path}-wal`).size, size);
  cache.write('/a', sumsOf({ a: 2 }));
  t.ok(statSync(`${path}-wal`).size > size);
});

t.test('what is written together is there, and what fails of it fails nothing', async t => {
  const path = file(t);
  prepareCache(path);
  const faults: string[] = [];
  const cache = gathering(open(t, path, faults));
  for (let unit = 0; unit < 10; unit++) cache.write(`/${unit}`, sumsOf({ a: unit }));
  t.equal(open(t, path).read('/9'), null, 'it is gathered');
  cache.flush();
  for (let unit = 0; unit < 10; unit++) t.same(open(t, path).read(`/${unit}`), sumsOf({ a: unit }));
  const other = new DatabaseSync(path);
  t.teardown(() => other.close());
  other.exec('BEGIN IMMEDIATE');
  cache.write('/a', sumsOf({ a: 1 }));
  cache.flush();
  t.match(faults, [/locked/]);
  other.exec('ROLLBACK');
  cache.write('/b', sumsOf({ a: 1 }));
  cache.flush();
  t.not(cache.read('/b'), null);
  for (let unit = 0; unit < 6000; unit++) cache.write(`/many ${unit}`, sumsOf({}));
  t.not(open(t, path).read('/many 0'), null, 'no more is gathered than takes little room');
});

t.test('units that are not to be kept are forgotten', async t => {
  const path = file(t);
  prepareCache(path);
  const cache = open(t, path);
  for (const unit of ['/a', '/\udcff', '/c']) cache.write(unit, sumsOf({ a: 1 }));
  cache.keepOnly(['/\udcff', '/\udcff', '/d']);
  t.equal(cache.read('/a'), null);
  t.equal(cache.read('/c'), null);
  t.not(cache.read('/\udcff'), null);
  cache.keepOnly([]);
  t.equal(cache.read('/\udcff'), null);
});

t.test('a file that is no cache is made anew', async t => {
  const path = file(t);
  writeFileSync(path, 'this is no database at all, and longer than a header of one would be'.repeat(10));
  t.match(prepareCache(path), /not a database/);
  const faults: string[] = [];
  const cache = open(t, path, faults);
  cache.write('/a', sumsOf({ a: 1 }));
  t.not(cache.read('/a'), null);
  t.same(faults, []);
});

t.test('a cache of another version is made anew', async t => {
  const path = file(t);
  prepareCache(path);
  const database = new DatabaseSync(path);
  database.exec('PRAGMA user_version = 99');
  database.close();
  t.match(prepareCache(path), /version 99/);
  t.equal(prepareCache(path), null);
});

t.test('a damaged cache is made anew when it is prepared, and unused until then', async t => {
  const path = file(t);
  prepareCache(path);
  const cache = openCache(path, () => t.fail('nothing is damaged yet'));
  for (let unit = 0; unit < 2000; unit++) cache.write(`/unit ${unit}`, sumsOf({ [`${unit}`]: unit }));
  cache.close();
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.fill(0xa5, 4096));
  const faults: string[] = [];
  const damaged = open(t, path, faults);
  for (let unit = 0; unit < 10; unit++) {
    t.equal(damaged.read(`/unit ${unit}`), null);
    damaged.write(`/unit ${unit}`, sumsOf({ a: 1 }));
  }
  t.equal(faults.length, 1, 'said once');
  damaged.close();
  t.match(prepareCache(path), /./);
  t.equal(prepareCache(path), null);
});

t.test('a cache that cannot be opened or written fails nothing', async t => {
  const faults: string[] = [];
  const cache = open(t, join(temporary(t), 'missing/scan.db'), faults);
  cache.write('/a', sumsOf({ a: 1 }));
  t.equal(cache.read('/a'), null);
  t.equal(faults.length, 1);

  const path = file(t);
  prepareCache(path);
  const full = open(t, path, faults);
  const other = new DatabaseSync(path);
  t.teardown(() => other.close());
  other.exec('BEGIN IMMEDIATE');
  full.write('/a', sumsOf({ a: 1 }));
  t.match(faults.at(-1), /locked/);
  other.exec('ROLLBACK');
  full.write('/a', sumsOf({ a: 1 }));
  t.not(full.read('/a'), null, 'it is tried again the next time');
});

t.test('what is carried over is what was there, in any tree', async t => {
  const tree = fc.array(fc.record({ parent: fc.nat(), bytes: fc.nat(1000), link: fc.option(fc.nat(3)) }), {
    minLength: 1,
    maxLength: 20,
  });
  const law = fc.property(tree, fc.nat(), (nodes, hidden) => {
    const build = (skip: number | null): { sums: Sums; hidden: number } => {
      const sums = newSums();
      const indexes: (number | null)[] = [];
      let found = 0;
      for (const [node, { parent, bytes, link }] of nodes.entries()) {
        const above = node === 0 ? -1 : (indexes[parent % node] ?? null);
        const isBelowSkipped = node > 0 && (above === null || parent % node === skip);
        const index = isBelowSkipped ? null : addDirectory(sums, above ?? -1, String(node));
        indexes.push(index);
        if (index === null) continue;
        if (node === skip) {
          found = index;
          continue;
        }
        sums.bytes[index] = bytes;
        if (link !== null) sums.links.push({ directory: index, file: `1:${link}`, bytes: 50 });
      }
      return { sums, hidden: found };
    };
    const whole = build(null).sums;
    const part = build(hidden % nodes.length);
    carryOver(part.sums, whole, [{ directory: part.hidden, extent: 'whole' }]);
    return totalOfSums(part.sums) === totalOfSums(whole);
  });
  t.doesNotThrow(() => fc.assert(law));
});

t.test('signatures are read ahead together, except large ones, which are read at their turn', async t => {
  const path = file(t);
  prepareCache(path);
  const cache = gathering(open(t, path));
  const found = { bytes: 1, files: 1, directories: 1, objectBytes: 0 };
  const signatureOf = (directories: number) => {
    const names = Array.from({ length: directories }, (_, index) => `a-directory-of-some-length-${index}`);
    return { ...found, digest: String(directories), parents: names.map(() => -1), names };
  };
  const small = signatureOf(10);
  const large = signatureOf(1000);
  cache.writeSignature('/small', small);
  cache.writeSignature('/large', large);
  cache.flush();
  const units = ['/small', '/none', '/large'];
  t.same([...cache.readSmallSignatures(units)], [['/small', small]]);
  cache.readAhead(units);
  t.same(
    units.map(unit => cache.readSignature(unit)),
    [small, null, large],
  );
});
