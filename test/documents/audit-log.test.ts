/** Every change of policy is on record, in the same write, with who did it and what was before and after. */

import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { z } from 'zod';
import type { Author, Kind, PolicyEvent } from '../../src/documents/index.ts';
import type { Ledger } from '../../src/ledger/index.ts';
import {
  addRuleToGroup,
  assign,
  createGroup,
  createRule,
  deleteGroup,
  deleteRule,
  editRule,
  groupsIn,
  rulesIn,
  setGroups,
} from '../../src/policy/index.ts';
import type { Changes, Store } from '../../src/store/index.ts';
import { openOn, World, walk } from '../ledger/world.ts';
import { emptyModel, storeOn } from '../store/model.ts';

const carol: Author = { ownerId: 7, name: 'carol', tokenId: '12' };

interface Found extends PolicyEvent {
  readonly ownerId: number | null;
  readonly ownerKey: string | null;
}

/** Oldest first. */
async function changes(ledger: Ledger): Promise<readonly Found[]> {
  const events = await ledger.eventLog.events({ kinds: ['policy'], limit: 10_000 });
  return events.map(({ text, ownerId, ownerKey }) => ({ ...JSON.parse(text), ownerId, ownerKey })).reverse();
}

/** A store in memory that shows what it was given to write. */
function openStore(): { readonly store: Store; readonly writes: Changes[] } {
  const kept = storeOn(emptyModel());
  const writes: Changes[] = [];
  const write = async (each: Changes) => {
    writes.push(each);
    await kept.write(each);
  };
  return { store: { ...kept, write }, writes };
}

t.test('a change with an occasion is one event that lists what changed, also if nothing did', async t => {
  const ledger = await new World(t).open();
  await ledger.documents.transact(({ changes }) => createGroup(changes, { name: 'free', rules: [] }));
  for (const group of ['free', null]) {
    await ledger.documents.transact(transaction => {
      const owner = transaction.owner('dave') ?? transaction.createOwner('dave');
      if (group !== null) assign(transaction.changes, owner.id, group);
      transaction.auditAs({ kind: 'sign-in', owner, facts: { from: 'somewhere' } });
    }, carol);
  }
  t.notOk(
    (await changes(ledger)).some(({ owner }) => owner === 'dave'),
    'nothing else tells of it',
  );
  const told = await ledger.eventLog.events({ kinds: ['sign-in'], limit: 10 });
  const { id, key } = ledger.documents.owners.named('dave') ?? {};
  t.match(told, [
    { ownerId: id, ownerKey: key },
    { ownerId: id, ownerKey: key },
  ]);
  t.match(
    told.map(({ text }) => JSON.parse(text)),
    [
      { from: 'somewhere', by: { name: 'carol' }, changes: [] },
      {
        by: { name: 'carol' },
        changes: [
          { what: 'owner', action: 'created', name: 'dave', before: null, after: { type: 'user' } },
          { what: 'assignment', action: 'created', owner: 'dave', after: { groups: ['free'] } },
        ],
      },
    ],
  );
});

t.test('a change is on record with who asked for it, and before and after', async t => {
  const ledger = await new World(t).open();
  const free = { name: 'free', rules: [{ name: 'total', limitBytes: 5, subjects: ['size:all' as const] }] };
  await ledger.documents.transact(({ changes }) => createGroup(changes, free), carol);
  await ledger.documents.transact(({ changes }) => editRule(changes, 'total', { limitBytes: 9 }), {
    ownerId: null,
    name: null,
    tokenId: null,
  });
  await ledger.documents.transact(transaction => {
    const alice = transaction.createOwner('Alice');
    assign(transaction.changes, alice.id, 'free');
  });
  const alice = ledger.ownerUsage('alice').id;
  const found = await changes(ledger);
  const total = { limit: 5, subjects: ['size:all'] };
  t.match(found, [
    { by: carol, action: 'created', what: 'rule', name: 'total', owner: null, before: null, after: total },
    { by: carol, what: 'group', name: 'free', before: null, after: { rules: ['total'] } },
    {
      by: { name: null },
      action: 'edited',
      what: 'rule',
      name: 'total',
      before: total,
      after: { ...total, limit: 9 },
    },
    { by: null, what: 'owner', name: 'Alice', before: null, after: { name: 'Alice', type: 'user' } },
    { by: null, what: 'assignment', name: 'Alice', owner: 'Alice', ownerKey: 'alice', ownerId: alice },
  ]);
  t.equal(found[0]?.change, found[1]?.change, 'what came into force together belongs together');
  t.not(found[1]?.change, found[2]?.change);
});

t.test('a change and its events are one write', async t => {
  const { store, writes } = openStore();
  const ledger = await openOn(store);
  t.teardown(() => ledger.close());
  await ledger.documents.transact(({ changes }) =>
    createRule(changes, { name: 'r', limitBytes: 1, subjects: [] }),
  );
  t.equal(writes.length, 1);
  t.match(writes[0], { documents: [{ kind: 'rule', key: 'r' }], events: [{ kind: 'policy' }] });
});

t.test('what changes nothing, or fails, is no event', async t => {
  const ledger = await new World(t).open();
  await ledger.documents.transact(({ changes }) =>
    createRule(changes, { name: 'r', limitBytes: 1, subjects: [] }),
  );
  await ledger.documents.transact(({ changes }) => editRule(changes, 'r', { limitBytes: 1 }));
  await ledger.documents.transact(() => 'nothing');
  await t.rejects(ledger.documents.transact(({ changes }) => deleteRule(changes, 'gone')));
  t.equal((await changes(ledger)).length, 1);
});

