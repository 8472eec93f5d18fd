/**
 * Refusals are added up by owner, actor, kind of data and hour; none is lost, and nobody can flood the
 * record.
 */

import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { Tally } from '../../src/overview/tally.ts';
import { createGroup } from '../../src/policy/index.ts';
import { leaves, type RuledRefused } from '../../src/quota/index.ts';
import { lfs, repos, settings, walk } from '../ledger/world.ts';
import { grouped } from '../quota/grouped.ts';
import { dayMs, hourMs, World } from './world.ts';

/** Nobody may store anything. */
const nothing = { totalBytes: 0 } as const;

t.test('refusals of one hour are one event, with the first, the last and the count', async t => {
  const world = await World.open(t);
  walk(world.ledger, 'Alice/app', 10_001);
  world.refuse('Alice', { actor: 'carol' });
  world.clock.pass(10 * 60_000);
  walk(world.ledger, 'Alice/app', 12_000);
  world.refuse('alice', { actor: 'carol' });
  t.strictSame(
    (await world.told('refusal')).map(({ id, ...event }) => event),
    [
      {
        kind: 'refusal',
        at: '2026-11-21T09:00:00.000Z',
        last_at: '2026-11-21T09:10:00.000Z',
        count: 2,
        owner: 'Alice',
        actor: 'carol',
        subject: 'size:repos:private',
        mode: 'enforce',
        others: false,
        host: 'here',
        used: 12_000,
        limit: 10_000,
        group: null,
        rule: null,
        full_disk: false,
      },
    ],
  );
});

t.test('another owner, actor, kind of data, mode or hour is another event', async t => {
  const world = await World.open(t, { settings: nothing });
  const { ledger } = world;
  world.refuse('alice', { actor: 'carol' });
  world.refuse('bob', { actor: 'carol' });
  world.refuse('alice', { actor: 'dave' });
  world.refuse('alice');
  world.refuse('alice', { actor: 'carol', subject: lfs });
  ledger.settings = { ...settings, ...nothing, mode: 'report' };
  world.refuse('alice', { actor: 'carol' });
  ledger.settings = { ...settings, ...nothing };
  world.clock.pass(hourMs);
  world.refuse('alice', { actor: 'carol' });
  const told = await world.told('refusal');
  t.strictSame(
    told.map(({ owner, actor, subject, mode, at, count }) => [
      owner,
      actor,
      subject,
      mode,
      at.slice(11, 13),
      count,
    ]),
    [
      ['alice', 'carol', 'size:repos:private', 'enforce', '09', 1],
      ['bob', 'carol', 'size:repos:private', 'enforce', '09', 1],
      ['alice', 'dave', 'size:repos:private', 'enforce', '09', 1],
      ['alice', null, 'size:repos:private', 'enforce', '09', 1],
      ['alice', 'carol', 'size:git:lfs', 'enforce', '09', 1],
      ['alice', 'carol', 'size:repos:private', 'report', '09', 1],
      ['alice', 'carol', 'size:repos:private', 'enforce', '10', 1],
    ],
  );
});

t.test('an event names the group and the rule that refused', async t => {
  const world = await World.open(t);
  walk(world.ledger, 'alice/app', 6);
  await grouped(world.ledger, ['alice'], [{ name: 'total', limitBytes: 5, subjects: ['size:all'] }], 'free');
  world.refuse('alice');
  t.match(await world.told('refusal'), [{ group: 'free', rule: 'total', used: 6, limit: 5 }]);
});

t.test('a refusal because no rule covers has no figures', async t => {
  const world = await World.open(t, { settings: { uncovered: 'deny', defaultGroups: ['empty'] } });
  await world.ledger.documents.transact(({ changes }) => createGroup(changes, { name: 'empty', rules: [] }));
  world.refuse('alice');
  t.match(await world.told('refusal'), [{ used: null, limit: null, group: null, rule: null }]);
});

