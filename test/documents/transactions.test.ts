/** Transactions of administrators: in force when they are written, whole, and never lost. */

import t from 'tap';
import type { ChangeSet } from '../../src/documents/index.ts';
import type { Ledger } from '../../src/ledger/index.ts';
import {
  addRuleToGroup,
  assign,
  assignedGroups,
  assignmentKind,
  createGroup,
  createRule,
  deleteGroup,
  editRule,
  groupNamed,
  groupsIn,
  ruleNamed,
  rulesIn,
  setGroups,
} from '../../src/policy/index.ts';
import { type Changes, openStore } from '../../src/store/index.ts';
import type { Work } from '../../src/turns.ts';
import { lfs, openLosable, openOn, settings, used, World, walk } from '../ledger/world.ts';

const free = { name: 'free', rules: [{ name: 'total', limitBytes: 5, subjects: ['size:all' as const] }] };

async function withFree(ledger: Ledger): Promise<void> {
  await ledger.documents.transact(({ changes }) => createGroup(changes, free));
}

function allowed(ledger: Ledger, owner: string): boolean {
  return ledger.decide(owner, 'size:all').decision.allowed;
}

t.test('a group decides for its members from the change on, and after a restart', async t => {
  const world = new World(t);
  const ledger = await world.open();
  walk(ledger, 'alice/app', 100);
  walk(ledger, 'bob/app', 100);
  await withFree(ledger);
  t.ok(allowed(ledger, 'alice'));
  await ledger.documents.transact(transaction =>
    assign(transaction.changes, transaction.mustBeOwner('ALICE').id, 'free'),
  );
  t.match(ledger.decide('alice', 'size:all').decision, {
    allowed: false,
    group: 'free',
    rule: 'total',
    limit: 5,
  });
  t.match(ledger.explain('alice', 'size:all').steps, [
    { step: 'assigned', groups: [{ group: 'free', decided: true }] },
  ]);
  t.ok(allowed(ledger, 'bob'));
  const again = await world.open();
  t.notOk(allowed(again, 'alice'));
  await again.documents.transact(({ changes }) => editRule(changes, 'total', { limitBytes: -1 }));
  t.ok(allowed(again, 'alice'), 'a rule that a group shares is in force at once');
});

t.test('DEFAULT_GROUPS decide for those without a group', async t => {
  const world = new World(t);
  const ledger = await world.open();
  walk(ledger, 'alice/app', 100);
  await withFree(ledger);
  ledger.settings = { ...settings, defaultGroups: ['free', 'gone'] };
  t.notOk(allowed(ledger, 'alice'));
  t.ok(allowed(ledger, 'never-heard-of'), 'who uses nothing is under the limit');
  await ledger.documents.transact(({ changes }) => deleteGroup(changes, 'free'));
  t.ok(allowed(ledger, 'alice'));
});

t.test('changes asked for at once are made in turn, and a faulty one changes nothing', async t => {
  const world = new World(t);
  const ledger = await world.open();
  await withFree(ledger);
  const made = await Promise.allSettled(
    Array.from({ length: 50 }, (_, at) =>
      ledger.documents.transact(({ changes }) => {
        createRule(changes, { name: `r${at}`, limitBytes: at, subjects: [] });
        addRuleToGroup(changes, 'free', `r${at}`);
        if (at % 5 === 0) throw new Error('half-way');
      }),
    ),
  );
  t.equal(made.filter(({ status }) => status === 'fulfilled').length, 40);
  const names = rulesIn(ledger.documents.snapshot).map(({ name }) => name);
  t.equal(names.length, 41);
  t.strictSame(
    groupNamed(ledger.documents.snapshot, 'free')?.rules.map(({ name }) => name),
    names,
  );
  t.strictSame(
    rulesIn((await world.open()).documents.snapshot).map(({ name }) => name),
    names,
  );
});