t.test('a renamed owner is found under both names, and one that gave way is on record', async t => {
  const ledger = await new World(t).open();
  walk(ledger, 'carol/app', 5);
  const { id } = await ledger.documents.transact(transaction => transaction.createOwner('alice'));
  await ledger.documents.transact(transaction => transaction.renameOwner('alice', 'carol', () => true));
  const renamed = { what: 'owner', before: { name: 'alice' }, after: { name: 'carol' }, ownerId: id };
  t.match((await changes(ledger)).slice(1), [
    { what: 'owner', before: { name: 'carol' }, after: null },
    renamed,
  ]);
  for (const owner of [
    { ownerId: id, ownerKey: 'carol' },
    { ownerId: null, ownerKey: 'alice' },
  ]) {
    const [newest] = await ledger.eventLog.events({ owner, limit: 1 });
    t.match(JSON.parse(newest?.text ?? ''), { before: { name: 'alice' }, after: { name: 'carol' } });
  }
});

const secret = z.strictObject({ secret: z.string(), uses: z.number() });
const openKind: Kind<z.infer<typeof secret>> = {
  name: 'open',
  durability: 'versioned',
  schema: secret,
  describe: (_key, { secret }) => ({ name: null, ownerId: null, content: { letters: secret.length } }),
};
const closedKind: Kind<z.infer<typeof secret>> = {
  name: 'closed',
  durability: 'versioned',
  schema: secret,
};
/** Tokens whose last uses come and go all day. */
const volatileKind: Kind<z.infer<typeof secret>> = {
  ...closedKind,
  name: 'volatile',
  durability: 'volatile',
};

t.test('a document tells only what its kind tells, and a volatile one without it nothing', async t => {
  const { store } = openStore();
  const kinds = [openKind, closedKind, volatileKind];
  const ledger = await openOn(store, { kinds });
  t.teardown(() => ledger.close());
  for (const kind of kinds) {
    await ledger.documents.transact(({ changes }) =>
      changes.put(kind, 'the key', { secret: 'hush', uses: 1 }),
    );
    await ledger.documents.transact(({ changes }) =>
      changes.put(kind, 'the key', { secret: 'hush', uses: 2 }),
    );
    await ledger.documents.transact(({ changes }) => changes.remove(kind, 'the key'));
  }
  const found = await changes(ledger);
  t.match(
    found.map(({ what, name, before, after }) => [what, name, before, after]),
    [
      ['open', null, null, { letters: 4 }],
      ['open', null, { letters: 4 }, null],
      ['closed', null, null, {}],
      ['closed', null, {}, {}],
      ['closed', null, {}, null],
    ],
  );
  t.notMatch(JSON.stringify(found), /hush|the key/);
});

const anyName = fc.constantFrom('a', 'b', 'c');
const anyStep = fc.oneof(
  fc.record({ act: fc.constant('createRule' as const), name: anyName, limitBytes: fc.nat(9) }),
  fc.record({ act: fc.constant('editRule' as const), name: anyName, limitBytes: fc.nat(9) }),
  fc.record({ act: fc.constant('deleteRule' as const), name: anyName }),
  fc.record({ act: fc.constant('createGroup' as const), name: anyName }),
  fc.record({ act: fc.constant('deleteGroup' as const), name: anyName }),
  fc.record({ act: fc.constant('addRule' as const), group: anyName, name: anyName }),
  fc.record({ act: fc.constant('setGroups' as const), name: anyName, groups: fc.uniqueArray(anyName) }),
);
type Step = typeof anyStep extends fc.Arbitrary<infer Value> ? Value : never;

function take(ledger: Ledger, step: Step): Promise<unknown> {
  return ledger.documents.transact(transaction => {
    const { changes } = transaction;
    switch (step.act) {
      case 'createRule':
        return createRule(changes, { ...step, subjects: [] });
      case 'editRule':
        return editRule(changes, step.name, step);
      case 'deleteRule':
        return deleteRule(changes, step.name);
      case 'createGroup':
        return createGroup(changes, { name: step.name, rules: [] });
      case 'deleteGroup':
        return deleteGroup(changes, step.name);
      case 'addRule':
        return addRuleToGroup(changes, step.group, step.name);
      case 'setGroups':
        return setGroups(changes, transaction.mustBeOwner(step.name).id, step.groups);
    }
  });
}

t.test('played again from the record, every change begins where the one before ended', async () => {
  const story = fc.asyncProperty(fc.array(anyStep, { maxLength: 40 }), async steps => {
    const { store } = openStore();
    const ledger = await openOn(store);
    for (const name of ['a', 'b', 'c'])
      await ledger.documents.transact(transaction => transaction.createOwner(name));
    await Promise.allSettled(steps.map(step => take(ledger, step)));
    const known = new Map<string, unknown>();
    for (const { what, name, before, after } of await changes(ledger)) {
      const thing = `${what} ${name}`;
      assert.deepStrictEqual(before, known.get(thing) ?? null);
      assert.notDeepStrictEqual(before, after);
      known.set(thing, after);
    }
    for (const { name, limitBytes, subjects } of rulesIn(ledger.documents.snapshot)) {
      assert.deepStrictEqual(known.get(`rule ${name}`), { limit: limitBytes, subjects });
    }
    for (const { name, rules } of groupsIn(ledger.documents.snapshot)) {
      assert.deepStrictEqual(known.get(`group ${name}`), { rules: rules.map(rule => rule.name) });
    }
    const present = [...known].filter(([, after]) => after !== null).map(([thing]) => thing.split(' ')[0]);
    const count = (what: string) => present.filter(each => each === what).length;
    assert.equal(count('rule'), rulesIn(ledger.documents.snapshot).length);
    assert.equal(count('group'), groupsIn(ledger.documents.snapshot).length);
    await ledger.close();
  });
  await fc.assert(story, { numRuns: 100 });
});
