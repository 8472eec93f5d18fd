/** Sources in the ledger: through restarts, as they grow old, and beside all else that counts. */

import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import t, { type Test } from 'tap';
import type { Ledger } from '../../src/ledger/index.ts';
import { smallDisk } from '../faults/small-disk.ts';
import { directoryFor, lfs, SetClock, used, World, walk } from './world.ts';

interface Opened {
  readonly foldCase?: boolean;
  readonly clock?: SetClock;
  readonly warnings?: string[];
}

function openIn(t: Test, directory: string, opened: Opened = {}): Promise<Ledger> {
  const { warnings = [], ...others } = opened;
  const note = (_details: object, message: string) => void warnings.push(message);
  return new World(t, { directory, log: { warn: note, error: note, info: note }, ...others }).open();
}

/** A set in pieces that end anywhere; each unit is `OWNER/NAME` with its bytes. */
async function* setOf(units: Readonly<Record<string, number>>, pieceBytes = 7): AsyncGenerator<Uint8Array> {
  const lines = Object.entries(units).map(([place, bytes]) => {
    const [owner, unit] = place.split('/');
    return `${JSON.stringify({ owner, subject: lfs, unit, bytes })}\n`;
  });
  const body = Buffer.from(lines.join(''));
  for (let at = 0; at < body.length; at += pieceBytes) yield body.subarray(at, at + pieceBytes);
}

const hour = 3_600_000;

/** Lines of that many units of one owner. */
async function* manyUnits(count: number): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < count; from += 1000) {
    const numbers = Array.from({ length: Math.min(1000, count - from) }, (_, index) => from + index);
    const lines = numbers.map(number => ({ owner: 'many', subject: lfs, unit: `unit ${number}`, bytes: 1 }));
    yield Buffer.from(lines.map(line => `${JSON.stringify(line)}\n`).join(''));
  }
}

/** Number of rows in the tables of sets, in a store that is closed. */
function rowsIn(directory: string): object {
  const db = new DatabaseSync(join(directory, 'softquota.db'));
  const rows = db
    .prepare(
      'SELECT (SELECT count(*) FROM unit_sets) AS unit_sets, (SELECT count(*) FROM set_units) AS set_units',
    )
    .get();
  db.close();
  return { ...rows };
}

/** Writes a set as version 8 of the store kept it: in a file of its own. */
function writeSetFile(file: string, source: string, units: Readonly<Record<string, number>>): void {
  const db = new DatabaseSync(file);
  db.exec(`PRAGMA application_id = ${0x73717475}; PRAGMA user_version = 1;
    CREATE TABLE about (one INTEGER NOT NULL PRIMARY KEY, source TEXT NOT NULL, reported_at INTEGER NOT NULL,
      stale_after_ms INTEGER NOT NULL) STRICT;
    CREATE TABLE owners (id INTEGER NOT NULL PRIMARY KEY, folded TEXT NOT NULL, name TEXT NOT NULL) STRICT;
    CREATE INDEX owners_folded ON owners (folded);
    CREATE TABLE leaves (id INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL) STRICT;
    CREATE TABLE units (owner INTEGER NOT NULL, leaf INTEGER NOT NULL, name TEXT NOT NULL, bytes INTEGER NOT NULL,
      PRIMARY KEY (owner, leaf, name)) STRICT, WITHOUT ROWID;
    INSERT INTO leaves VALUES (4, '${lfs}');`);
  db.prepare('INSERT INTO about VALUES (1, ?, 5, 6)').run(source);
  const putOwner = db.prepare('INSERT OR IGNORE INTO owners VALUES (?, ?, ?)');
  const ids = new Map<string, number>();
  for (const [place, bytes] of Object.entries(units)) {
    const [owner = '', name = ''] = place.split('/');
    const folded = owner.toLowerCase();
    const id = ids.get(folded) ?? ids.size + 1;
    ids.set(folded, id);
    putOwner.run(id, folded, owner);
    db.prepare('INSERT INTO units VALUES (?, 4, ?, ?)').run(id, name, bytes);
  }
  db.close();
}

