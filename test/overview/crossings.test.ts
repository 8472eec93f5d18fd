/**
 * Coming to a threshold or to the limit is told once, and so is being below it again; with the laws of the
 * levels that decide it.
 */

import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { SoftquotaError } from '../../src/errors.ts';
import { Events } from '../../src/overview/index.ts';
import { belowAll, inForce, nextLevel, refusing } from '../../src/overview/levels.ts';
import { createGroup, editRule } from '../../src/policy/index.ts';
import { decide, leaves, reachedThreshold } from '../../src/quota/index.ts';
import { World as LedgerWorld, lfs, repos, settings, silentLog, sweepOnce, walk } from '../ledger/world.ts';
import * as any from '../quota/arbitraries.ts';
import { grouped } from '../quota/grouped.ts';
import { World } from './world.ts';

/**
 * The events so far, in short. The limit is 10,000 and the thresholds are 80 and 90 unless a test says
 * otherwise.
 */
async function crossings(world: World, owner?: string): Promise<readonly unknown[]> {
  const told = await world.told('threshold', owner === undefined ? {} : { owner });
  return told.map(({ owner, from, to, used, limit }) => [owner, from, to, used, limit]);
}

t.test('each threshold and the limit is told when it is come to, on the way up and down', async t => {
  const world = await World.open(t);
  for (const bytes of [7999, 8000, 8999, 9500, 10_000, 10_001, 20_000, 9000, 8500, 100]) {
    await world.store('alice', bytes);
  }
  t.strictSame(await crossings(world), [
    ['alice', null, 80, 8000, 10_000],
    ['alice', 80, 90, 9500, 10_000],
    ['alice', 90, 'limit', 10_001, 10_000],
    ['alice', 'limit', 90, 9000, 10_000],
    ['alice', 90, 80, 8500, 10_000],
    ['alice', 80, null, 100, 10_000],
  ]);
  const [first] = await world.told('threshold');
  t.match(first, { direction: 'up', at: '2026-11-21T09:00:02.000Z', group: null, rule: null });
  t.strictSame(first?.subjects, leaves, 'the built-in rule bears on all kinds');
  t.equal((await world.told('threshold')).at(-1)?.direction, 'down');
});

t.test('who hovers at a threshold or at the limit is told of once', async t => {
  const world = await World.open(t);
  for (let turn = 0; turn < 5; turn++) {
    await world.store('alice', 8001);
    await world.store('alice', 7850);
    await world.store('bob', 10_001);
    await world.store('bob', 9800);
  }
  t.strictSame(await crossings(world), [
    ['alice', null, 80, 8001, 10_000],
    ['bob', null, 'limit', 10_001, 10_000],
  ]);
  await world.store('alice', 7839);
  await world.store('bob', 9799);
  t.strictSame((await crossings(world)).slice(2), [
    ['alice', 80, null, 7839, 10_000],
    ['bob', 'limit', 90, 9799, 10_000],
  ]);
});

t.test('kinds of data that go by the same rule are one event, others are others', async t => {
  const world = await World.open(t);
  await grouped(
    world.ledger,
    ['alice'],
    [
      { name: 'git', limitBytes: 100, subjects: ['size:git:all'] },
      { name: 'large files', limitBytes: 50, subjects: [lfs] },
      { name: 'rest', limitBytes: -1, subjects: ['size:assets:all'] },
    ],
  );
  walk(world.ledger, 'alice/app', 45, { leaf: repos });
  walk(world.ledger, 'alice/big', 45, { leaf: lfs });
  const told = await world.told('threshold');
  t.match(
    told.map(({ rule, to, used, subjects }) => ({ rule, to, used, subjects })),
    [
      { rule: 'git', to: 90, used: 90, subjects: ['size:repos:public', 'size:repos:private'] },
      { rule: 'large files', to: 90, used: 45, subjects: ['size:git:lfs'] },
    ],
  );
});

