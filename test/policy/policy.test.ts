/** Rules, groups and assignments: any sequence of changes beside a model of plain lists. */

import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { type ChangeSet, DocumentsInForce } from '../../src/documents/index.ts';
import { SoftquotaError } from '../../src/errors.ts';
import {
  addRuleToGroup,
  allowanceKind,
  assign,
  assignedGroups,
  assignmentKind,
  createAllowance,
  createGroup,
  createRule,
  deleteGroup,
  deleteRule,
  editRule,
  groupKind,
  groupNamed,
  groupsIn,
  Policy,
  removeRuleFromGroup,
  ruleFaults,
  ruleKind,
  rulesIn,
  setGroups,
  unassign,
} from '../../src/policy/index.ts';
import { compileGroup, type Rule } from '../../src/quota/index.ts';
import type { DocumentRecord } from '../../src/store/index.ts';
import { runToEnd } from '../../src/turns.ts';

const kinds = [ruleKind, groupKind, assignmentKind];
const rule = (name: string, limitBytes = 10): Rule => ({ name, limitBytes, subjects: ['size:all'] });

/** Rules, groups and owners, in plain lists. */
interface Model {
  rules: Rule[];
  groups: { name: string; rules: string[]; members: number[] }[];
  assigned: Map<number, string[]>;
}

interface Step {
  readonly does: (changes: ChangeSet) => void;
  /** Does it on the model; gives the code of the fault where it is one, and then nothing is changed. */
  readonly means: (model: Model) => string | undefined;
}

const names = ['a', 'A', '__proto__', 'constructor', 'x y'];
const anyName = fc.constantFrom(...names);
const anyOwner = fc.integer({ min: 1, max: 3 });
const anyLimit = fc.constantFrom(-1, 0, 7, Number.MAX_SAFE_INTEGER);

const step = {
  createRule: fc.tuple(anyName, anyLimit).map(
    ([name, limit]): Step => ({
      does: changes => createRule(changes, rule(name, limit)),
      means: model => {
        if (model.rules.some(each => each.name === name)) return 'conflict';
        model.rules.push(rule(name, limit));
      },
    }),
  ),
  editRule: fc.tuple(anyName, anyLimit).map(
    ([name, limitBytes]): Step => ({
      does: changes => editRule(changes, name, { limitBytes }),
      means: model => {
        const at = model.rules.findIndex(each => each.name === name);
        if (at === -1) return 'not_found';
        model.rules[at] = rule(name, limitBytes);
      },
    }),
  ),
  deleteRule: anyName.map(
    (name): Step => ({
      does: changes => deleteRule(changes, name),
      means: model => {
        if (!model.rules.some(each => each.name === name)) return 'not_found';
        model.rules = model.rules.filter(each => each.name !== name);
        for (const group of model.groups) group.rules = group.rules.filter(each => each !== name);
      },
    }),
  ),
  createGroup: fc.tuple(anyName, fc.uniqueArray(anyName, { maxLength: 2 })).map(
    ([name, rules]): Step => ({
      does: changes => createGroup(changes, { name, rules: rules.map(each => ({ ...rule(each, 99) })) }),
      means: model => {
        if (model.groups.some(each => each.name === name)) return 'conflict';
        for (const each of rules) {
          if (!model.rules.some(other => other.name === each)) model.rules.push(rule(each, 99));
        }
        model.groups.push({ name, rules: [...rules], members: [] });
      },
    }),
  ),
  deleteGroup: anyName.map(
    (name): Step => ({
      does: changes => deleteGroup(changes, name),
      means: model => {
        if (!model.groups.some(each => each.name === name)) return 'not_found';
        model.groups = model.groups.filter(each => each.name !== name);
        for (const [owner, groups] of model.assigned)
          model.assigned.set(
            owner,
            groups.filter(each => each !== name),
          );
      },
    }),
  ),
  addRuleToGroup: fc.tuple(anyName, anyName).map(
    ([group, name]): Step => ({
      does: changes => addRuleToGroup(changes, group, name),
      means: model => {
        const found = model.groups.find(each => each.name === group);
        if (found === undefined || !model.rules.some(each => each.name === name)) return 'not_found';
        if (found.rules.includes(name)) return 'already_in';
        found.rules.push(name);
      },
    }),
  ),
  removeRuleFromGroup: fc.tuple(anyName, anyName).map(
    ([group, name]): Step => ({
      does: changes => removeRuleFromGroup(changes, group, name),
      means: model => {
        const found = model.groups.find(each => each.name === group);
        if (found === undefined) return 'not_found';
        if (!found.rules.includes(name)) return 'already_out';
        found.rules = found.rules.filter(each => each !== name);
      },
    }),
  ),
  assign: fc.tuple(anyOwner, anyName).map(
    ([owner, group]): Step => ({
      does: changes => assign(changes, owner, group),
      means: model => {
        const found = model.groups.find(each => each.name === group);
        if (found === undefined) return 'not_found';
        if (found.members.includes(owner)) return 'already_in';
        found.members.push(owner);
        model.assigned.set(owner, [...(model.assigned.get(owner) ?? []), group]);
      },
    }),
  ),
  unassign: fc.tuple(anyOwner, anyName).map(
    ([owner, group]): Step => ({
      does: changes => unassign(changes, owner, group),
      means: model => {
        const found = model.groups.find(each => each.name === group);
        if (found === undefined) return 'not_found';
        if (!found.members.includes(owner)) return 'already_out';
        leave(model, owner, [group]);
      },
    }),
  ),
  setGroups: fc.tuple(anyOwner, fc.array(anyName, { maxLength: 3 })).map(
    ([owner, groups]): Step => ({
      does: changes => setGroups(changes, owner, groups),
      means: model => {
        if (new Set(groups).size < groups.length) return 'invalid';
        if (groups.some(name => !model.groups.some(each => each.name === name))) return 'invalid';
        leave(
          model,
          owner,
          (model.assigned.get(owner) ?? []).filter(each => !groups.includes(each)),
        );
        for (const { name, members } of model.groups)
          if (groups.includes(name) && !members.includes(owner)) members.push(owner);
        model.assigned.set(owner, groups);
      },
    }),
  ),
  forget: anyOwner.map(
    (owner): Step => ({
      does: changes => changes.remove(assignmentKind, String(owner)),
      means: model => leave(model, owner, model.assigned.get(owner) ?? []),
    }),
  ),
};

