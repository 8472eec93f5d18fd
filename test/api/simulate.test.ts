/** Simulation of another policy: it tells exactly what would change, and changes nothing. */

import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import type { z } from 'zod';
import { simulate as look } from '../../src/api/simulate.ts';
import { assign, createGroup, createRule } from '../../src/policy/index.ts';
import { leaves } from '../../src/quota/index.ts';
import { type ChangedOwner, simulation, verdict } from '../../src/wire/index.ts';
import { World as LedgerWorld, SetClock, settings, walk } from '../ledger/world.ts';
import { isLong } from '../run-length.ts';
import { apply, configure, owners, policy, quota, store, usage } from './any-policy.ts';
import { World } from './world.ts';

const path = '/admin/quota/simulate';

async function simulate(world: World, body: object, query = '') {
  return simulation.parse(await world.post(`${path}${query}`, body));
}

/** Decisions of the gate, by owner and leaf. */
async function decisions(world: World) {
  const found = new Map<string, ReadonlyMap<string, z.infer<typeof verdict>>>();
  for (const owner of owners) {
    const ofOwner = new Map<string, z.infer<typeof verdict>>();
    for (const subject of leaves) {
      const { json } = await world.gate('GET', `/v1/check?owner=${owner}&subject=${subject}`);
      ofOwner.set(subject, verdict.parse(json));
    }
    found.set(owner, ofOwner);
  }
  return found;
}

/** All that asking must not change. */
async function everything(world: World): Promise<unknown> {
  const policies = await world.must(200, 'GET', '/admin/quota/policy');
  const events = await world.must(200, 'GET', '/admin/quota/events?kind=policy&limit=1');
  const users = await world.must(200, 'GET', '/admin/users');
  return [policies.json, events.json, users.json, [...(await decisions(world))]];
}

/** By owner, those who are in the list and have such changes, in the order of the leaves. */
function changesIn(changed: readonly ChangedOwner[]): ReadonlyMap<string, ChangedOwner['changes']> {
  return new Map(
    changed
      .filter(({ user }) => owners.some(owner => owner === user))
      .map(({ user, changes }) => [user, changes]),
  );
}

t.test('who would newly be refused or allowed is who is, once the policy is applied', async t => {
  const world = await World.open(t);
  const law = fc.asyncProperty(
    policy,
    quota,
    usage,
    policy,
    quota,
    async (was, wasQuota, stored, next, nextQuota) => {
      await apply(world, was);
      configure(world, wasQuota);
      await store(world, stored);
      const before = await decisions(world);
      const held = await everything(world);
      const groups = next.groups.map(group => ({
        ...group,
        rules: (group.rules ?? []).map(name => ({ name })),
      }));
      const told = await simulate(world, { rules: next.rules, groups, settings: nextQuota });
      assert.deepStrictEqual(await everything(world), held, 'nothing has changed');
      await apply(world, next);
      configure(world, nextQuota);
      const after = await decisions(world);
      const expected = { refused: new Map<string, unknown>(), allowed: new Map<string, unknown>() };
      for (const owner of owners) {
        const changes = leaves.flatMap(subject => {
          const [one, other] = [before.get(owner)?.get(subject), after.get(owner)?.get(subject)];
          return one?.allowed === other?.allowed ? [] : [{ subject, before: one, after: other }];
        });
        const refused = changes.filter(change => change.after?.allowed === false);
        const allowed = changes.filter(change => change.after?.allowed === true);
        if (refused.length > 0) expected.refused.set(owner, refused);
        if (allowed.length > 0) expected.allowed.set(owner, allowed);
      }
      assert.deepStrictEqual(changesIn(told.refused.first), sortedLike(told.refused.first, expected.refused));
      assert.deepStrictEqual(changesIn(told.allowed.first), sortedLike(told.allowed.first, expected.allowed));
      assert.deepStrictEqual(told.lint, await world.get('/admin/quota/lint'), 'lint as it would be');
    },
  );
  await fc.assert(law, { numRuns: isLong ? 150 : 10 });
});

/** Maps are compared in order: what is expected, in the order of what was told. */
function sortedLike(
  told: readonly ChangedOwner[],
  expected: ReadonlyMap<string, unknown>,
): ReadonlyMap<string, unknown> {
  const at = (owner: string) => told.findIndex(({ user }) => user === owner);
  return new Map([...expected].sort(([a], [b]) => at(a) - at(b)));
}