t.test('a change of policy or of settings brings owners to a threshold as a push does', async t => {
  const world = await World.open(t);
  await world.store('alice', 5000);
  await world.store('bob', 5000);
  world.clock.pass(1000);
  await grouped(world.ledger, ['alice'], [{ name: 'total', limitBytes: 6000, subjects: ['size:all'] }]);
  t.strictSame(await crossings(world), [['alice', null, 80, 5000, 6000]]);
  world.clock.pass(1000);
  await world.ledger.documents.transact(({ changes }) => editRule(changes, 'total', { limitBytes: 4000 }));
  t.strictSame((await crossings(world)).slice(1), [['alice', 80, 'limit', 5000, 4000]]);
  world.clock.pass(1000);
  world.ledger.settings = { ...settings, totalBytes: 5500 };
  t.strictSame((await crossings(world)).slice(2), [['bob', null, 90, 5000, 5500]]);
  world.clock.pass(1000);
  await world.ledger.documents.transact(({ changes }) => editRule(changes, 'total', { limitBytes: -1 }));
  t.strictSame((await crossings(world)).slice(3), [['alice', 'limit', null, 5000, -1]]);
});

t.test('what a group has together is no event of a member', async t => {
  const world = await World.open(t);
  await world.store('alice', 50);
  await world.store('bob', 9500);
  const together = { name: 'together', limitBytes: 100, subjects: ['size:all'], per: 'group' } as const;
  await grouped(world.ledger, ['alice', 'bob'], [together]);
  await world.store('alice', 8000);
  t.notOk(world.ledger.decide('alice', repos).decision.allowed);
  t.strictSame(
    (await crossings(world)).filter(event => Array.isArray(event) && event[0] !== null),
    [
      ['bob', null, 90, 9500, 10_000],
      ['alice', null, 80, 8000, 10_000],
    ],
  );
});

t.test('a rule with percentages of its own is told of at these, an owner or a group together', async t => {
  const world = await World.open(t);
  const subjects = ['size:all' as const];
  const each = { name: 'each', limitBytes: 1000, subjects, warnAt: [50] };
  const together = { name: 'together', limitBytes: 2000, subjects, per: 'group', warnAt: [30, 70] } as const;
  const silent = { name: 'silent', limitBytes: 1000, subjects, warnAt: [] };
  await grouped(world.ledger, ['alice', 'bob'], [each, together], 'lab');
  await grouped(world.ledger, ['carol'], [silent], 'quiet');
  for (const [owner, bytes] of [
    ['alice', 499],
    ['alice', 850],
    ['bob', 600],
    ['alice', 100],
    ['carol', 1000],
  ] as const) {
    await world.store(owner, bytes);
  }
  const told = (await crossings(world)).map(event => JSON.stringify(event));
  t.strictSame(told, [
    '["alice",null,50,850,1000]',
    '[null,null,30,850,2000]',
    '["bob",null,50,600,1000]',
    '[null,30,70,1450,2000]',
    '["alice",50,null,100,1000]',
    '[null,70,30,700,2000]',
  ]);
});

t.test('a restart tells nothing anew, and what changed meanwhile', async t => {
  const world = await World.open(t);
  await world.store('alice', 8500);
  await world.store('bob', 8500);
  await world.restart();
  t.equal((await crossings(world)).length, 2);
  world.clock.pass(1000);
  await world.restart({ settings: { totalBytes: 9000 } });
  t.strictSame((await crossings(world)).slice(2).sort(), [
    ['alice', 80, 90, 8500, 9000],
    ['bob', 80, 90, 8500, 9000],
  ]);
});

t.test('while quotas are switched off nobody comes to anything, and levels stay', async t => {
  const world = await World.open(t);
  await world.store('alice', 8500);
  world.ledger.settings = { ...settings, enabled: false };
  await world.store('alice', 100);
  await world.store('bob', 20_000);
  t.equal((await crossings(world)).length, 1);
  world.clock.pass(1000);
  world.ledger.settings = settings;
  t.strictSame((await crossings(world)).slice(1).sort(), [
    ['alice', 80, null, 100, 10_000],
    ['bob', null, 'limit', 20_000, 10_000],
  ]);
});

t.test('a threshold that is set anew is told of, one that is taken away is not', async t => {
  const world = await World.open(t);
  await world.store('alice', 8500);
  world.clock.pass(1000);
  world.ledger.settings = { ...settings, warnAt: [50, 90] };
  await world.store('alice', 8501);
  t.equal((await crossings(world)).length, 1, '80 counts as 50 now');
  world.ledger.settings = { ...settings, warnAt: [] };
  await world.store('alice', 9999);
  t.equal((await crossings(world)).length, 1);
  world.ledger.settings = { ...settings, warnAt: [95] };
  t.strictSame((await crossings(world)).slice(1), [['alice', null, 95, 9999, 10_000]]);
});

