/** Graces begin when an owner is first seen over a limit, are kept, and end below it. */

import fc from 'fast-check';
import t, { type Test } from 'tap';
import { backupOf, type Ledger, parseBackup, restore } from '../../src/ledger/index.ts';
import {
  addRuleToGroup,
  assign,
  createGroup,
  createRule,
  editRule,
  graceKind,
} from '../../src/policy/index.ts';
import { openStore } from '../../src/store/index.ts';
import {
  directoryFor,
  openLosable,
  openOn,
  repos,
  SetClock,
  settings,
  sweepOnce,
  World,
  walk,
} from './world.ts';

const hour = 3_600_000;
const day = 24 * hour;
const week = { ...settings, graceMs: 7 * day, graceMost: { percent: 10 } } as const;

async function opened(t: Test, bytes = 10_500) {
  const clock = new SetClock();
  const world = new World(t, { clock });
  const open = async (with_ = week) => {
    const ledger = await world.open();
    sweepOnce(ledger);
    ledger.settings = with_;
    ledger.graces.start({ pauseMs: 0 });
    await ledger.graces.settled();
    return ledger;
  };
  const ledger = await open();
  walk(ledger, 'alice/app', bytes);
  await ledger.graces.settled();
  return { clock, world, open, ledger };
}

const sinceOf = (ledger: Ledger) => {
  const { id } = ledger.ownerUsage('alice');
  return ledger.documents.snapshot.get(graceKind, String(id))?.map(({ rule, since }) => [rule, since]);
};

const decided = (ledger: Ledger) => ledger.decide('alice', repos).decision;

t.test('a restored grace goes on, and is not over before the first sweep', async t => {
  const { clock, world, ledger } = await opened(t);
  const until = clock.wall() + 7 * day;
  const text = JSON.stringify(await backupOf(ledger, 'here'));
  t.match(JSON.parse(text), { format: 2, graces: [{ kind: 'grace' }], policy: [] });
  await world.close();
  const after = new World(t, { clock });
  const store = await openStore({ file: after.file });
  await restore(store, parseBackup(text, 'the backup'), { replace: false });
  await store.close();
  const restored = await after.open();
  restored.settings = week;
  restored.graces.start({ pauseMs: 0 });
  await restored.graces.settled();
  t.strictSame(sinceOf(restored), [[null, until - 7 * day]], 'it has no bytes yet');
  clock.pass(6 * day);
  walk(restored, 'alice/app', 10_500);
  await restored.graces.settled();
  t.match(decided(restored), { allowed: true, grace: { until } });
  walk(restored, 'alice/app', 100);
  await restored.graces.settled();
  t.equal(sinceOf(restored)?.length, 1);
  sweepOnce(restored);
  await restored.graces.settled();
  t.equal(sinceOf(restored), undefined);
});

t.test('an end is told when it comes', async t => {
  const { clock, ledger } = await opened(t);
  const told: (string | null)[] = [];
  const unwatch = ledger.watch(key => told.push(key));
  clock.pass(7 * day - 1);
  ledger.graces.reconsider();
  t.strictSame(told, []);
  clock.pass(1);
  ledger.graces.reconsider();
  t.strictSame(told, ['alice']);
  ledger.graces.reconsider();
  t.strictSame(told, ['alice'], 'once');
  unwatch();
});

/** Has all graces looked at again. */
function reconciled(ledger: Ledger): Promise<void> {
  ledger.graces.takeTurn();
  return ledger.graces.settled();
}

t.test('a grace that a wrong clock began begins again once the clock was right for an hour', async t => {
  const { clock, ledger } = await opened(t);
  const wrong = clock.wall();
  clock.wallMs = wrong - 3 * day;
  await reconciled(ledger);
  clock.pass(hour - 120_000);
  await reconciled(ledger);
  t.strictSame(sinceOf(ledger), [[null, wrong]]);
  clock.pass(120_000);
  const right = clock.wall();
  await reconciled(ledger);
  t.match(decided(ledger), { allowed: true, grace: { until: right + 7 * day } });
  t.strictSame(sinceOf(ledger), [[null, right]]);
});

t.test('a clock that is behind for a moment ends no grace', async t => {
  const { clock, ledger } = await opened(t);
  const begun = clock.wall();
  clock.pass(day);
  await reconciled(ledger);
  clock.wallMs -= 30 * day;
  await reconciled(ledger);
  t.match(decided(ledger), { allowed: true, grace: { until: begun + 7 * day } });
  clock.wallMs += 30 * day;
  await reconciled(ledger);
  t.match(decided(ledger), { allowed: true, grace: { until: begun + 7 * day } });
  t.strictSame(sinceOf(ledger), [[null, begun]]);
});

