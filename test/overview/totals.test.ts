/** The sums of all owners are those of the ledger at any time, whatever has happened. */

import { join } from 'node:path';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { Totals } from '../../src/overview/index.ts';
import { createAllowance, endAllowance } from '../../src/policy/index.ts';
import { leaves, noUsage } from '../../src/quota/index.ts';
import { openStore } from '../../src/store/index.ts';
import { directoryFor, lfs, openOn, repos, settings, silentLog, walk } from '../ledger/world.ts';
import { grouped } from '../quota/grouped.ts';

/** Opens a world where everybody may have 10,000 bytes, with warnings from 80 percent on. */
async function world(t: Test, file = join(directoryFor(t), 'softquota.db')) {
  const store = await openStore({ file });
  const ledger = await openOn(store);
  const totals = new Totals({ ledger, log: silentLog });
  totals.start();
  t.teardown(async () => {
    await totals.close();
    await ledger.close();
  });
  return { ledger, totals };
}

t.test('owners are over a limit, near one, or neither', async t => {
  const { ledger, totals } = await world(t);
  walk(ledger, 'over/app', 10_001);
  walk(ledger, 'near/app', 8000);
  walk(ledger, 'fine/app', 7999);
  await totals.settled();
  t.match(totals.figures, { owners: 3, over: 1, near: 1, promised: 30_000, unlimited: 0 });
  walk(ledger, 'over/app', 1);
  await totals.settled();
  t.match(totals.figures, { owners: 3, over: 0, near: 1 });
  ledger.settings = { ...settings, totalBytes: 0 };
  await ledger.documents.transact(transaction => transaction.createOwner('empty'));
  await totals.settled();
  t.match(totals.figures, { owners: 4, over: 3, near: 0 }, 'who may store nothing and does not is not over');
  ledger.settings = { ...settings, enabled: false };
  await totals.settled();
  t.match(totals.figures, { owners: 4, over: 0, near: 0, promised: 0, unlimited: 4 });
});

t.test('whoever asks waits until all were counted once, and after that only so long', async t => {
  const { ledger, totals } = await world(t);
  walk(ledger, 'alice/app', 5);
  t.match(await totals.lately(0), { owners: 1 });
  walk(ledger, 'bob/app', 5);
  t.match(await totals.lately(60_000), { owners: 2 });
});

t.test('what passes 2^53 - 1 together stands at that, and comes down to the byte', async t => {
  const { ledger, totals } = await world(t);
  const most = Number.MAX_SAFE_INTEGER;
  walk(ledger, 'alice/app', most);
  walk(ledger, 'bob/app', most);
  await totals.settled();
  t.equal(totals.figures.usage[leaves.indexOf(repos)], most);
  walk(ledger, 'alice/app', 3);
  walk(ledger, 'bob/app', 4);
  await totals.settled();
  t.equal(totals.figures.usage[leaves.indexOf(repos)], 7);
});

t.test(
  'a group whose members together pass 2^53 - 1 is over its limit, and all others are counted',
  async t => {
    const { ledger, totals } = await world(t);
    const most = Number.MAX_SAFE_INTEGER;
    const subjects = ['size:all' as const];
    const together = { name: 'together', limitBytes: most - 1, subjects, per: 'group' } as const;
    await grouped(ledger, ['alice', 'bob'], [together, { name: 'each', limitBytes: -1, subjects }], 'lab');
    walk(ledger, 'carol/app', 8000);
    walk(ledger, 'alice/app', most - 2);
    await totals.settled();
    t.match(totals.figures, { owners: 3, over: 0, near: 3 });
    walk(ledger, 'alice/app', most);
    walk(ledger, 'bob/app', 5, { path: '/srv/lfs/bob', leaf: lfs });
    walk(ledger, 'bob/app', most - 5);
    await totals.settled();
    t.match(totals.figures, { owners: 3, over: 2, near: 1 });
    t.match(ledger.decide('bob', repos).decision, { allowed: false, per: 'group', used: most, share: most });
    walk(ledger, 'alice/app', 3);
    walk(ledger, 'bob/app', 4);
    await totals.settled();
    t.match(totals.figures, { owners: 3, over: 0, near: 1 });
    t.equal(ledger.decide('bob', repos).decision.allowed, true);
    t.equal(ledger.pools.decisions('lab', 'stored')[0]?.used, 12, 'exact to the byte again');
  },
);

t.test('an owner over the limit is not over it while an allowance covers that', async t => {
  const { ledger, totals } = await world(t);
  walk(ledger, 'alice/app', 12_000);
  await totals.settled();
  t.match(totals.figures, { over: 1, near: 0 });
  const id = await ledger.documents.transact(transaction => {
    const owner = transaction.mustBeOwner('alice');
    return createAllowance(transaction.changes, owner.id, {
      bytes: 5000,
      until: Date.now() + 3_600_000,
      why: 'a release',
      grantedBy: null,
      grantedAt: Date.now(),
      request: null,
      automatic: false,
    }).id;
  });
  await totals.settled();
  t.match(totals.figures, { over: 0, near: 1 });
  await ledger.documents.transact(transaction => {
    endAllowance(transaction.changes, transaction.mustBeOwner('alice').id, id);
  });
  await totals.settled();
  t.match(totals.figures, { over: 1, near: 0 });
});