t.test('refusals of a name never heard of are found under it, and make nobody an owner', async t => {
  const world = await World.open(t, { settings: nothing });
  world.refuse('Nobody');
  t.match(await world.told('refusal', { owner: 'nobody' }), [{ owner: 'Nobody', count: 1 }]);
  t.equal(world.ledger.documents.owners.named('nobody'), undefined);
  t.strictSame(await world.told('refusal', { owner: 'alice' }), []);
});

t.test('after a restart in the same hour the count goes on', async t => {
  const world = await World.open(t, { settings: nothing });
  await world.ledger.documents.transact(transaction => transaction.createOwner('alice'));
  world.refuse('alice', { actor: 'carol' });
  world.refuse('nobody');
  world.clock.pass(5 * 60_000);
  await world.restart();
  world.refuse('alice', { actor: 'carol' });
  world.refuse('nobody');
  t.match(await world.told('refusal'), [
    { owner: 'alice', count: 2, at: '2026-11-21T09:00:00.000Z', last_at: '2026-11-21T09:05:00.000Z' },
    { owner: 'nobody', count: 2 },
  ]);
  world.clock.pass(hourMs);
  await world.restart();
  world.refuse('alice', { actor: 'carol' });
  t.match(
    (await world.told('refusal', { owner: 'alice' })).map(({ count }) => count),
    [2, 1],
  );
});

t.test('what another host counts is left to it', async t => {
  const world = await World.open(t, { settings: nothing });
  world.refuse('alice');
  world.clock.pass(1);
  await world.restart({ host: 'there' });
  world.refuse('alice');
  t.match(await world.told('refusal'), [
    { host: 'here', count: 1 },
    { host: 'there', count: 1 },
  ]);
});

t.test('events of an owner who is renamed are found under both names', async t => {
  const world = await World.open(t, { settings: nothing });
  await world.ledger.documents.transact(transaction => transaction.createOwner('alice'));
  world.refuse('alice');
  await world.ledger.documents.transact(transaction =>
    transaction.renameOwner('alice', 'carol', () => false),
  );
  world.refuse('carol');
  const names = async (owner: string) => (await world.told('refusal', { owner })).map(event => event.owner);
  t.strictSame(await names('carol'), ['alice', 'carol']);
  t.strictSame(await names('alice'), ['alice'], 'what was told under the name stays under it');
});

t.test('who has a name anew is not charged with the refusals of the one before', async t => {
  const world = await World.open(t, { settings: nothing });
  const { ledger } = world;
  await ledger.documents.transact(transaction => transaction.createOwner('alice'));
  world.refuse('alice');
  await ledger.documents.transact(transaction => transaction.deleteOwner('alice'));
  world.refuse('alice');
  await ledger.documents.transact(transaction => transaction.createOwner('alice'));
  for (const _ of [1, 2, 3]) world.refuse('alice');
  t.strictSame(
    (await world.told('refusal', { owner: 'alice' })).map(({ count }) => count),
    [1, 1, 3],
  );
  await ledger.documents.transact(transaction => transaction.renameOwner('alice', 'carol', () => false));
  t.match(await world.told('refusal', { owner: 'carol' }), [{ owner: 'alice', count: 3 }]);
});

t.test('each refusal is in the count of one stretch of days, however long that is', async t => {
  const world = await World.open(t, { settings: nothing });
  const counted = async (since: number) => {
    await world.events.kept();
    return world.events.refusalsSince(since);
  };
  const first = world.clock.wallMs;
  world.refuse('alice');
  world.clock.pass(39 * dayMs);
  world.refuse('alice');
  t.equal(await counted(first), 1, 'this day is not over');
  const second = world.clock.wallMs;
  world.clock.pass(hourMs);
  world.refuse('alice');
  world.clock.pass(dayMs);
  t.equal(await counted(second), 2);
});