t.test('another limit is another grace, and a changed one goes on', async t => {
  const { clock, ledger } = await opened(t);
  const begun = clock.wall();
  clock.pass(day);
  ledger.settings = { ...week, totalBytes: 10_200 };
  await ledger.graces.settled();
  t.strictSame(sinceOf(ledger), [[null, begun]], 'still over it');
  await ledger.documents.transact(transaction => {
    const { changes } = transaction;
    createRule(changes, { name: 'small', limitBytes: 10_400, subjects: ['size:git:all'], graceMs: day });
    createGroup(changes, { name: 'free', rules: [{ name: 'small' }] });
    assign(changes, transaction.mustBeOwner('alice').id, 'free');
  });
  await ledger.graces.settled();
  t.match(decided(ledger), { allowed: true, rule: 'small', grace: { until: clock.wall() + day } });
  t.ok(sinceOf(ledger)?.some(([rule, since]) => rule === 'small' && since === clock.wall()));
  await ledger.documents.transact(({ changes }) => editRule(changes, 'small', { limitBytes: 20_000 }));
  await ledger.graces.settled();
  t.match(decided(ledger), { allowed: true, rule: 'small', grace: undefined });
  t.notOk(sinceOf(ledger)?.some(([rule]) => rule === 'small'));
  await ledger.documents.transact(({ changes }) =>
    editRule(changes, 'small', { limitBytes: 10_400, graceMs: 0 }),
  );
  await ledger.graces.settled();
  t.match(decided(ledger), { allowed: false, rule: 'small', grace: undefined });
});

t.test('a limit beside which another group allows begins no grace', async t => {
  const { ledger } = await opened(t, 10_500);
  await ledger.documents.transact(transaction => {
    const { changes } = transaction;
    for (const [name, limitBytes] of [
      ['small', 10_000],
      ['large', 50_000],
    ] as const) {
      createRule(changes, { name, limitBytes, subjects: ['size:all'] });
      createGroup(changes, { name, rules: [{ name }] });
      assign(changes, transaction.mustBeOwner('alice').id, name);
    }
  });
  await ledger.graces.settled();
  t.equal(sinceOf(ledger), undefined);
});

t.test('what only reported begins anew when it refuses, since nobody was warned', async t => {
  const { clock, ledger } = await opened(t, 5000);
  await ledger.documents.transact(transaction => {
    const { changes } = transaction;
    createRule(changes, { name: 'tried', limitBytes: 4800, subjects: ['size:all'], mode: 'report' });
    createRule(changes, { name: 'total', limitBytes: 10_000, subjects: ['size:all'] });
    createGroup(changes, { name: 'free', rules: [{ name: 'tried' }] });
    addRuleToGroup(changes, 'free', 'total');
    assign(changes, transaction.mustBeOwner('alice').id, 'free');
  });
  await ledger.graces.settled();
  t.match(decided(ledger), { allowed: true, rule: 'total' });
  t.notOk('reported' in decided(ledger), 'its grace lets it through');
  clock.pass(8 * day);
  t.match(decided(ledger), { allowed: true, rule: 'total', reported: { allowed: false, rule: 'tried' } });
  await ledger.documents.transact(({ changes }) => editRule(changes, 'tried', { mode: 'enforce' }));
  t.match(decided(ledger), { allowed: true, rule: 'tried', grace: { until: clock.wall() + 7 * day } });
  await ledger.graces.settled();
  t.strictSame(sinceOf(ledger), [['tried', clock.wall()]]);
  ledger.settings = { ...week, mode: 'report' };
  clock.pass(7 * day);
  await ledger.graces.settled();
  t.match(decided(ledger), { allowed: false }, 'what it would refuse is still told');
  ledger.settings = week;
  t.match(
    decided(ledger),
    { allowed: true, grace: { until: clock.wall() + 7 * day } },
    'a report warns nobody',
  );
  await ledger.graces.settled();
  t.strictSame(sinceOf(ledger), [['tried', clock.wall()]]);
  clock.pass(7 * day);
  t.match(decided(ledger), { allowed: false }, 'once');
  await ledger.documents.transact(({ changes }) => editRule(changes, 'tried', { mode: 'report' }));
  await ledger.graces.settled();
  await ledger.documents.transact(({ changes }) => editRule(changes, 'tried', { mode: 'enforce' }));
  t.match(decided(ledger), { allowed: true, rule: 'tried', grace: { until: clock.wall() + 7 * day } });
});

t.test('switched off, nothing is kept; without GRACE neither', async t => {
  const { clock, ledger } = await opened(t);
  ledger.settings = { ...week, enabled: false };
  await ledger.graces.settled();
  t.equal(sinceOf(ledger), undefined);
  clock.pass(day);
  ledger.settings = week;
  await ledger.graces.settled();
  t.strictSame(sinceOf(ledger), [[null, clock.wall()]]);
  ledger.settings = settings;
  await ledger.graces.settled();
  t.equal(sinceOf(ledger), undefined);
  t.match(decided(ledger), { allowed: false, grace: undefined });
});

