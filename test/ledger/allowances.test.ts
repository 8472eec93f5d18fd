/** Allowances count from their grant to their end, to the second, and end by themselves. */

import t, { type Test } from 'tap';
import type { Ledger } from '../../src/ledger/index.ts';
import {
  type AllowanceDocument,
  allowanceKind,
  createAllowance,
  endAllowance,
  everyAllowance,
} from '../../src/policy/index.ts';
import { openLosable, repos, SetClock, World, walk } from './world.ts';

const hour = 3_600_000;

function give(
  ledger: Ledger,
  clock: SetClock,
  given: Partial<AllowanceDocument> = {},
  to = 'alice',
): Promise<string> {
  return ledger.documents.transact(transaction => {
    const owner = transaction.mustBeOwner(to);
    return createAllowance(transaction.changes, owner.id, {
      bytes: 5000,
      until: clock.wall() + hour,
      why: 'a release',
      grantedBy: 'root',
      grantedAt: clock.wall(),
      request: null,
      automatic: false,
      ...given,
    }).id;
  });
}

/** Resolves when the ledger tells of this owner, or of anybody. */
function told(ledger: Ledger): Promise<string | null> {
  return new Promise(resolve => {
    const unwatch = ledger.watch(key => {
      unwatch();
      resolve(key);
    });
  });
}

/** Ends what is due, of which the ledger tells. */
async function ended(ledger: Ledger): Promise<string | null> {
  const owner = told(ledger);
  ledger.graces.start();
  await ledger.graces.close();
  return owner;
}

async function openWith(t: Test, bytes = 12_000) {
  const clock = new SetClock();
  const world = new World(t, { clock });
  const ledger = await world.open();
  walk(ledger, 'alice/app', bytes);
  return { clock, world, ledger };
}

t.test('a decision counts an allowance to the last moment before its end', async t => {
  const { clock, ledger } = await openWith(t);
  t.match(ledger.decide('alice', repos).decision, { allowed: false, limit: 10_000 });
  await give(ledger, clock, { until: clock.wall() + hour + 700 });
  t.match(ledger.decide('alice', repos).decision, { allowed: true, limit: 15_000 });
  t.match(ledger.explain('alice', repos).decision, { allowed: true, limit: 15_000 });
  clock.pass(hour - 1);
  t.match(ledger.decide('alice', repos).decision, { allowed: true }, 'a part of a second does not count');
  clock.pass(1);
  t.match(ledger.decide('alice', repos).decision, { allowed: false, limit: 10_000 });
  t.match(ledger.decide('bob', repos).decision, { limit: 10_000 });
});

t.test('of several each ends by itself', async t => {
  const { clock, ledger } = await openWith(t);
  await give(ledger, clock);
  const second = await give(ledger, clock, { bytes: 1000, until: clock.wall() + 3 * hour });
  t.match(ledger.ownerUsage('alice').allowance, { bytes: 6000, count: 2 });
  t.equal(ledger.ownerUsage('alice').allowance, ledger.ownerUsage('alice').allowance);
  clock.pass(2 * hour);
  t.match(ledger.ownerUsage('alice').allowance, { bytes: 1000, count: 1 });
  await ledger.documents.transact(transaction => {
    const { id } = transaction.mustBeOwner('alice');
    endAllowance(transaction.changes, id, second);
    t.throws(() => endAllowance(transaction.changes, id, second), { code: 'not_found' });
  });
  t.equal(ledger.ownerUsage('alice').allowance, null);
});

t.test('the end is told with an event, and the record is taken out a day later', async t => {
  const { clock, ledger, world } = await openWith(t);
  const id = await give(ledger, clock);
  ledger.graces.start({ pauseMs: 0 });
  await ledger.graces.settled();
  clock.pass(hour);
  const tells = told(ledger);
  ledger.graces.reconsider();
  t.equal(await tells, 'alice');
  t.match(ledger.decide('alice', repos).decision, { allowed: false });
  await ledger.graces.close();
  const [event, ...others] = await ledger.eventLog.events({ kinds: ['allowance'], limit: 9 });
  t.strictSame(others, []);
  t.match(JSON.parse(event?.text ?? ''), {
    by: null,
    owner: 'alice',
    action: 'ended',
    allowance: id,
    bytes: 5000,
    until: new Date(clock.wall()).toISOString(),
    why: 'a release',
  });
  const record = (of: Ledger) =>
    of.documents.snapshot.get(allowanceKind, String(of.ownerUsage('alice').id ?? 0));
  const again = await world.open();
  t.equal(again.ownerUsage('alice').allowance, null);
  t.match(record(again), [{ id, endedAt: clock.wall() }]);
  clock.pass(24 * hour);
  await ended(again);
  t.notOk(record(again));
  t.equal((await again.eventLog.events({ kinds: ['allowance'], limit: 9 })).length, 1, 'told once');
});

t.test('an allowance that a wrong clock ended goes on once the clock is right', async t => {
  const { clock, ledger, world } = await openWith(t);
  await give(ledger, clock);
  await ledger.kept();
  await world.close();
  const right = clock.wall();
  for (const years of [120, 0]) {
    clock.wallMs = right + years * 365 * 24 * hour;
    const again = await world.open();
    again.graces.start();
    await again.graces.close();
    t.equal(again.decide('alice', repos).decision.allowed, years === 0);
    await world.close();
  }
  clock.pass(hour);
  const again = await world.open();
  await ended(again);
  t.match(again.decide('alice', repos).decision, { allowed: false });
  const events = await again.eventLog.events({ kinds: ['allowance'], limit: 9 });
  t.equal(events.length, 2, 'and its end is told at its time');
});