t.test('while the store is away a change is refused, and nothing of it is in force', async t => {
  const { ledger, state } = await openLosable(t);
  walk(ledger, 'alice/app', 100);
  state.isAway = true;
  await t.rejects(
    ledger.documents.transact(transaction => {
      createGroup(transaction.changes, free);
      assign(transaction.changes, transaction.mustBeOwner('alice').id, 'free');
    }),
  );
  t.strictSame(groupsIn(ledger.documents.snapshot), []);
  t.ok(allowed(ledger, 'alice'));
  state.isAway = false;
  await withFree(ledger);
  t.equal(groupsIn(ledger.documents.snapshot).length, 1);
});

t.test('a created owner is known, and a deleted one leaves nothing to the next of the name', async t => {
  const world = new World(t);
  const ledger = await world.open();
  await withFree(ledger);
  const first = await ledger.documents.transact(transaction => {
    const owner = transaction.createOwner('Dora', 'organization');
    assign(transaction.changes, owner.id, 'free');
    return owner;
  });
  t.match(ledger.ownerUsage('dora'), { id: first.id, name: 'Dora', type: 'organization' });
  t.match(ledger.documents.owners.byId(first.id), { name: 'Dora' });
  await t.rejects(
    ledger.documents.transact(transaction => transaction.createOwner('dorA')),
    { code: 'conflict' },
  );
  await t.rejects(
    ledger.documents.transact(transaction => transaction.createOwner('..')),
    { code: 'invalid', message: /^username: / },
  );
  await ledger.documents.transact(transaction =>
    transaction.changes.remove(assignmentKind, String(transaction.deleteOwner('dora').id)),
  );
  t.equal(ledger.ownerUsage('dora').id, null);
  t.equal(ledger.documents.owners.byId(first.id), undefined);
  const second = await ledger.documents.transact(transaction => transaction.createOwner('dora'));
  t.not(second.id, first.id);
  t.strictSame(assignedGroups(ledger.documents.snapshot, second.id), []);
  t.equal((await world.open()).ownerUsage('dora').id, second.id);
});

t.test('an owner with units cannot be deleted', async t => {
  const ledger = await new World(t).open();
  walk(ledger, 'alice/app', 100);
  await t.rejects(
    ledger.documents.transact(transaction => transaction.deleteOwner('alice')),
    { code: 'conflict', message: /alice has 1 unit, / },
  );
  await t.rejects(
    ledger.documents.transact(transaction => transaction.deleteOwner('nobody')),
    { code: 'not_found' },
  );
});

t.test('an owner whom a walk finds while being deleted stays, and inherits nothing', async t => {
  const world = new World(t);
  const ledger = await world.open();
  await withFree(ledger);
  const owner = await ledger.documents.transact(transaction => {
    const created = transaction.createOwner('alice');
    setGroups(transaction.changes, created.id, ['free']);
    return created;
  });
  const deleted = ledger.documents.transact(transaction =>
    transaction.changes.remove(assignmentKind, String(transaction.deleteOwner('alice').id)),
  );
  await new Promise(setImmediate);
  walk(ledger, 'alice/app', 100);
  await deleted;
  for (const each of [ledger, await world.open()]) {
    t.equal(used(each, 'alice'), 100);
    const { id } = each.ownerUsage('alice');
    t.not(id, owner.id);
    t.ok(allowed(each, 'alice'));
  }
});

t.test('a renamed owner keeps groups; what lies on the disk is as the disk says', async t => {
  const world = new World(t);
  const ledger = await world.open();
  await withFree(ledger);
  walk(ledger, 'alice/app', 100);
  walk(ledger, 'carol/app', 50);
  await ledger.reports.reportUnit('bob', lfs, 'store', 7);
  const before = ledger.ownerUsage('alice').id;
  await ledger.documents.transact(transaction =>
    assign(transaction.changes, transaction.mustBeOwner('alice').id, 'free'),
  );
  await t.rejects(
    ledger.documents.transact(transaction => transaction.renameOwner('alice', 'bob', () => false)),
    { code: 'conflict' },
  );
  await ledger.documents.transact(transaction => transaction.renameOwner('alice', 'Carol', () => true));
  for (const each of [ledger, await world.open()]) {
    t.match(
      each.ownerUsage('carol'),
      { id: before, name: 'Carol' },
      'who was only known from the disk gave way',
    );
    t.equal(used(each, 'carol'), 50);
    t.notOk(allowed(each, 'carol'));
    t.equal(used(each, 'alice'), 100);
    t.not(each.ownerUsage('alice').id, before);
    t.ok(allowed(each, 'alice'), 'nothing is left under the old name');
  }
});

