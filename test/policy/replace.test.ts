/** Another policy in place of one: exactly what was asked for, and nothing written that stays. */

import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { ChangeSet, DocumentsInForce, type Snapshot } from '../../src/documents/index.ts';
import {
  assign,
  assignedGroups,
  createRule,
  groupsIn,
  Policy,
  policyKinds,
  replacePolicy,
  ruleKind,
  rulesIn,
  setGroups,
} from '../../src/policy/index.ts';
import { ruleDocument } from '../../src/policy/rules.ts';
import type { Rule } from '../../src/quota/index.ts';
import { runToEnd } from '../../src/turns.ts';

const names = ['a', 'A', '__proto__', 'constructor', 'x y'];
const owners = [1, 2, 3, 4];

/** Everything, by name. */
interface Whole {
  readonly rules: readonly Rule[];
  readonly groups: readonly {
    readonly name: string;
    readonly rules: readonly string[];
    readonly ownerIds: readonly number[];
  }[];
}

const plain = { noNullPrototype: true };

const anyRule = fc.record(
  {
    name: fc.constantFrom(...names),
    limitBytes: fc.constantFrom(-1, 0, 7, Number.MAX_SAFE_INTEGER),
    subjects: fc.constantFrom<Rule['subjects']>([], ['size:all'], ['none', 'size:git:lfs']),
  },
  plain,
);

const anyWhole = fc.uniqueArray(anyRule, { selector: ({ name }) => name }).chain(rules => {
  const anyGroup = fc.record(
    {
      name: fc.constantFrom(...names),
      rules: fc.shuffledSubarray(rules.map(({ name }) => name)),
      ownerIds: fc.shuffledSubarray(owners),
    },
    plain,
  );
  const groups = fc.uniqueArray(anyGroup, { selector: ({ name }) => name });
  return fc.record({ rules: fc.constant(rules), groups }, plain);
});

function put(changes: ChangeSet, { rules, groups }: Whole): void {
  runToEnd(
    replacePolicy(changes, {
      rules,
      groups: groups.map(group => ({ ...group, rules: group.rules.map(name => ({ name })) })),
    }),
  );
}

function seen(snapshot: Snapshot): Whole {
  const policy = new Policy(snapshot);
  return {
    rules: rulesIn(snapshot),
    groups: groupsIn(snapshot).map(({ name, rules }) => ({
      name,
      rules: rules.map(rule => rule.name),
      ownerIds: policy.membersOf(name),
    })),
  };
}

function shelfWith(whole: Whole): DocumentsInForce {
  const store = new DocumentsInForce(policyKinds, []);
  const changes = store.changeSet();
  put(changes, whole);
  store.apply(changes);
  return store;
}

t.test('whatever there was, there is then what was asked for, in its order', async () => {
  fc.assert(
    fc.property(anyWhole, anyWhole, (before, after) => {
      const store = shelfWith(before);
      assert.deepEqual(seen(store), before);
      const changes = store.changeSet();
      put(changes, after);
      assert.deepEqual(seen(changes), after, 'while it is drafted');
      store.apply(changes);
      assert.deepEqual(seen(store), after, 'in force');
      const again = store.changeSet();
      put(again, after);
      assert.ok(again.isEmpty, 'what stays is not written');
    }),
    { numRuns: 500 },
  );
});

t.test('only what differs is written', async t => {
  const store = shelfWith({
    rules: [
      { name: 'one', limitBytes: 1, subjects: ['size:all'] },
      { name: 'two', limitBytes: 2, subjects: ['size:all'] },
    ],
    groups: [{ name: 'free', rules: ['one', 'two'], ownerIds: [1, 2, 3] }],
  });
  const changes = store.changeSet();
  put(changes, {
    rules: [
      { name: 'one', limitBytes: 1, subjects: ['size:all'] },
      { name: 'two', limitBytes: 3, subjects: ['size:all'] },
    ],
    groups: [{ name: 'free', rules: ['one', 'two'], ownerIds: [1, 3, 4] }],
  });
  const { documents, goneDocuments } = runToEnd(changes.records(store.kinds)).versioned;
  t.strictSame(
    documents.map(({ kind, key }) => `${kind} ${key}`),
    ['rule two', 'assignment 4'],
  );
  t.match(goneDocuments, [{ kind: 'assignment', key: '2' }]);
});