t.test('what sources reported is there after a restart, however names compare then', async t => {
  const directory = directoryFor(t);
  const first = await openIn(t, directory);
  await first.sources.put('registry', hour, setOf({ 'Alice/a': 10, 'alice/b': 5, 'Bøb/ü 🎉': 7 }));
  await first.sources.put('other', hour, setOf({ 'alice/a': 100 }));
  const id = first.documents.owners.named('alice')?.id;
  await first.close();
  const again = await openIn(t, directory);
  t.equal(used(again, 'ALICE', lfs), 115);
  t.equal(again.documents.owners.named('alice')?.id, id, 'who was met is on record');
  t.match(await again.shares.unitsOf('bøb', { most: 5 }), [{ name: 'ü 🎉', source: 'registry', bytes: 7 }]);
  t.match(again.sources.list, [
    { name: 'other', units: 1 },
    { name: 'registry', units: 3, owners: 2, bytes: 22 },
  ]);
  await again.close();
  const kept = await openIn(t, directory, { foldCase: false });
  t.equal(used(kept, 'Alice', lfs), 15, 'by the name that the set had first');
  t.equal(used(kept, 'alice', lfs), 100);
  await kept.sources.put('registry', hour, setOf({ 'Alice/a': 1, 'alice/a': 2 }));
  await kept.close();
  const folded = await openIn(t, directory);
  t.equal(used(folded, 'alice', lfs), 103);
  t.equal((await folded.shares.unitsOf('alice', { most: 5 })).length, 3);
});

t.test('a set that is too old makes the figures of its owners stale, until it is put again', async t => {
  const clock = new SetClock();
  const warnings: string[] = [];
  const ledger = await openIn(t, directoryFor(t), { clock, warnings });
  await ledger.sources.put('s', 60_000, setOf({ 'alice/a': 1 }));
  walk(ledger, 'bob/app', 1);
  clock.pass(60_000);
  t.equal(ledger.ownerUsage('alice').stale, false);
  clock.pass(1);
  t.match(ledger.decide('alice', lfs).owner, { stale: true });
  t.match(ledger.sources.list, [{ isStale: true }]);
  t.equal(ledger.ownerUsage('bob').stale, false, 'of others nothing is old');
  t.ok(ledger.sources.isStale);
  await ledger.sources.put('s', 60_000, setOf({ 'alice/a': 1 }));
  t.equal(ledger.ownerUsage('alice').stale, false);
  clock.pass(-hour);
  t.equal(ledger.ownerUsage('alice').stale, false, 'a clock that is set back makes nothing old');
});

t.test('watchers are told of owners whose figures became others, and of no one else', async t => {
  const ledger = await openIn(t, directoryFor(t));
  await ledger.sources.put('s', hour, setOf({ 'alice/a': 1, 'bob/a': 2, 'carol/a': 3 }));
  const told = new Set<string | null>();
  ledger.watch(ownerKey => told.add(ownerKey));
  await ledger.sources.put('s', hour, setOf({ 'alice/a': 1, 'bob/a': 3, 'dave/a': 1 }));
  t.strictSame([...told].sort(), ['bob', 'carol', 'dave']);
});

t.test('an owner with units in a set has units, and so is not deleted', async t => {
  const ledger = await openIn(t, directoryFor(t));
  await ledger.sources.put('s', hour, setOf({ 'alice/a': 0, 'alice/b': 4 }));
  const deleted = () => ledger.documents.transact(transaction => transaction.deleteOwner('alice'));
  await t.rejects(deleted(), { code: 'conflict', message: /alice has 2 units/ });
  await ledger.sources.remove('s');
  await deleted();
  t.equal(ledger.documents.owners.named('alice'), undefined);
});

t.test('reports between two sets go with what is walked, and not with a set', async t => {
  const ledger = await openIn(t, directoryFor(t));
  await ledger.sources.put('s', hour, setOf({ 'alice/a': 10 }));
  await ledger.reports.addDelta('alice', lfs, -4);
  t.equal(used(ledger, 'alice', lfs), 6);
  walk(ledger, 'alice/store', 100, { leaf: lfs });
  t.equal(used(ledger, 'alice', lfs), 110);
});

t.test('a set that breaks off leaves nothing, and is as if it had never begun', async t => {
  const directory = directoryFor(t);
  const ledger = await openIn(t, directory);
  await ledger.sources.put('s', hour, setOf({ 'alice/a': 10 }));
  async function* breakingOff(): AsyncGenerator<Uint8Array> {
    yield* manyUnits(20_000);
    throw new Error('it breaks off');
  }
  await t.rejects(ledger.sources.put('s', hour, breakingOff()), { message: 'it breaks off' });
  await t.rejects(ledger.sources.put('other', hour, setOf({ 'alice/a': -1 })), { code: 'bad_parameter' });
  t.equal(used(ledger, 'alice', lfs), 10);
  await ledger.close();
  t.strictSame(rowsIn(directory), { unit_sets: 1, set_units: 1 });
});