t.test('an owner who is renamed or deleted before it is written behind does not come back', async t => {
  const world = new World(t);
  const store = await openStore({ file: world.file });
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const holding = {
    ...store,
    write: async (changes: Changes) => {
      if (changes.units !== undefined) await released;
      await store.write(changes);
    },
  };
  const ledger = await openOn(holding);
  t.teardown(async () => {
    release();
    await ledger.close();
  });
  walk(ledger, 'bob/app', 100);
  await ledger.documents.transact(transaction => {
    transaction.createOwner('alice', 'user');
    transaction.createOwner('carol', 'user');
  });
  await ledger.documents.transact(transaction => transaction.renameOwner('alice', 'zoe', () => false));
  await ledger.documents.transact(transaction => transaction.deleteOwner('carol'));
  release();
  await ledger.close();
  const again = await world.open();
  t.strictSame([...again.owners()].map(({ name }) => name).sort(), ['bob', 'zoe']);
});

/** Lays down as many rules as somebody may lay down at once, with a rest after each. */
function* manyRules(changes: ChangeSet, count: number): Work<number> {
  for (let number = 0; number < count; number += 1) {
    createRule(changes, { name: `r${number}`, limitBytes: number, subjects: [] }, number + 1);
    yield;
  }
  return rulesIn(changes).length;
}

t.test('a large change gives way while it is drafted, and is in force as a whole', async t => {
  const world = new World(t);
  const ledger = await world.open();
  const { documents } = ledger;
  let turns = 0;
  let isOver = false;
  const drafted = documents
    .transactInSlices(({ changes }) => manyRules(changes, 20_000))
    .finally(() => {
      isOver = true;
    });
  const after = documents.transact(({ changes }) => rulesIn(changes).length);
  while (!isOver) {
    await new Promise(setImmediate);
    turns += 1;
    const [first, last] = ['r0', 'r19999'].map(name => ruleNamed(documents.snapshot, name));
    if ((first === undefined) !== (last === undefined)) throw new Error('half of it is in force');
  }
  t.ok(turns > 10, `${turns} turns`);
  t.equal(await drafted, 20_000);
  t.equal(await after, 20_000, 'who asks later is later');
  const again = await world.open();
  t.equal(rulesIn(again.documents.snapshot).length, 20_000);
});

t.test('what a large change was looked at upon may change meanwhile: then it is looked at anew', async t => {
  const world = new World(t);
  const { documents } = await world.open();
  let begun = 0;
  const looked = documents.dryRunInSlices(function* ({ changes }) {
    begun += 1;
    while (begun === 1 && ruleNamed(documents.snapshot, 'new') === undefined) yield;
    return yield* manyRules(changes, 1000);
  });
  await documents.transact(({ changes }) =>
    createRule(changes, { name: 'new', limitBytes: 1, subjects: [] }),
  );
  t.equal(await looked, 1001);
  t.equal(begun, 2);
  t.equal(rulesIn(documents.snapshot).length, 1, 'and nothing is changed');
});

t.test('a large change that throws changes nothing, and the next one is made', async t => {
  const world = new World(t);
  const { documents } = await world.open();
  const failing = documents.transactInSlices(function* ({ changes }) {
    yield* manyRules(changes, 1000);
    throw new Error('no');
  });
  await t.rejects(failing, { message: 'no' });
  t.equal(rulesIn(documents.snapshot).length, 0);
  t.equal(await documents.transactInSlices(({ changes }) => manyRules(changes, 10)), 10);
});
