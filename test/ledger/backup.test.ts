/** Backup documents, and putting them into a store. */

import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { backupOf, type Ledger, parseBackup, type Restored, restore } from '../../src/ledger/index.ts';
import { assign, createAllowance, createGroup, createRule, rulesIn } from '../../src/policy/index.ts';
import { leaves, subjects } from '../../src/quota/index.ts';
import { openStore } from '../../src/store/index.ts';
import { lfs, SetClock, World, walk } from '../ledger/world.ts';
import { event, oddStrings } from '../store/records.ts';

/** Owners and the decisions for them. */
function answers(ledger: Ledger): readonly unknown[] {
  return [...ledger.documents.owners.all]
    .map(record => ({
      record,
      decisions: subjects.map(subject => ledger.decide(record.name, subject).decision),
    }))
    .sort((a, b) => (a.record.key < b.record.key ? -1 : 1));
}

/** Document after a trip through a file. */
async function written(ledger: Ledger): Promise<string> {
  return JSON.stringify(await backupOf(ledger, 'here'));
}

async function restored(world: World, text: string, replace = false): Promise<Restored> {
  await world.close();
  const store = await openStore({ file: world.file });
  try {
    return await restore(store, parseBackup(text, 'the file'), { replace });
  } finally {
    await store.close();
  }
}

t.test('allowances decide the same after a restore, and ended ones count no more', async t => {
  const clock = new SetClock();
  const before = new World(t, { clock });
  const ledger = await before.open();
  for (const [name, hours] of [
    ['alice', 1],
    ['bob', 3],
  ] as const) {
    walk(ledger, `${name}/app`, 1);
    await ledger.documents.transact(transaction => {
      createAllowance(transaction.changes, transaction.mustBeOwner(name).id, {
        bytes: 5000,
        until: clock.wall() + hours * 3_600_000,
        why: 'a release',
        grantedBy: null,
        grantedAt: clock.wall(),
        request: null,
        automatic: false,
      });
    });
  }
  const text = await written(ledger);
  await before.close();
  const after = new World(t, { clock });
  await restored(after, text);
  const limits = (opened: Ledger) =>
    ['alice', 'bob'].map(name => opened.decide(name, 'size:all').decision.limit);
  t.strictSame(limits(await after.open()), [15_000, 15_000]);
  clock.pass(2 * 3_600_000);
  t.strictSame(limits(await after.open()), [10_000, 15_000]);
});

