/** Edits of a policy on its pages, before the daemon sees it. */

import fc from 'fast-check';
import t from 'tap';
import { leafMask, type Subject, subjects } from '../../src/quota/index.ts';
import type { WholePolicy } from '../../src/wire/index.ts';
import {
  draftOf,
  groupsOf,
  groupsWith,
  isSame,
  rebased,
  replacementOf,
  withGroup,
  withGroupsOf,
  withoutGroup,
  withoutRule,
  withRule,
} from '../../web/src/policy/edit.ts';
import { readPolicy } from '../../web/src/policy/file.ts';
import { type PolicyEvent, restored } from '../../web/src/policy/restore.ts';
import { tickOf, toggled, wholeTree } from '../../web/src/policy/subject-tree.ts';

const total = { name: 'total', limit: 1_000_000_000, subjects: ['size:all'] as const, per: 'owner' as const };
const lfs = { name: 'lfs', limit: -1, subjects: ['size:git:lfs'] as const, per: 'owner' as const };
const policy: WholePolicy = {
  version: 'v1',
  rules: [total, lfs],
  groups: [
    { name: 'free', rules: ['total', 'lfs'], users: ['alice', 'bob'] },
    { name: 'paid', rules: ['lfs'], users: ['carol'] },
  ],
};

t.test('a draft names who is in a group only where that is changed', async t => {
  const after = withGroupsOf(policy, 'bob', new Set(['paid']));
  t.same(groupsOf(after, 'bob'), ['paid']);
  t.same(draftOf(policy, after).groups, [
    { name: 'free', rules: [{ name: 'total' }, { name: 'lfs' }], users: ['alice'] },
    { name: 'paid', rules: [{ name: 'lfs' }], users: ['carol', 'bob'] },
  ]);
  t.same(
    draftOf(policy, policy).groups?.map(group => 'users' in group),
    [false, false],
  );
});

t.test('what is saved goes back with the version that it was made from', async t => {
  const after = withRule(policy, { ...total, limit: 5 });
  const sent = replacementOf(policy, after);
  t.equal(sent.version, 'v1');
  t.same(sent.rules[0], { ...total, limit: 5 });
  t.notOk(isSame(policy, after));
  t.ok(isSame(policy, withRule(after, total)));
});

t.test('an edit keeps what others have changed since its form was opened', async t => {
  const edited = withGroup(withRule(policy, { ...total, limit: 5 }), {
    name: 'free',
    rules: ['total', 'lfs'],
    users: ['alice', 'dave'],
  });
  const others = withGroup(withRule(withRule(policy, { ...total, mode: 'report' }), { ...lfs, limit: 7 }), {
    name: 'free',
    rules: ['lfs'],
    users: ['alice', 'bob', 'carol'],
  });
  const both = rebased(policy, edited, { ...others, version: 'v2' });
  t.equal(both.version, 'v2');
  t.same(both.rules, [
    { ...total, mode: 'report', limit: 5 },
    { ...lfs, limit: 7 },
  ]);
  t.same(both.groups[0], { name: 'free', rules: ['lfs'], users: ['alice', 'carol', 'dave'] });
  t.same(both.groups[1], policy.groups[1]);
  t.same(rebased(policy, edited, policy), edited);
  const { mode: _, ...enforced } = { ...total, mode: 'report' as const };
  const reporting = withRule(policy, { ...total, mode: 'report' });
  t.same(
    rebased(
      reporting,
      withRule(reporting, enforced),
      withRule(reporting, { ...total, mode: 'report', limit: 9 }),
    ).rules[0],
    {
      ...total,
      limit: 9,
    },
  );
});

t.test('an edit does not bring back a group that somebody else has deleted meanwhile', async t => {
  const edited = withGroup(withRule(policy, { ...total, limit: 5 }), {
    name: 'free',
    rules: ['total'],
    users: ['alice', 'bob'],
  });
  const both = rebased(policy, edited, { ...withoutGroup(policy, 'free'), version: 'v2' });
  t.same(both.rules[0], { ...total, limit: 5 });
  t.same(both.groups, [policy.groups[1]]);
  const added = withGroup(policy, { name: 'new', rules: [], users: [] });
  t.same(rebased(policy, added, { ...policy, version: 'v2' }).groups, added.groups);
});