function leave(model: Model, owner: number, groups: readonly string[]): undefined {
  for (const group of model.groups) {
    if (groups.includes(group.name)) group.members = group.members.filter(each => each !== owner);
  }
  model.assigned.set(
    owner,
    (model.assigned.get(owner) ?? []).filter(each => !groups.includes(each)),
  );
}

/** The contents of a store, in the words of the model. */
function seen(store: DocumentsInForce): unknown {
  const policy = new Policy(store);
  return {
    rules: rulesIn(store),
    groups: groupsIn(store).map(({ name, rules }) => ({
      name,
      rules: rules.map(each => each.name),
      members: [...policy.membersOf(name)],
    })),
    assigned: [1, 2, 3].map(owner => assignedGroups(store, owner)),
    standings: [1, 2, 3, null].map(owner => policy.standing(owner, ['A', 'gone', 'A'])),
  };
}

function expected({ rules, groups, assigned }: Model): unknown {
  const compiled = (wanted: readonly string[]) =>
    wanted.flatMap(name => {
      const group = groups.find(each => each.name === name);
      if (group === undefined) return [];
      const own = group.rules.flatMap(each => rules.find(other => other.name === each) ?? []);
      return [compileGroup({ name, rules: own })];
    });
  return {
    rules,
    groups,
    assigned: [1, 2, 3].map(owner => assigned.get(owner) ?? []),
    standings: [1, 2, 3, null].map(owner => ({
      assigned: compiled(owner === null ? [] : (assigned.get(owner) ?? [])),
      defaults: compiled(['A']),
    })),
  };
}

t.test('any sequence of changes gives what plain lists would, kept and read again', async () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(...Object.values(step)), { maxLength: 40 }), steps => {
      const kept = new Map<string, DocumentRecord>();
      const store = new DocumentsInForce(kinds, []);
      const model: Model = { rules: [], groups: [], assigned: new Map() };
      for (const { does, means } of steps) {
        const changes = store.changeSet();
        let fault: string | undefined;
        try {
          does(changes);
        } catch (error) {
          assert.ok(error instanceof SoftquotaError);
          fault = error.code;
        }
        assert.equal(fault, means(model));
        if (fault !== undefined) continue;
        const { documents, goneDocuments } = runToEnd(changes.records(store.kinds)).versioned;
        for (const { kind, key } of goneDocuments) kept.delete(JSON.stringify([kind, key]));
        for (const record of documents) kept.set(JSON.stringify([record.kind, record.key]), record);
        store.apply(changes);
        assert.deepEqual(seen(store), expected(model));
      }
      assert.deepEqual(seen(new DocumentsInForce(kinds, [...kept.values()])), expected(model));
    }),
    { numRuns: 300 },
  );
});