t.test('refusals are written by themselves', async t => {
  const world = await World.open(t, { settings: nothing, pauseMs: 1 });
  const written = new Promise<void>(resolve => {
    world.written = ({ events = [] }) => {
      if (events.some(({ kind }) => kind === 'refusal')) resolve();
    };
  });
  world.refuse('alice');
  await written;
  t.match(await world.events.list({ limit: 1 }), { events: [{ count: 1 }] });
});

t.test('closing writes what was not written yet', async t => {
  const world = await World.open(t, { settings: nothing });
  world.refuse('alice');
  await world.restart();
  t.match(await world.told('refusal'), [{ owner: 'alice', count: 1 }]);
});

t.test('while the store is away refusals go on being added up, and none is lost', async t => {
  const world = await World.open(t, { settings: nothing });
  world.isAway = true;
  world.refuse('alice');
  await world.events.kept();
  world.refuse('alice');
  await world.events.kept();
  t.not(world.ledger.storeAway, null);
  t.match(await world.events.list({ limit: 5 }), { events: [], next: null });
  world.isAway = false;
  await world.restart();
  t.match(await world.told('refusal'), [{ owner: 'alice', count: 2 }]);
});

t.test('beyond so many actors those of an owner are added up together', async t => {
  const world = await World.open(t, { settings: nothing, limits: { sums: 100, ofAnOwner: 2 } });
  for (const actor of ['a', 'b', 'c', 'd', 'a']) world.refuse('alice', { actor });
  world.refuse('bob', { actor: 'a' });
  t.strictSame(
    (await world.told('refusal')).map(({ owner, actor, others, count }) => [owner, actor, others, count]),
    [
      ['alice', 'a', false, 2],
      ['alice', 'b', false, 1],
      ['alice', null, true, 2],
      ['bob', 'a', false, 1],
    ],
  );
  await world.restart();
  for (const actor of ['b', 'e']) world.refuse('alice', { actor });
  t.strictSame(
    (await world.told('refusal', { owner: 'alice' })).map(({ count }) => count),
    [2, 2, 3],
    'and so they are after a restart',
  );
});

t.test('what a limit could not be asked about takes no room from refusals', async t => {
  const world = await World.open(t, { settings: nothing, limits: { sums: 3, ofAnOwner: 2 } });
  const { events } = world;
  for (const actor of ['a', 'b', 'c', 'd']) {
    for (const owner of ['alice', 'bob']) events.unasked({ owner, actor, subject: repos, per: 'file' });
  }
  for (const actor of ['a', 'b']) world.refuse('alice', { actor });
  t.match(await world.told('refusal'), [
    { owner: 'alice', actor: 'a', others: false },
    { owner: 'alice', actor: 'b', others: false },
  ]);
  await world.restart();
  world.refuse('carol', { actor: 'a' });
  t.match(await world.told('refusal', { owner: 'carol' }), [{ actor: 'a', others: false }]);
});

t.test('what a limit could not be asked about is found by its actor, and until its last time', async t => {
  const world = await World.open(t);
  const startMs = world.clock.wallMs;
  const { events } = world;
  const told = { owner: 'alice', actor: 'Bob', subject: repos, per: 'file' } as const;
  events.unasked(told);
  world.clock.pass(45 * 60_000);
  events.unasked(told);
  await events.kept();
  const found = async (filter: { readonly actor?: string; readonly since?: number }) =>
    (await events.list({ ...filter, limit: 10 })).events.map(({ kind }) => kind);
  t.same(await found({ actor: 'bob' }), ['unasked']);
  t.same(await found({ actor: 'alice' }), []);
  t.same(await found({ since: startMs + 45 * 60_000 }), ['unasked']);
  t.same(await found({ since: startMs + 46 * 60_000 }), []);
});