t.test('where no rule covers there is nothing to come to', async t => {
  const world = await World.open(t, { settings: { uncovered: 'deny', defaultGroups: ['empty'] } });
  await world.ledger.documents.transact(({ changes }) => createGroup(changes, { name: 'empty', rules: [] }));
  await world.store('alice', 20_000);
  t.strictSame(await crossings(world), []);
});

t.test('an owner whose bytes cannot be added up is left out, and all others are told of', async t => {
  const world = await World.open(t);
  for (const name of ['one', 'two']) walk(world.ledger, `huge/${name}`, Number.MAX_SAFE_INTEGER);
  await world.store('alice', 8000);
  t.strictSame(await crossings(world), [['alice', null, 80, 8000, 10_000]]);
});

t.test('who is renamed stands where they stood', async t => {
  const world = await World.open(t);
  await world.ledger.documents.transact(transaction => transaction.createOwner('alice'));
  await world.ledger.reports.reportUnit('alice', lfs, 'store', 8500);
  t.equal((await crossings(world)).length, 1);
  world.clock.pass(1000);
  await world.ledger.documents.transact(transaction =>
    transaction.renameOwner('alice', 'carol', () => false),
  );
  await world.ledger.reports.reportUnit('alice', lfs, 'store', 0);
  await world.ledger.reports.reportUnit('carol', lfs, 'store', 8500);
  t.strictSame(await crossings(world, 'carol'), [['alice', null, 80, 8500, 10_000]]);
});

t.test('nothing is kept of where an owner stood who is deleted', async t => {
  const world = await World.open(t);
  await world.ledger.reports.reportUnit('alice', lfs, 'store', 8500);
  await world.events.kept();
  t.match(await world.ledger.eventLog.levels(), [{ ownerId: world.ledger.ownerUsage('alice').id }]);
  world.clock.pass(1000);
  await world.ledger.reports.reportUnit('alice', lfs, 'store', 0);
  await world.ledger.documents.transact(transaction => transaction.deleteOwner('alice'));
  await world.events.kept();
  t.strictSame(await world.ledger.eventLog.levels(), []);
  world.clock.pass(1000);
  await world.ledger.reports.reportUnit('alice', lfs, 'store', 8500);
  t.strictSame(
    (await crossings(world)).at(-1),
    ['alice', null, 80, 8500, 10_000],
    'the next one begins at the bottom',
  );
});

t.test('what a daemon that was killed left behind of a deleted owner goes at the next start', async t => {
  const world = await World.open(t);
  world.ledger.eventLog.enqueue({ levels: [{ ownerId: 4711, text: '{"size:git:lfs":80}' }] });
  await world.ledger.kept();
  await world.restart();
  await world.events.kept();
  t.strictSame(await world.ledger.eventLog.levels(), []);
});

t.test('many who cross at once are all told of', async t => {
  const world = await World.open(t);
  const owners = Array.from({ length: 5200 }, (_, at) => `owner${at}`);
  for (const owner of owners) walk(world.ledger, `${owner}/app`, 8500);
  const told = await world.told('threshold');
  t.equal(new Set(told.map(({ owner }) => owner)).size, owners.length);
  t.equal(told.length, owners.length);
  t.equal((await world.ledger.eventLog.levels()).length, owners.length);
});

t.test('before the first sweep nobody is known to be below a threshold again', async t => {
  const world = await World.open(t, { isSwept: false });
  await world.store('alice', 9500);
  await world.store('alice', 100);
  const up = [['alice', null, 90, 9500, 10_000]];
  t.strictSame(await crossings(world), up, 'as after a restore: the rest may not be measured yet');
  world.clock.pass(1000);
  sweepOnce(world.ledger);
  t.strictSame(await crossings(world), [...up, ['alice', 90, null, 100, 10_000]]);
});