t.test('a group that does not name its owners keeps them, and one that is gone loses them', async t => {
  const store = shelfWith({
    rules: [],
    groups: [
      { name: 'staying', rules: [], ownerIds: [2, 1] },
      { name: 'gone', rules: [], ownerIds: [1, 3] },
    ],
  });
  const changes = store.changeSet();
  runToEnd(
    replacePolicy(changes, {
      groups: [
        { name: 'new', rules: [], ownerIds: [1] },
        { name: 'staying', rules: [] },
      ],
    }),
  );
  t.strictSame(
    seen(changes).groups.map(({ name, ownerIds }) => [name, ownerIds]),
    [
      ['new', [1]],
      ['staying', [2, 1]],
    ],
  );
  t.strictSame(assignedGroups(changes, 1), ['staying', 'new']);
  t.strictSame(assignedGroups(changes, 3), []);
});

t.test("an owner's groups keep the order in which they were assigned", async t => {
  const store = shelfWith({
    rules: [],
    groups: [
      { name: 'first', rules: [], ownerIds: [] },
      { name: 'second', rules: [], ownerIds: [] },
    ],
  });
  const setting = store.changeSet();
  setGroups(setting, 1, ['second', 'first']);
  assign(setting, 2, 'second');
  store.apply(setting);
  const changes = store.changeSet();
  put(changes, seen(store));
  t.ok(changes.isEmpty);
});

t.test('rules alone are replaced without a look at groups, which lose those that are gone', async t => {
  const store = shelfWith({
    rules: [
      { name: 'one', limitBytes: 1, subjects: [] },
      { name: 'two', limitBytes: 2, subjects: [] },
    ],
    groups: [{ name: 'free', rules: ['one', 'two'], ownerIds: [1] }],
  });
  const changes = store.changeSet();
  runToEnd(replacePolicy(changes, { rules: [{ name: 'two', limitBytes: 2, subjects: [] }] }));
  t.strictSame(seen(changes).groups, [{ name: 'free', rules: ['two'], ownerIds: [1] }]);
});

t.test('every fault is named by where it stands', async t => {
  const changes = new ChangeSet(new DocumentsInForce(policyKinds, []));
  createRule(changes, { name: 'there', limitBytes: 1, subjects: [] });
  const wrong = { name: 'there', limitBytes: -7, subjects: ['size:nope' as 'none'] }; // as JSON may well have it
  t.throws(
    () =>
      runToEnd(
        replacePolicy(changes, {
          rules: [wrong, { ...wrong, limitBytes: 0, subjects: [] }],
          groups: [
            { name: ' ', rules: [{ name: 'there' }, { name: 'missing' }] },
            { name: 'g', rules: [{ name: 'there' }, { name: 'there' }] },
            { name: 'g', rules: [] },
          ],
        }),
      ),
    {
      code: 'invalid',
      message:
        'rules.1.name: there is listed twice; ' +
        'rules.0.limit: expected whole bytes from 0 to 2^53 - 1, or -1 for unlimited; ' +
        'rules.0.subjects: there is no subject size:nope; ' +
        'groups.2.name: g is listed twice; ' +
        'groups.0.name: it has only spaces; ' +
        'groups.0.rules.1.limit: it is missing, and there is no rule of that name; ' +
        'groups.1.rules.1.name: there is listed twice',
    },
  );
});

t.test('a stored rule that would be refused today keeps no other from being changed', t => {
  const old: Rule = { name: 'old', limitBytes: 1, subjects: ['size:all'], per: 'repository', graceMs: 1000 };
  const other: Rule = { name: 'other', limitBytes: 1, subjects: ['size:all'] };
  const store = new DocumentsInForce(policyKinds, []);
  const stored = store.changeSet();
  stored.put(ruleKind, 'old', ruleDocument(old, 0));
  store.apply(stored);
  put(store.changeSet(), { rules: [old, other], groups: [] });
  const changed = { ...old, limitBytes: 2 };
  t.throws(() => put(store.changeSet(), { rules: [changed], groups: [] }), /rules\.0\.grace: expected none/);
  t.end();
});

t.test('ten thousand rules in a thousand groups of a hundred thousand owners take no long time', async t => {
  const rules = Array.from(
    { length: 10_000 },
    (_, at): Rule => ({
      name: `rule ${at}`,
      limitBytes: at,
      subjects: ['size:all'],
    }),
  );
  const groups = Array.from({ length: 1000 }, (_, at) => ({
    name: `group ${at}`,
    rules: rules.slice(at * 10, at * 10 + 10).map(({ name }) => name),
    ownerIds: Array.from({ length: 100 }, (_each, owner) => at * 100 + owner),
  }));
  const store = shelfWith({ rules, groups });
  const changes = store.changeSet();
  const before = process.cpuUsage();
  put(changes, { rules, groups });
  t.ok(changes.isEmpty);
  // A look at all for each would take minutes.
  const { user } = process.cpuUsage(before);
  t.ok(user < 10_000_000, `${user} µs`);
});