t.test('a draft shows its own changes, and the store none of them before they are applied', async t => {
  const store = new DocumentsInForce(kinds, []);
  const changes = store.changeSet();
  t.ok(changes.isEmpty);
  createGroup(changes, { name: 'free', rules: [rule('total')] });
  assign(changes, 1, 'free');
  t.notOk(changes.isEmpty);
  t.match(new Policy(changes).standing(1, []).assigned, [{ name: 'free' }]);
  t.equal(groupNamed(store, 'free'), undefined);
  t.strictSame(new Policy(store).standing(1, []), { assigned: [], defaults: [] });
});

t.test('an allowance that has ended counts again once the clock is set back before its end', async t => {
  const changes = new DocumentsInForce([allowanceKind], []).changeSet();
  const given = { why: '', grantedBy: null, grantedAt: 0, request: null, automatic: false };
  createAllowance(changes, 1, { ...given, bytes: 5000, until: 10_000 });
  createAllowance(changes, 1, { ...given, bytes: 100, until: 30_000 });
  const policy = new Policy(changes);
  const bytesAt = (time: number) => policy.allowanceOf(1, () => time)?.bytes;
  t.strictSame([5000, 20_000, 5000, 20_000].map(bytesAt), [5100, 100, 5100, 100]);
  t.equal(bytesAt(30_000), undefined);
  t.equal(bytesAt(20_000), 100, 'also where none was left');
});

t.test('a group with rules is created whole or not at all, and every fault is named', async t => {
  const changes = new DocumentsInForce(kinds, []).changeSet();
  createRule(changes, rule('there', 5));
  const faulty = [
    { name: 'there', limitBytes: 99 },
    { name: 'no-limit' },
    { name: 'bad', limitBytes: -7, subjects: ['size:nope' as 'none'] },
    { name: 'there' },
  ];
  t.throws(() => createGroup(changes, { name: ' ', rules: faulty }), {
    code: 'invalid',
    message: /^name: .*; rules\.1\.limit: .*; rules\.2\.limit: .*size:nope; rules\.3\.name: .* twice$/,
  });
});

t.test('a rule has a name, whole bytes and known subjects', async t => {
  t.strictSame(ruleFaults(rule('ok')), []);
  t.match(ruleFaults({ name: 'a\u0007', limitBytes: 1.5, subjects: ['size:x' as 'none'] }), [
    /^name: /,
    /^limit: expected whole bytes/,
    /^subjects: there is no subject size:x/,
  ]);
});

t.test('a limit of a repository, push or file has no grace; a stored one opens all the same', async t => {
  for (const per of ['repository', 'push', 'file'] as const) {
    for (const grace of [{ graceMs: 60_000 }, { graceMost: { percent: 5 } }]) {
      t.match(ruleFaults({ ...rule('each'), per, ...grace }), [/^grace: expected none/]);
    }
    t.strictSame(ruleFaults({ ...rule('each'), per, graceMs: 0 }), []);
  }
  t.strictSame(ruleFaults({ ...rule('together'), per: 'group', graceMs: 60_000 }), []);
  const text = '{"place":1,"limitBytes":5,"subjects":[],"per":"repository","graceMs":60000}';
  const stored = new DocumentsInForce(kinds, [{ kind: 'rule', key: 'each', text }]);
  t.match(rulesIn(stored), [{ name: 'each', graceMs: 60_000 }]);
});

t.test('a document that is none is damage of the store, and one of a later kind is left alone', async t => {
  const record = (kind: string, text: string) => [{ kind, key: 'k', text }];
  t.throws(() => new DocumentsInForce(kinds, record('rule', '{"place":1,"limitBytes":-2,"subjects":[]}')), {
    code: 'store_refused',
    message: /its rule k cannot be read/,
  });
  t.throws(() => new DocumentsInForce(kinds, record('group', 'half a docu')), { code: 'store_refused' });
  t.strictSame(rulesIn(new DocumentsInForce(kinds, record('webhook', 'anything'))), []);
});