t.test('what was crossed while the store was away is told once it is back', async t => {
  const world = await World.open(t);
  world.isAway = true;
  await world.store('alice', 8500);
  await world.store('alice', 9500);
  t.strictSame((await world.events.list({ limit: 9 })).events, []);
  world.isAway = false;
  await world.restart();
  t.strictSame(await crossings(world), [
    ['alice', null, 80, 8500, 10_000],
    ['alice', 80, 90, 9500, 10_000],
  ]);
});

const question = fc
  .record({ question: any.question, last: fc.nat(refusing) })
  .map(({ question: { settings, assigned, defaults, usage, subject }, last }) => ({
    settings,
    last: inForce(settings, last),
    decision: decide({ settings, standing: any.standing(assigned, defaults), usage, subject }),
  }));

t.test('what a limit refuses is at the highest level, unless nothing is stored at limit 0', async () => {
  const law = fc.property(question, ({ settings, decision, last }) => {
    if (decision.by !== 'rule' || decision.allowed) return;
    const isEmpty = decision.limit === 0 && decision.used === 0;
    assert.equal(nextLevel(settings, decision, last), isEmpty ? belowAll : refusing);
  });
  fc.assert(law, { numRuns: 2000 });
});

t.test('the level is at least the threshold reached, and never above both that and the last', async () => {
  const law = fc.property(question, ({ settings, decision, last }) => {
    const bottom = nextLevel(settings, decision, belowAll);
    const level = nextLevel(settings, decision, last);
    assert.ok(level >= (reachedThreshold(settings, decision) ?? belowAll));
    assert.ok(level >= bottom);
    assert.ok(level <= Math.max(bottom, last));
  });
  fc.assert(law, { numRuns: 2000 });
});

t.test('as long as nothing changes, nothing is told', async () => {
  const law = fc.property(question, ({ settings, decision, last }) => {
    const level = nextLevel(settings, decision, last);
    assert.equal(nextLevel(settings, decision, level), level);
    assert.equal(inForce(settings, level), level);
  });
  fc.assert(law, { numRuns: 2000 });
});

t.test('levels in the store that cannot be understood count as the lowest', async t => {
  const world = await World.open(t);
  await world.store('alice', 8500);
  const ownerId = world.ledger.ownerUsage('alice').id ?? 0;
  const all = (level: unknown) => JSON.stringify(Object.fromEntries(leaves.map(leaf => [leaf, level])));
  const texts = ['x', '[]', all('80'), all(103)];
  for (const text of texts) {
    await world.events.kept();
    world.ledger.eventLog.enqueue({ levels: [{ ownerId, text }] });
    await world.ledger.kept();
    world.clock.pass(1000);
    await world.restart();
  }
  const again = ['alice', null, 80, 8500, 10_000];
  t.strictSame(await crossings(world), [again, ...texts.map(() => again)]);
});

t.test('thresholds are told from what was told last, as soon as that can be read', async t => {
  const ledger = await new LedgerWorld(t).open();
  walk(ledger, 'alice/app', 9500);
  walk(ledger, 'bob/app', 9500);
  const alice = ledger.documents.owners.named('alice')?.id ?? 0;
  ledger.eventLog.enqueue({
    levels: [{ ownerId: alice, text: JSON.stringify(Object.fromEntries(leaves.map(leaf => [leaf, 90]))) }],
  });
  await ledger.kept();
  const { eventLog } = ledger;
  const [events, levels] = [eventLog.events.bind(eventLog), eventLog.levels.bind(eventLog)];
  const away = () => Promise.reject(new SoftquotaError('store_away', 'not now'));
  Object.assign(eventLog, { events: away, levels: away });
  const errors: string[] = [];
  const log = { ...silentLog, error: (_: object, message: string) => errors.push(message) };
  const record = await Events.open({ ledger, host: 'here', keepMs: 1e9, log, now: Date.now, pauseMs: 1 });
  record.start();
  await record.kept();
  Object.assign(eventLog, { events, levels });
  t.strictSame((await record.list({ limit: 9 })).events, [], 'nothing is told without');
  await record.kept();
  await record.kept();
  const told = (await record.list({ limit: 9 })).events;
  t.match(told, [{ kind: 'threshold', owner: 'bob', to: 90 }]);
  t.equal(told.length, 1, 'of alice it was told before');
  t.strictSame(errors, []);
  await record.close();
});