t.test('an owner of whom only no bytes were reported is counted', async t => {
  const { ledger, totals } = await world(t);
  await totals.settled();
  await ledger.reports.reportUnit('alice', lfs, 'store', 0);
  await totals.settled();
  t.match(totals.figures, { owners: 1 });
});

t.test('whoever cannot be added up counts with what was known last', async t => {
  const { ledger, totals } = await world(t);
  walk(ledger, 'alice/app', 5);
  await totals.settled();
  walk(ledger, 'alice/app', Number.MAX_SAFE_INTEGER);
  walk(ledger, 'alice/other', 1);
  await totals.settled();
  t.match(totals.figures, { owners: 1 });
  t.equal(totals.figures.usage[leaves.indexOf(repos)], 5);
});

t.test('who has become another is told once, and again where it came to nothing', async t => {
  const { ledger, totals } = await world(t);
  await ledger.reports.reportUnit('alice', lfs, 'store', 5);
  await ledger.reports.reportUnit('bob', lfs, 'store', 6);
  await totals.settled();
  const [alice = 0, bob = 0] = ['alice', 'bob'].map(name => ledger.ownerUsage(name).id ?? 0);
  const first = totals.takeMoved();
  const told = new Map(first.usage);
  t.strictSame([...told.keys()].sort(), [alice, bob].sort());
  t.strictSame(told.get(alice), noUsage.with(leaves.indexOf(lfs), 5));
  t.strictSame([...totals.takeMoved().usage], []);
  await ledger.reports.reportUnit('bob', lfs, 'store', 7);
  await totals.settled();
  totals.putBack(first);
  const again = new Map(totals.takeMoved().usage);
  t.strictSame(again.get(bob), noUsage.with(leaves.indexOf(lfs), 7), 'what it is now');
  t.strictSame(again.get(alice), told.get(alice));
  await ledger.reports.reportUnit('bob', lfs, 'store', 0);
  await ledger.documents.transact(transaction => transaction.deleteOwner('bob'));
  await totals.settled();
  const { usage, gone } = totals.takeMoved();
  t.strictSame([[...usage], gone], [[], [bob]]);
  t.match(totals.figures, { owners: 1 });
});

t.test('after any changes it is as if it were added up anew', async t => {
  const names = ['a', 'b', 'c'] as const;
  const anyStep = fc.oneof(
    fc.record({ is: fc.constant('report'), who: fc.constantFrom(...names), bytes: fc.nat(12_000) }),
    fc.record({ is: fc.constant('rename'), who: fc.constantFrom(...names), bytes: fc.nat(2) }),
    fc.record({ is: fc.constant('delete'), who: fc.constantFrom(...names), bytes: fc.constant(0) }),
    fc.record({ is: fc.constant('limit'), who: fc.constantFrom(...names), bytes: fc.nat(20_000) }),
    fc.record({ is: fc.constant('look'), who: fc.constantFrom(...names), bytes: fc.constant(0) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { maxLength: 25 }), async steps => {
      await t.test('a sequence of changes', async t => {
        const { ledger, totals } = await world(t);
        for (const { is, who, bytes } of steps) {
          if (is === 'report') await ledger.reports.reportUnit(who, lfs, 'store', bytes);
          if (is === 'limit') ledger.settings = { ...settings, totalBytes: bytes };
          if (is === 'look') await totals.settled();
          const to = names[bytes % names.length] ?? who;
          const change = ledger.documents.transact(transaction => {
            if (is === 'rename') transaction.renameOwner(who, to, () => true);
            if (is === 'delete') transaction.deleteOwner(who);
          });
          // The owner may be absent, or have units.
          await change.catch(() => {});
        }
        await totals.settled();
        const anew = new Totals({ ledger, log: silentLog });
        anew.start();
        await anew.settled();
        t.strictSame(totals.figures, anew.figures);
        const { usage: moved, gone } = totals.takeMoved();
        const usage = new Map(moved);
        const known = [...ledger.documents.owners.all].map(({ id }) => id);
        t.ok(
          known.every(id => usage.has(id)),
          'all who are there have been told',
        );
        t.strictSame(
          gone.filter(id => known.includes(id)),
          [],
        );
        for (const { id, name } of ledger.documents.owners.all) {
          t.strictSame(usage.get(id), ledger.ownerUsage(name).usage);
        }
        await anew.close();
      });
    }),
    { numRuns: 12 },
  );
});