t.test('what a killed daemon left of a set goes when the next one begins', async t => {
  const directory = directoryFor(t);
  const first = await openIn(t, directory);
  await first.sources.put('s', hour, setOf({ 'alice/a': 10 }));
  await first.close();
  const db = new DatabaseSync(join(directory, 'softquota.db'));
  db.exec(`INSERT INTO unit_sets (source) VALUES ('s');
    INSERT INTO set_units VALUES (last_insert_rowid(), 'alice', 'alice', '${lfs}', 'b', 5)`);
  db.close();
  const again = await openIn(t, directory);
  t.equal(used(again, 'alice', lfs), 10);
  await again.sources.put('other', hour, setOf({ 'bob/a': 1 }));
  await again.close();
  t.strictSame(rowsIn(directory), { unit_sets: 2, set_units: 2 });
});

t.test('a program reports at most 100,000 units; with more, what it reported before stays', async t => {
  const ledger = await openIn(t, directoryFor(t));
  await ledger.sources.put('s', hour, setOf({ 'alice/a': 10 }));
  await t.rejects(ledger.sources.put('s', hour, manyUnits(100_001)), {
    code: 'too_large',
    message: 'line 100001: a source has at most 100,000 units',
  });
  t.equal(used(ledger, 'alice', lfs), 10);
  t.match(await ledger.sources.put('s', hour, manyUnits(100_000)), { units: 100_000, owners: 1 });
  t.match(await ledger.sources.put('forge', hour, manyUnits(100_001)), { units: 100_001 });
});

t.test('where the disk has little room, a set is refused, and the one before and all else stay', async t => {
  const directory = directoryFor(t);
  const first = await openIn(t, directory);
  await first.sources.put('s', hour, setOf({ 'alice/a': 10 }));
  await first.close();
  const small = await smallDisk(t);
  copyFileSync(join(directory, 'softquota.db'), join(small, 'softquota.db'));
  const ledger = await openIn(t, small);
  await t.rejects(ledger.sources.put('s', hour, setOf({ 'alice/a': 11 })), {
    code: 'store_away',
    message: /the disk has less than 64 MB of room for a set/,
  });
  t.equal(used(ledger, 'alice', lfs), 10);
  await ledger.reports.addDelta('alice', lfs, 5);
  t.equal(used(ledger, 'alice', lfs), 15);
});

t.test('sets that an earlier version kept in files are taken over, however large', async t => {
  const directory = directoryFor(t);
  mkdirSync(join(directory, 'sources'));
  const file = (name: string) => join(directory, 'sources', name);
  const units = { 'Alice/a': 10, 'alice/b': 5, 'Bøb/ü': 7 };
  writeSetFile(file('fb8c2e2b85ca81eb4350199faddd983cb26af306.db'), 'packages', units);
  writeFileSync(file(`${'1'.repeat(40)}.db`), 'no database');
  writeFileSync(file(`${'2'.repeat(40)}.db.new-0123456789ab`), 'what a killed daemon left');
  const warnings: string[] = [];
  const first = await openIn(t, directory, { warnings });
  t.match(warnings, [/^what a source reported cannot be read/]);
  t.match(first.sources.list, [{ name: 'packages', reportedAt: 5, staleAfterMs: 6, units: 3, bytes: 22 }]);
  t.equal(used(first, 'alice', lfs), 15);
  t.match(await first.shares.unitsOf('bøb', { most: 5 }), [{ name: 'ü', source: 'packages', bytes: 7 }]);
  t.strictSame(readdirSync(join(directory, 'sources')), [`${'1'.repeat(40)}.db`]);
  await first.close();
  rmSync(file(`${'1'.repeat(40)}.db`));
  const again = await openIn(t, directory);
  t.equal(used(again, 'alice', lfs), 15);
  t.notOk(existsSync(join(directory, 'sources')), 'the folder goes once it is empty');
});

t.test('there are at most a hundred sources', async t => {
  const ledger = await openIn(t, directoryFor(t));
  for (let number = 0; number < 100; number += 1) await ledger.sources.put(`${number}`, hour, setOf({}));
  await t.rejects(ledger.sources.put('one more', hour, setOf({})), {
    code: 'conflict',
    message: /100 sources/,
  });
  await ledger.sources.put('7', hour, setOf({ 'alice/a': 1 }));
  await ledger.sources.remove('8');
  await ledger.sources.put('one more', hour, setOf({}));
});
