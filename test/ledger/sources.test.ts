/** Sources in the ledger: through restarts, as they grow old, and beside all else that counts. */

import { readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import t, { type Test } from 'tap';
import { Ledger } from '../../src/ledger/index.ts';
import { openStore, openUnitSources } from '../../src/store/index.ts';
import { setFile } from '../../src/store/units/files.ts';
import { directoryFor, lfs, SetClock, settings, silentLog, used, walk } from './world.ts';

interface Opened {
  readonly foldCase?: boolean;
  readonly clock?: SetClock;
  readonly warnings?: string[];
}

async function openIn(t: Test, directory: string, opened: Opened = {}): Promise<Ledger> {
  const { foldCase = true, clock, warnings = [] } = opened;
  const note = (_details: object, message: string) => void warnings.push(message);
  const ledger = await Ledger.open({
    store: await openStore({ adapter: 'sqlite', file: join(directory, 'softquota.db') }),
    unitSources: openUnitSources({ directory: join(directory, 'sources'), foldCase }),
    host: 'here',
    settings,
    foldCase,
    log: { ...silentLog, warn: note, error: note, info: note },
    ...(clock === undefined ? {} : { clock }),
  });
  t.teardown(() => ledger.close());
  return ledger;
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

const fileOf = (source: string) => basename(setFile('', source));

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

t.test('what cannot be read counts for nothing, is named, and goes with the next set', async t => {
  const directory = directoryFor(t);
  const first = await openIn(t, directory);
  await first.sources.put('lost', hour, setOf({ 'alice/a': 10 }));
  await first.sources.put('kept', hour, setOf({ 'alice/a': 1 }));
  await first.sources.remove('kept');
  await first.sources.put('kept', hour, setOf({ 'alice/a': 2 }));
  await first.close();
  truncateSync(join(directory, 'sources', fileOf('lost')), 5000);
  writeFileSync(join(directory, 'sources', `${fileOf('x')}.new-0123456789ab`), 'what a killed daemon left');
  const warnings: string[] = [];
  const again = await openIn(t, directory, { warnings });
  t.equal(used(again, 'alice', lfs), 2);
  t.match(warnings, [/^what a source reported cannot be read/]);
  t.match(again.sources.lost, [{ file: join(directory, 'sources', fileOf('lost')) }]);
  t.strictSame(readdirSync(join(directory, 'sources')).sort(), [fileOf('kept'), fileOf('lost')].sort());
  await again.sources.put('lost', hour, setOf({ 'alice/a': 30 }));
  t.strictSame(again.sources.lost, []);
  t.equal(used(again, 'alice', lfs), 32);
});

t.test('where the disk takes nothing, a set is refused and the one before stays', async t => {
  const directory = directoryFor(t);
  const ledger = await openIn(t, directory);
  await ledger.sources.put('s', hour, setOf({ 'alice/a': 10 }));
  rmSync(join(directory, 'sources'), { recursive: true });
  writeFileSync(join(directory, 'sources'), 'no directory');
  await t.rejects(ledger.sources.put('s', hour, setOf({ 'alice/a': 11 })), { code: 'store_away' });
  t.equal(used(ledger, 'alice', lfs), 10);
  t.match(await ledger.shares.unitsOf('alice', { most: 5 }), [], 'the list does without, and does not fail');
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