t.test('what ended while nobody looked ends at the next start', async t => {
  const { clock, ledger, world } = await openWith(t);
  await give(ledger, clock);
  await ledger.kept();
  await world.close();
  clock.pass(2 * hour);
  const again = await world.open();
  t.match(again.decide('alice', repos).decision, { allowed: false }, 'already before that');
  t.equal(await ended(again), 'alice');
  t.equal((await again.eventLog.events({ kinds: ['allowance'], limit: 9 })).length, 1);
});

t.test('while the store is away an allowance still ends, and its record goes later', async t => {
  const clock = new SetClock();
  const { ledger, state } = await openLosable(t, clock);
  walk(ledger, 'alice/app', 12_000);
  await give(ledger, clock);
  await ledger.kept();
  ledger.graces.start({ pauseMs: 0 });
  await ledger.graces.settled();
  clock.pass(hour);
  state.isAway = true;
  const tells = told(ledger);
  ledger.graces.reconsider();
  t.equal(await tells, 'alice');
  await ledger.graces.settled();
  t.strictSame(state.warned.slice(-1), [
    'graces and ends of allowances count, and are written when the store can be written',
  ]);
  t.match(ledger.decide('alice', repos).decision, { allowed: false });
  state.isAway = false;
  const id = ledger.ownerUsage('alice').id ?? 0;
  t.ok(ledger.documents.snapshot.get(allowanceKind, String(id)));
  await ledger.graces.settled();
  t.match(ledger.documents.snapshot.get(allowanceKind, String(id)), [{ endedAt: clock.wall() }]);
});

t.test('an end is told at its time, even if nothing could be written since the start', async t => {
  const clock = new SetClock();
  const { ledger, state } = await openLosable(t, clock);
  walk(ledger, 'alice/app', 12_000);
  await give(ledger, clock);
  await give(ledger, clock, { until: clock.wall() + hour + 1000 });
  await ledger.kept();
  clock.pass(hour);
  state.isAway = true;
  ledger.graces.start({ pauseMs: 0 });
  await ledger.graces.settled();
  const tells = told(ledger);
  clock.pass(1000);
  const waiting = setTimeout(() => {}, 20_000);
  t.equal(await tells, 'alice');
  clearTimeout(waiting);
  t.equal(ledger.ownerUsage('alice').allowance, null);
});

t.test('allowances that end at once hold up nothing else: they end in several rounds', async t => {
  const { clock, ledger } = await openWith(t);
  for (let at = 0; at < 120; at++) walk(ledger, `owner-${at}/app`, 100);
  const until = clock.wall() + hour;
  for (let at = 0; at < 120; at++) await give(ledger, clock, { until }, `owner-${at}`);
  clock.pass(hour);
  ledger.graces.start({ pauseMs: 0 });
  const ended = () =>
    [...everyAllowance(ledger.documents.snapshot)].filter(([, { endedAt }]) => endedAt).length;
  const counts: number[] = [];
  while (ended() < 120) {
    await ledger.graces.settled();
    counts.push(ended());
  }
  t.strictSame(counts, [50, 100, 120]);
});

t.test('a host tells its own watchers of an end, and writes it in its turn', async t => {
  const { clock, ledger } = await openWith(t);
  await give(ledger, clock);
  let isTurn = false;
  ledger.graces.start({ pauseMs: 0, isTurn: () => isTurn });
  await ledger.graces.settled();
  clock.pass(hour);
  const tells = told(ledger);
  ledger.graces.reconsider();
  t.equal(await tells, 'alice');
  await ledger.graces.settled();
  const record = () => ledger.documents.snapshot.get(allowanceKind, String(ledger.ownerUsage('alice').id));
  t.notMatch(record(), [{ endedAt: Number }]);
  isTurn = true;
  ledger.graces.takeTurn();
  await ledger.graces.settled();
  t.match(record(), [{ endedAt: clock.wall() }]);
});

t.test('an allowance has bounds', async t => {
  const { clock, ledger } = await openWith(t);
  const faults = [
    { bytes: 0 },
    { bytes: 2 ** 53 },
    { until: clock.wall() },
    { until: clock.wall() + 999 - (clock.wall() % 1000) },
    { until: clock.wall() + 3651 * 24 * hour },
  ];
  for (const fault of faults) await t.rejects(give(ledger, clock, fault), { code: 'invalid' });
  for (let at = 0; at < 50; at++) await give(ledger, clock);
  await t.rejects(give(ledger, clock), { code: 'conflict' });
  t.match(ledger.ownerUsage('alice').allowance, { bytes: 250_000, count: 50 });
  await ledger.documents.transact(transaction =>
    transaction.changes.remove(allowanceKind, String(transaction.mustBeOwner('alice').id)),
  );
  await give(ledger, clock, { bytes: Number.MAX_SAFE_INTEGER });
  await give(ledger, clock, { bytes: Number.MAX_SAFE_INTEGER });
  t.match(ledger.decide('alice', repos).decision, { allowed: true, limit: Number.MAX_SAFE_INTEGER });
});
