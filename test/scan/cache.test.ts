import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import t, { type Test } from 'tap';
import { Cache, emptyCache, prepareCache } from '../../src/scan/signature.ts';
import { temporary } from './world.ts';

type Signature = Parameters<Cache['writeSignature']>[1];

function file(t: Test): string {
  return join(temporary(t), 'scan.db');
}

function open(t: Test, path: string, faults: string[] = []): Cache {
  const cache = new Cache(path, why => faults.push(why));
  t.teardown(() => cache.close());
  return cache;
}

function signatureOf(digest: string, names: readonly string[] = ['']): Signature {
  const found = { bytes: 1, files: 1, directories: names.length, objectBytes: 0 };
  return { ...found, digest, parents: names.map(() => -1), names };
}

function write(cache: Cache, unit: string, signature: Signature): void {
  cache.writeSignature(unit, signature);
  cache.flush();
}

t.test('what is remembered of a unit is given back, whatever bytes its names are', async t => {
  const path = file(t);
  t.equal(prepareCache(path), null);
  const cache = open(t, path);
  const units = ['/srv/a.git', '/srv/\udcff.git', '/srv/\udc80.git', '/srv/\ufffd.git'];
  const names = ['', '\udce9"\\\n', 'ü'];
  for (const [index, unit] of units.entries()) write(cache, unit, signatureOf(`${index}`, names));
  for (const [index, unit] of units.entries()) {
    t.same(cache.readSignature(unit), signatureOf(`${index}`, names), 'by this thread');
    t.same(open(t, path).readSignature(unit), signatureOf(`${index}`, names), 'and by another one');
  }
  t.equal(cache.readSignature('/srv/b.git'), null);
});

t.test('a unit is written only where something changed', async t => {
  const path = file(t);
  prepareCache(path);
  const cache = open(t, path);
  write(cache, '/a', signatureOf('1'));
  const { size } = statSync(`${path}-wal`);
  for (let again = 0; again < 10; again++) write(cache, '/a', signatureOf('1'));
  t.equal(statSync(`${path}-wal`).size, size);
  write(cache, '/a', signatureOf('2'));
  t.ok(statSync(`${path}-wal`).size > size);
});

t.test('what is written together is there, and what fails of it fails nothing', async t => {
  const path = file(t);
  prepareCache(path);
  const faults: string[] = [];
  const cache = open(t, path, faults);
  for (let unit = 0; unit < 10; unit++) cache.writeSignature(`/${unit}`, signatureOf(`${unit}`));
  t.equal(open(t, path).readSignature('/9'), null, 'it is gathered');
  cache.flush();
  for (let unit = 0; unit < 10; unit++)
    t.same(open(t, path).readSignature(`/${unit}`), signatureOf(`${unit}`));
  const other = new DatabaseSync(path);
  t.teardown(() => other.close());
  other.exec('BEGIN IMMEDIATE');
  write(cache, '/a', signatureOf('1'));
  t.match(faults, [/locked/]);
  other.exec('ROLLBACK');
  write(cache, '/b', signatureOf('1'));
  t.not(cache.readSignature('/b'), null, 'it is tried again the next time');
  for (let unit = 0; unit < 6000; unit++) cache.writeSignature(`/many ${unit}`, signatureOf('1'));
  t.not(open(t, path).readSignature('/many 0'), null, 'no more is gathered than takes little room');
});

t.test('a cache that is emptied forgets all units, for those who have it open, too', async t => {
  const path = file(t);
  prepareCache(path);
  const cache = open(t, path);
  for (const unit of ['/a', '/\udcff']) write(cache, unit, signatureOf('1'));
  emptyCache(path);
  t.equal(cache.readSignature('/a'), null);
  write(cache, '/a', signatureOf('1'));
  t.not(cache.readSignature('/a'), null);
});

t.test('a file that is no cache is made anew', async t => {
  const path = file(t);
  writeFileSync(path, 'this is no database at all, and longer than a header of one would be'.repeat(10));
  t.match(prepareCache(path), /not a database/);
  const faults: string[] = [];
  const cache = open(t, path, faults);
  write(cache, '/a', signatureOf('1'));
  t.not(cache.readSignature('/a'), null);
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
  const cache = new Cache(path, () => t.fail('nothing is damaged yet'));
  for (let unit = 0; unit < 2000; unit++) cache.writeSignature(`/unit ${unit}`, signatureOf(`${unit}`));
  cache.close();
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.fill(0xa5, 4096));
  const faults: string[] = [];
  const damaged = open(t, path, faults);
  for (let unit = 0; unit < 10; unit++) {
    t.equal(damaged.readSignature(`/unit ${unit}`), null);
    write(damaged, `/unit ${unit}`, signatureOf('1'));
  }
  t.equal(faults.length, 1, 'said once');
  damaged.close();
  t.match(prepareCache(path), /./);
  t.equal(prepareCache(path), null);
});

t.test('a cache that cannot be opened fails nothing', async t => {
  const faults: string[] = [];
  const cache = open(t, join(temporary(t), 'missing/scan.db'), faults);
  write(cache, '/a', signatureOf('1'));
  t.equal(cache.readSignature('/a'), null);
  t.equal(faults.length, 1);
});