t.test('those who store most come first, only so many are named, and all are counted', async t => {
  const world = await World.open(t);
  for (const [owner, bytes] of [
    ['alice', 5],
    ['bob', 9],
    ['carol', 5],
    ['acme', 1],
  ] as const) {
    await world.report(owner, 'size:git:lfs', bytes);
  }
  const draft = { settings: { total: 3 } };
  const told = await simulate(world, draft);
  t.match(told, { owners: 5, refused: { count: 3 }, allowed: { count: 0, first: [] } });
  t.match(
    told.refused.first.map(({ user, total }) => [user, total]),
    [
      ['bob', 9],
      ['alice', 5],
      ['carol', 5],
    ],
  );
  t.match(told.refused.first[0]?.changes[0], {
    subject: 'size:repos:public',
    before: { allowed: true, limit: -1 },
    after: { allowed: false, used: 9, limit: 3, group: null, rule: null },
  });
  const fewer = await simulate(world, draft, '?limit=1');
  t.match(fewer.refused, { count: 3, first: [{ user: 'bob' }] });
  t.equal(fewer.refused.first.length, 1);
});

t.test('what a draft leaves out stays as it is, and a group keeps who is in it', async t => {
  const world = await World.open(t);
  await apply(world, {
    rules: [{ name: 'total', limit: 100, subjects: ['size:all'] }],
    groups: [{ name: 'free', rules: ['total'], users: ['alice'] }],
  });
  await world.report('alice', 'size:git:lfs', 50);
  await world.report('bob', 'size:git:lfs', 50);
  t.match(await simulate(world, {}), { refused: { count: 0 }, allowed: { count: 0 } });
  const rules = [{ name: 'total', limit: 49, subjects: ['size:all'] }];
  t.match(await simulate(world, { rules }), { refused: { count: 1, first: [{ user: 'alice' }] } });
  const groups = [{ name: 'free', rules: [{ name: 'small', limit: 1, subjects: ['size:all'] }] }];
  t.match(await simulate(world, { groups }), { refused: { count: 1, first: [{ user: 'alice' }] } });
  const both = [{ name: 'free', rules: [{ name: 'total' }], users: ['alice', 'BOB'] }];
  const { refused } = await simulate(world, { rules, groups: both });
  t.strictSame(
    refused.first.map(({ user }) => user),
    ['alice', 'bob'],
  );
});

t.test('without a group its members are decided about as if it were deleted, and nobody else', async t => {
  const world = await World.open(t, { settings: { 'quota.default': { TOTAL: '10' } } });
  await apply(world, {
    rules: [{ name: 'total', limit: 100, subjects: ['size:all'] }],
    groups: [{ name: 'free', rules: ['total'], users: ['alice'] }],
  });
  await world.report('alice', 'size:git:lfs', 50);
  await world.report('bob', 'size:git:lfs', 50);
  const draft = { without_group: 'free' };
  t.match(await simulate(world, draft), {
    owners: 1,
    refused: { count: 1, first: [{ user: 'alice' }] },
    allowed: { count: 0 },
  });
  world.reload({ quota: { DEFAULT_GROUPS: 'free' }, 'quota.default': { TOTAL: '10' } });
  const { refused } = await simulate(world, draft);
  t.strictSame(refused.first.map(({ user }) => user).sort(), ['alice', 'bob']);
  const unknown = await world.call('POST', '/admin/quota/simulate', { body: { without_group: 'nothing' } });
  t.equal(unknown.status, 404);
});

t.test('while quotas are switched off it tells who would be refused with them on', async t => {
  const world = await World.open(t, {
    settings: { quota: { ENABLED: 'false' }, 'quota.default': { TOTAL: '10' } },
  });
  await world.report('alice', 'size:git:lfs', 11);
  t.match(await simulate(world, {}), {
    refused: { count: 1, first: [{ user: 'alice' }] },
    allowed: { count: 0 },
  });
});

t.test('owners whose bytes cannot be added up are left out, and can still be named', async t => {
  const ledger = await new LedgerWorld(t).open();
  for (const place of ['huge/one', 'huge/two'] as const) walk(ledger, place, Number.MAX_SAFE_INTEGER);
  walk(ledger, 'alice/app', 5);
  const rules = [{ name: 'r', limit: 1, subjects: ['size:all' as const] }];
  const groups = [{ name: 'g', rules, users: ['huge', 'alice'] }];
  const told = await look(ledger, { groups, settings: {} }, 9);
  t.match(told, { owners: 1, refused: { count: 1, first: [{ user: 'alice' }] } });
});