t.test('a rule or a group that goes leaves nothing behind', async t => {
  const without = withoutRule(policy, 'lfs');
  t.same(without.rules, [total]);
  t.same(
    without.groups.map(({ rules }) => rules),
    [['total'], []],
  );
  t.same(groupsWith(policy, 'lfs'), ['free', 'paid']);
  t.same(
    withoutGroup(policy, 'free').groups.map(({ name }) => name),
    ['paid'],
  );
});

t.test('a new rule or group stands behind the others', async t => {
  const after = withGroup(withRule(policy, { ...total, name: 'new' }), {
    name: 'x',
    rules: ['new'],
    users: [],
  });
  t.equal(after.rules[2]?.name, 'new');
  t.same(after.groups[2], { name: 'x', rules: ['new'], users: [] });
});

t.test('what is ticked stands for all below it', async t => {
  t.equal(tickOf(['size:git:all'], 'size:repos:public'), 'on');
  t.equal(tickOf(['size:repos:public'], 'size:git:all'), 'partly');
  t.equal(tickOf(['none'], 'size:all'), 'off');
  t.same(toggled(['size:all'], 'size:assets:all'), ['size:git:all']);
  t.same(toggled(['size:repos:public'], 'size:repos:private'), ['size:repos:all']);
  t.same(
    wholeTree.below.map(({ subject }) => subject),
    ['size:git:all', 'size:assets:all'],
  );
});

t.test('ticking changes that subject and nothing beside it, and twice is as before', async t => {
  const mask = (chosen: readonly Subject[]) => chosen.reduce((sum, each) => sum | leafMask(each), 0);
  const one = fc.constantFrom(...subjects);
  fc.assert(
    fc.property(fc.array(one), one, (chosen, subject) => {
      const after = toggled(chosen, subject);
      const beside = ~leafMask(subject);
      t.equal(mask(after) & beside, mask(chosen) & beside);
      t.not(tickOf(after, subject), 'partly');
      if (tickOf(chosen, subject) !== 'partly') t.equal(mask(toggled(after, subject)), mask(chosen));
    }),
  );
});

t.test('a rule that limits another thing since is not changed back', async t => {
  const { name: _, ...content } = total;
  const edited: PolicyEvent = {
    kind: 'policy',
    id: 'e1',
    at: '2026-11-28T12:00:00Z',
    change: 'c1',
    by: null,
    what: 'rule',
    action: 'edited',
    name: 'total',
    owner: null,
    before: { ...content, limit: 5 },
    after: content,
  };
  t.match(restored(policy, [edited]), {
    is: 'edited',
    policy: { rules: [{ name: 'total', limit: 5 }, lfs] },
  });
  const pool = withRule(policy, { ...total, per: 'group' });
  t.match(restored(pool, [edited]), { is: 'refused', why: ['The rule total has been changed again since.'] });
});

t.test('a policy that was pasted is refused where a group is none, with the place of the fault', async t => {
  const reasonOf = (...groups: readonly unknown[]) => {
    const read = readPolicy(JSON.stringify({ rules: [], groups }));
    return read.ok ? null : read.reason;
  };
  t.equal(reasonOf({ name: 'free' }, { name: 'paid', rules: null }, { name: 'x', rules: ['lfs'] }), null);
  t.equal(reasonOf({ name: 'free', rules: 'free' }), 'groups.0.rules: expected a list');
  t.equal(reasonOf({ name: 'free' }, null), 'groups.1: expected an object');
});

t.test('a change of nothing but the order of groups has nothing to undo', async t => {
  const both = withGroupsOf(policy, 'bob', new Set(['free', 'paid']));
  const reordered: PolicyEvent = {
    kind: 'policy',
    id: 'e1',
    at: '2026-11-28T12:00:00Z',
    change: 'c1',
    by: null,
    what: 'assignment',
    action: 'edited',
    name: 'bob',
    owner: null,
    before: { groups: ['free', 'paid'] },
    after: { groups: ['paid', 'free'] },
  };
  t.same(restored(both, [reordered]), { is: 'nothing' });
});