t.test('another host whose turn it is begins graces, and this one follows', async t => {
  const { ledger } = await opened(t, 9000);
  await ledger.graces.close();
  let isTurn = false;
  ledger.graces.start({ pauseMs: 0, isTurn: () => isTurn });
  walk(ledger, 'alice/app', 10_500);
  await ledger.graces.settled();
  t.equal(sinceOf(ledger), undefined);
  t.match(decided(ledger), { allowed: true, grace: {} }, 'and decides as if it began now');
  isTurn = true;
  ledger.graces.takeTurn();
  await ledger.graces.settled();
  t.equal(sinceOf(ledger)?.length, 1);
});

t.test('while the store is away a grace runs all the same, and is written later', async t => {
  const clock = new SetClock();
  const { ledger, state } = await openLosable(t, clock);
  sweepOnce(ledger);
  ledger.settings = week;
  walk(ledger, 'alice/app', 9000);
  await ledger.kept();
  ledger.graces.start({ pauseMs: 0 });
  await ledger.graces.settled();
  state.isAway = true;
  walk(ledger, 'alice/app', 10_500);
  await ledger.graces.settled();
  t.strictSame(state.warned.filter(words => words.startsWith('graces')).length, 1);
  const until = clock.wall() + 7 * day;
  clock.pass(7 * day);
  t.match(decided(ledger), { allowed: false, grace: { until } });
  state.isAway = false;
  await ledger.graces.settled();
  t.strictSame(sinceOf(ledger), [[null, until - 7 * day]]);
});

t.test('a host that has lost its turn does not write what it saw before', async t => {
  const { ledger, state } = await openLosable(t);
  sweepOnce(ledger);
  ledger.settings = week;
  walk(ledger, 'alice/app', 9000);
  await ledger.kept();
  let isTurn = true;
  ledger.graces.start({ pauseMs: 0, isTurn: () => isTurn });
  await ledger.graces.settled();
  state.isAway = true;
  walk(ledger, 'alice/app', 10_500);
  await ledger.graces.settled();
  t.equal(ledger.graces.now(ledger.ownerUsage('alice').id).begun.size, 1, 'it waits for the store');
  isTurn = false;
  state.isAway = false;
  await ledger.graces.settled();
  t.equal(sinceOf(ledger), undefined);
});

t.test('nothing is kept of owners who are gone', async t => {
  const { ledger } = await opened(t);
  const { id } = ledger.ownerUsage('alice');
  ledger.walks.recordGone('/srv/git/alice/app.git', ledger.walks.nextSeq());
  await ledger.documents.transact(transaction => transaction.deleteOwner('alice'));
  ledger.graces.takeTurn();
  await ledger.graces.settled();
  t.equal(ledger.documents.snapshot.get(graceKind, String(id)), undefined);
});

const anyStep = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(fc.constant('bytes' as const), fc.constantFrom(900, 1000, 1001, 1099, 1100, 5000)),
  },
  { weight: 6, arbitrary: fc.tuple(fc.constant('pass' as const), fc.constantFrom(1, 3, 7)) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('limit' as const), fc.constantFrom(1000, 2000)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('reopen' as const), fc.constant(0)) },
);

t.test('whatever comes, the answers are those of a book with one date in it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 1, maxLength: 25 }), async steps => {
      const file = `${directoryFor(t)}/softquota.db`;
      const clock = new SetClock();
      let limit = 1000;
      const open = async () => {
        const ledger = await openOn(await openStore({ file }), { clock });
        sweepOnce(ledger);
        ledger.settings = { ...week, totalBytes: limit };
        ledger.graces.start({ pauseMs: 0 });
        await ledger.graces.settled();
        return ledger;
      };
      let ledger = await open();
      let bytes = 0;
      let since: number | null = null;
      try {
        for (const [kind, value] of steps) {
          if (kind === 'bytes') {
            bytes = value;
            walk(ledger, 'alice/app', bytes);
          } else if (kind === 'pass') clock.pass(value * day);
          else if (kind === 'limit') {
            limit = value;
            ledger.settings = { ...week, totalBytes: limit };
          } else {
            await ledger.close();
            ledger = await open();
          }
          await ledger.graces.settled();
          since = bytes > limit ? (since ?? clock.wall()) : null;
          const isAllowed = since === null || (clock.wall() < since + 7 * day && bytes - limit < limit / 10);
          const { allowed, grace } = decided(ledger);
          const until = since === null ? undefined : since + 7 * day;
          if (allowed !== isAllowed || grace?.until !== until) return false;
        }
        return true;
      } finally {
        await ledger.close();
      }
    }),
    { numRuns: 60 },
  );
});