t.test('twenty repositories of an owner are named, the largest, with all that changes for each', async t => {
  const ledger = await new LedgerWorld(t).open();
  const sizes = Array.from({ length: 25 }, (_, at) => 100 + at);
  for (const size of sizes) {
    walk(ledger, `alice/${size}`, size);
    walk(ledger, `alice/${size}`, 5, { path: `/srv/lfs/alice/${size}`, leaf: 'size:git:lfs' });
  }
  const each = { name: 'each', limit: 50, subjects: ['size:all' as const], per: 'repository' as const };
  const file = { name: 'file', limit: 9, subjects: ['size:all' as const], per: 'file' as const };
  const rules = [each, file, { name: 'total', limit: -1, subjects: ['size:all' as const] }];
  const groups = [{ name: 'lab', rules: rules.map(({ name }) => ({ name })), users: ['alice'] }];
  const { refused, allowed, ...others } = await look(ledger, { rules, groups, settings: {} }, 10);
  t.strictSame(others.not_asked, ['file']);
  t.equal(allowed.count, 0);
  const [largest] = refused.first[0]?.changes ?? [];
  t.match(largest, {
    before: { allowed: true },
    after: { allowed: false, per: 'repository', unit: 'alice/124', used: 129, limit: 50 },
  });
  const named = refused.first[0]?.changes.map(({ unit, subject }) => `${unit} ${subject}`) ?? [];
  t.strictSame(
    named,
    sizes
      .toReversed()
      .slice(0, 20)
      .flatMap(size => [`alice/${size} size:repos:private`, `alice/${size} size:git:lfs`]),
  );
  await ledger.documents.transact(transaction => {
    createRule(transaction.changes, {
      name: 'each',
      limitBytes: 110,
      subjects: ['size:all'],
      per: 'repository',
    });
    createGroup(transaction.changes, { name: 'lab', rules: [{ name: 'each' }] });
    assign(transaction.changes, transaction.mustBeOwner('alice').id, 'lab');
  });
  const without = await look(ledger, { rules: [], groups: [], settings: {} }, 10);
  t.match(without, { refused: { count: 0 }, allowed: { count: 1, first: [{ user: 'alice' }] } });
  t.equal(without.allowed.first[0]?.changes[0]?.unit, 'alice/124');
  t.notOk('not_asked' in without);
});

t.test('the grace of a group together counts in a trial, from when it began', async t => {
  const clock = new SetClock();
  const ledger = await new LedgerWorld(t, { clock }).open();
  for (const name of ['alice', 'bob']) walk(ledger, `${name}/app`, 55);
  const together = { name: 'together', subjects: ['size:all' as const], per: 'group' as const };
  const draft = (limit: number, grace: number) => ({
    rules: [
      { ...together, limit, grace, grace_most: '20 %' },
      { name: 'total', limit: -1, subjects: ['size:all' as const] },
    ],
    groups: [{ name: 'lab', rules: [{ name: 'together' }, { name: 'total' }], users: ['alice', 'bob'] }],
    settings: {},
  });
  t.match(await look(ledger, draft(100, 3600), 10), {
    refused: { count: 0 },
    graced: {
      count: 2,
      first: [{ changes: [{ after: { per: 'group', allowed: true, used: 110, share: 55 } }] }, {}],
    },
  });
  t.match(await look(ledger, draft(100, 0), 10), { refused: { count: 2 }, graced: undefined });
  await ledger.documents.transact(transaction => {
    const { changes } = transaction;
    const terms = { graceMs: 3_600_000, graceMost: { percent: 20 } };
    createRule(changes, { ...together, limitBytes: 100, ...terms });
    createRule(changes, { name: 'total', limitBytes: -1, subjects: ['size:all'] });
    createGroup(changes, { name: 'lab', rules: [{ name: 'together' }, { name: 'total' }] });
    for (const name of ['alice', 'bob']) assign(changes, transaction.mustBeOwner(name).id, 'lab');
  });
  ledger.graces.start({ pauseMs: 0 });
  await ledger.graces.settled();
  clock.pass(3_600_001);
  t.match(await look(ledger, draft(100, 7200), 10), { refused: { count: 0 }, allowed: { count: 2 } });
  t.match(await look(ledger, draft(100, 3600), 10), { refused: { count: 0 }, allowed: { count: 0 } });
});

t.test('where the policy or a setting changes meanwhile, it is to be asked again', async t => {
  const ledger = await new LedgerWorld(t).open();
  for (let at = 0; at < 150; at++) walk(ledger, `owner${at}/app`, 5);
  const asked = look(ledger, { settings: { total: 1 } }, 9);
  ledger.settings = { ...settings };
  await t.rejects(asked, { code: 'conflict', message: /ask again/ });
  t.match(await look(ledger, { settings: { total: 1 } }, 9), { owners: 150, refused: { count: 150 } });
});