t.test('owners, and what programs reported, decide the same after a restore', async t => {
  const anyReport = fc.record({
    owner: fc.oneof(fc.constantFrom(...oddStrings), fc.string()),
    leaf: fc.constantFrom(...leaves),
    name: fc.oneof(fc.constantFrom(...oddStrings), fc.string()),
    bytes: fc.nat({ max: 12_000 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(anyReport, { maxLength: 8 }), async reports => {
      const before = new World(t);
      const ledger = await before.open();
      for (const { owner, leaf, name, bytes } of reports)
        await ledger.reports.reportUnit(owner, leaf, name, bytes);
      const text = await written(ledger);
      const expected = answers(ledger);
      await before.close();
      const after = new World(t);
      await restored(after, text);
      assert.deepStrictEqual(answers(await after.open()), expected);
      await after.close();
    }),
    { numRuns: 10 },
  );
});

t.test('what is walked is not in a backup, but its owners are', async t => {
  const world = new World(t);
  const ledger = await world.open();
  walk(ledger, 'Alice/app', 9000);
  const { owners, reported_units: reportedUnits } = await backupOf(ledger, 'here');
  t.match(owners, [{ key: 'alice', name: 'Alice' }]);
  t.strictSame(reportedUnits, []);
});

t.test('rules, groups and assignments decide the same after a restore, and others are gone', async t => {
  const source = new World(t);
  const ledger = await source.open();
  await ledger.documents.transact(transaction => {
    const { changes } = transaction;
    const rule = { limitBytes: 0, subjects: ['size:all'], warnAt: [50, 80] } as const;
    createGroup(changes, { name: 'free', rules: [{ name: 'total', ...rule }] });
    assign(changes, transaction.createOwner('Alice').id, 'free');
  });
  const text = await written(ledger);
  const expected = answers(ledger);
  t.match(expected, [{ decisions: [{ allowed: false, group: 'free', rule: 'total' }] }]);

  const world = new World(t);
  const other = await world.open();
  await other.documents.transact(({ changes }) => {
    createRule(changes, { name: 'total', limitBytes: 5, subjects: [] });
    createRule(changes, { name: 'another', limitBytes: 5, subjects: [] });
  });
  t.match(await restored(world, text, true), { owners: 1, policy: 3, removed_policy: 1 });
  const now = await world.open();
  t.strictSame(answers(now), expected);
  t.strictSame(
    rulesIn(now.documents.snapshot).map(({ name, warnAt }) => [name, warnAt]),
    [['total', [50, 80]]],
  );
});

t.test('a store that holds something is replaced only where that is said', async t => {
  const source = new World(t);
  const ledger = await source.open();
  await ledger.reports.reportUnit('alice', lfs, 'store', 12_000);
  const text = await written(ledger);

  const world = new World(t);
  const other = await world.open();
  await other.reports.reportUnit('bob', lfs, 'store', 12_000);
  await other.reports.addDelta('carol', lfs, 500);
  walk(other, 'dave/app', 700);
  await other.kept();
  await t.rejects(restored(world, text), {
    code: 'conflict',
    message: /3 owners, 2 units and 0 records of policy .* --replace/,
  });
  t.equal((await world.open()).decide('bob', lfs).decision.allowed, false, 'nothing was touched');

  t.strictSame(await restored(world, text, true), {
    owners: 1,
    policy: 0,
    reported_units: 1,
    events: 0,
    removed_owners: 3,
    removed_policy: 0,
    removed_units: 1,
  });
  const now = await world.open();
  t.strictSame(
    [...now.documents.owners.all].map(({ name }) => name).sort(),
    ['alice', 'dave'],
    'dave has a repository',
  );
  t.equal(now.decide('alice', lfs).decision.allowed, false);
  t.equal(now.ownerUsage('carol').id, null);
});

t.test('a document that cannot be restored whole is refused, and says why', async t => {
  const world = new World(t);
  const ledger = await world.open();
  await ledger.reports.reportUnit('alice', lfs, 'store', 1);
  const text = await written(ledger);
  const document = JSON.parse(text);
  const refused = (from: string, message: RegExp) =>
    t.throws(() => parseBackup(from, 'b\u202eackup'), { code: 'invalid', message }, String(message));
  refused(text.slice(0, -20), /^b\\u\{202e\}ackup: not a complete backup/);
  refused('{"some": "json"}', /no backup of softquota/);
  refused(
    JSON.stringify({ ...document, format: 99, version: '9.0.0' }),
    /made by softquota 9\.0\.0, in format 99; this version knows formats up to 3/,
  );
  t.equal(document.format, 1, 'an older softquota restores it as well');
  const session = { kind: 'session', key: 'x', text: '{}' };
  refused(JSON.stringify({ ...document, graces: [session] }), /graces\.0\.kind/);
  refused(JSON.stringify({ ...document, owners: [{ key: 1 }] }), /owners\.0\.key/);
  refused(JSON.stringify({ ...document, more: 1 }), /more/);
  for (const id of ['', 't 1', 't-\n', 'té']) {
    const event = { id, kind: 'policy', at: 1, owner_id: null, owner_key: null, text: '{}' };
    refused(JSON.stringify({ ...document, events: [event] }), /events\.0\.id: expected printable ASCII/);
  }
  const [unit] = document.reported_units;
  refused(
    JSON.stringify({ ...document, reported_units: [{ ...unit, bytes: -1 }] }),
    /reported_units\.0\.bytes/,
  );
  refused(
    JSON.stringify({ ...document, reported_units: [{ ...unit, leaf: 'size:all' }] }),
    /reported_units\.0\.leaf/,
  );
});

t.test('events, and what owners were last told, are the same after a restore', async t => {
  const source = new World(t);
  const ledger = await source.open();
  const events = Array.from({ length: 2500 }, (_, index) => ({
    ...event(`r-${String(index).padStart(4, '0')}`, Math.floor(index / 7)),
    text: '"\ud800"',
  }));
  ledger.eventLog.enqueue({ events, levels: [{ ownerId: 7, text: '{}' }] });
  const text = await written(ledger);
  await source.close();
  const target = new World(t);
  const other = await target.open();
  other.eventLog.enqueue({ events: [event('older', 99)], levels: [{ ownerId: 8, text: '{}' }] });
  await other.kept();
  t.equal((await restored(target, text, true)).events, 2500);
  const after = await target.open();
  t.strictSame(await after.eventLog.events({ limit: 5000 }), events.toReversed());
  t.strictSame(await after.eventLog.levels(), [{ ownerId: 7, text: '{}' }]);
});

t.test('a policy that was restored is not taken for the one that hosts share', async t => {
  const world = new World(t);
  const ledger = await world.open();
  const shared = { generation: 'shared', version: 7, mark: 'mark' };
  await ledger.documents.applyRemote({}, [shared]);
  const text = await written(ledger);
  await restored(world, text, true);
  const { position } = (await world.open()).documents;
  t.equal(position?.version, 8);
  t.not(position?.generation, shared.generation);
  await world.close();
});