t.test('beyond so many sums those of all owners are added up together, under no name', async t => {
  const world = await World.open(t, { settings: nothing, limits: { sums: 2, ofAnOwner: 50 } });
  for (const owner of ['a', 'b', 'c', 'd', 'b']) world.refuse(owner);
  t.match(await world.told('refusal'), [
    { owner: 'a', others: false, count: 1, limit: 0 },
    { owner: 'b', others: false, count: 2, limit: 0 },
    { owner: null, actor: null, others: true, count: 2, used: null, limit: null },
  ]);
  t.strictSame(await world.told('refusal', { owner: 'c' }), []);
});

const over: RuledRefused = {
  by: 'rule',
  allowed: false,
  step: 'builtin',
  used: 1,
  limit: 0,
  group: null,
  rule: null,
  subjects: ['size:all'],
  reserved: 0,
  incoming: 0,
};

t.test('whatever comes, every refusal is counted once, and an hour has bounded room', async () => {
  const limits = { sums: 6, ofAnOwner: 2 };
  const refusal = fc.record({
    owner: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    actor: fc.constantFrom('', 'x', 'y', 'z'),
    subject: fc.constantFrom(...leaves.slice(0, 2)),
    mode: fc.constantFrom('enforce' as const, 'report' as const),
    laterMs: fc.constantFrom(0, 1, 1_000_000),
    after: fc.constantFrom('go on', 'write', 'restart'),
  });
  const story = fc.property(fc.array(refusal, { maxLength: 200 }), refusals => {
    const kept = new Map<string, { readonly at: number; readonly text: string }>();
    const days = new Map<string, number>();
    let tally = new Tally('here', limits);
    let now = 0;
    const write = () => {
      for (const record of tally.take()) {
        if (record.kind === 'refusal') kept.set(record.id, record);
        else days.set(record.id, JSON.parse(record.text).count);
      }
    };
    for (const { laterMs, after, ...told } of refusals) {
      now += laterMs;
      tally.add({ ...told, decision: over }, { key: told.owner, record: undefined }, now);
      if (after !== 'go on') write();
      if (after === 'restart') {
        tally = new Tally('here', limits);
        tally.resume(
          [...kept].map(([id, { at, text }]) => ({
            id,
            at,
            text,
            kind: 'refusal',
            ownerId: null,
            ownerKey: JSON.parse(text).owner,
          })),
          now,
        );
      }
    }
    write();
    const rows = [...kept.values()].map(({ at, text }) => ({
      hour: Math.floor(at / hourMs),
      ...JSON.parse(text),
    }));
    assert.equal(
      rows.reduce((sum, { count }) => sum + count, 0),
      refusals.length,
    );
    assert.equal(
      [...days.values()].reduce((sum, count) => sum + count, 0),
      refusals.length,
      'by the day',
    );
    for (const { hour } of rows) {
      const ofHour = rows.filter(row => row.hour === hour);
      // With those of all owners together: one for each kind of data and mode.
      assert.ok(ofHour.length <= limits.sums + 4, `${ofHour.length} rows`);
    }
  });
  fc.assert(story, { numRuns: 300 });
});

t.test(
  'an event says what the limit of the last refusal is for, and no more of a path than fits',
  async t => {
    const tally = new Tally('here');
    const refuse = (by: Partial<RuledRefused>, now: number) => {
      const decision = { ...over, ...by };
      const told = { owner: 'alice', actor: '', subject: lfs, mode: 'enforce', decision } as const;
      tally.add(told, { key: 'alice', record: undefined }, now);
      return JSON.parse(tally.take().find(({ kind }) => kind === 'refusal')?.text ?? '');
    };
    const file = { bytes: 1, name: 'long/'.repeat(1000), object: '5fab' };
    const event = refuse({ per: 'file', file }, 0);
    t.match(event, { per: 'file', object: '5fab', file: /^(long\/){200}$/ });
    t.match(refuse({ per: 'group', share: 3 }, 1), { per: 'group', share: 3, count: 2 });
    const last = refuse({}, 2);
    for (const field of ['per', 'share', 'file', 'object', 'unit']) t.notOk(field in last, field);
  },
);
