import fc from 'fast-check';
import t from 'tap';
import {
  decide,
  type Group,
  type LintedPolicy,
  type LintFinding,
  leafMask,
  lint,
  type Rule,
} from '../../src/quota/index.ts';
import { runToEnd } from '../../src/turns.ts';
import { asked, group, groups, plainSettings, question, ruleOf } from './arbitraries.ts';

/** Findings of a policy whose built-in limit covers what nothing else does, unless settings say otherwise. */
function found(
  policy: Partial<LintedPolicy>,
  settings: Partial<LintedPolicy['settings']> = {},
): readonly LintFinding[] {
  const linted = { groups: [], defaultGroups: [], ...policy };
  return runToEnd(lint({ ...linted, settings: { ...plainSettings, totalBytes: 1000, ...settings } }));
}

/** Findings without their words. */
function faults(...[policy, settings]: Parameters<typeof found>): readonly Omit<LintFinding, 'message'>[] {
  return found(policy, settings).map(({ message, ...rest }) => {
    t.match(message, /^\P{Cc}+\.$/u);
    return rest;
  });
}

const total = ruleOf('total', 100, 'size:all');

t.test('a sound policy has no findings', async t => {
  const free: Group = { name: 'free', rules: [total, ruleOf('lfs', 50, 'size:git:lfs')] };
  const large: Group = { name: 'large', rules: [ruleOf('more', 900, 'size:all')] };
  const policy = { groups: [free, large], defaultGroups: ['free'], members: new Map([['large', [1, 2, 3]]]) };
  t.same(found(policy), []);
  t.same(found(policy, { uncovered: 'deny', totalBytes: -1 }), []);
});

t.test('a default group that does not exist is named once', async t => {
  t.same(faults({ defaultGroups: ['gone', 'gone'] }), [{ code: 'missing_default_group', group: 'gone' }]);
});

t.test('a group without rules, and a rule without subjects, are named', async t => {
  const policy = {
    groups: [
      { name: 'empty', rules: [] },
      { name: 'idle', rules: [ruleOf('none', 5, 'none'), ruleOf('nothing', 5), total] },
    ],
  };
  t.same(faults(policy), [
    { code: 'empty_group', group: 'empty' },
    { code: 'matches_nothing', group: 'idle', rule: 'none' },
    { code: 'matches_nothing', group: 'idle', rule: 'nothing' },
  ]);
});

t.test('a group that nobody is in is named where it is known who is in which', async t => {
  const policy = { groups: [{ name: 'staff', rules: [total] }] };
  t.same(faults(policy), []);
  t.same(faults({ ...policy, members: new Map([['staff', []]]) }), [
    { code: 'unused_group', group: 'staff' },
  ]);
  t.same(faults({ ...policy, members: new Map(), defaultGroups: ['staff'] }), []);
});

t.test('a rule is unreachable where others of its group are always as tight', async t => {
  const unreachable = (...rules: Rule[]) =>
    faults({ groups: [{ name: 'g', rules }] })
      .filter(finding => finding.code === 'unreachable_rule')
      .map(finding => finding.rule);
  t.same(unreachable(total, ruleOf('wide', 200, 'size:all')), ['wide'], 'a larger limit on the same');
  t.same(unreachable(total, ruleOf('lfs', 100, 'size:git:lfs')), ['lfs'], 'the same limit on a part');
  t.same(unreachable(total, ruleOf('lfs', 99, 'size:git:lfs')), [], 'a smaller limit on a part');
  t.same(unreachable(total, ruleOf('any', -1, 'size:git:lfs')), ['any'], 'no limit beside a limit');
  t.same(
    unreachable(ruleOf('any', -1, 'size:all'), ruleOf('lfs', 5, 'size:git:lfs')),
    [],
    'no limit on the rest',
  );
  t.same(
    unreachable(ruleOf('zero', 0, 'size:git:all'), ruleOf('lfs', 5, 'size:git:lfs')),
    ['lfs'],
    'beside a 0',
  );
  t.same(
    unreachable(
      ruleOf('lfs', 5, 'size:git:lfs'),
      ruleOf('wiki', 5, 'size:assets:wiki'),
      ruleOf('both', 10, 'size:git:lfs', 'size:assets:wiki'),
    ),
    [],
    'the sum of two',
  );
  t.same(
    unreachable(ruleOf('git', 50, 'size:all'), ruleOf('both', -1, 'size:repos:public', 'size:git:lfs')),
    ['both'],
  );
});

t.test('of thousands of rules that never decide each is told beside the few that do', async t => {
  const many = Array.from({ length: 5000 }, (_, n) => ruleOf(`rule ${n}`, 10_000 - n, 'size:git:lfs'));
  const findings = found({ groups: [{ name: 'g', rules: [...many, ruleOf('none', 0, 'size:git:all')] }] });
  t.equal(findings.filter(({ code }) => code === 'unreachable_rule').length, 5000);
  t.ok(Math.max(...findings.map(({ message }) => message.length)) < 200);
  const halves = [ruleOf('public', 5, 'size:repos:public'), ruleOf('private', 5, 'size:repos:private')];
  t.match(
    found({
      groups: [
        { name: 'g', rules: [...halves, ruleOf('both', -1, 'size:repos:public', 'size:repos:private')] },
      ],
    }),
    [{ rule: 'both', message: /the limit of "public", "private" is always at least as strict/ }],
    'and beside all that it takes',
  );
});

t.test('of two rules that always say the same exactly one is unreachable', async t => {
  const twins = [ruleOf('b', 100, 'size:repos:all'), ruleOf('a', 100, 'size:repos:all')];
  t.match(faults({ groups: [{ name: 'g', rules: twins }] }), [{ code: 'unreachable_rule', rule: 'b' }]);
  const parts = ruleOf('a', 100, 'size:repos:public', 'size:repos:private');
  const whole = ruleOf('b', 100, 'size:repos:all');
  t.match(
    faults({ groups: [{ name: 'g', rules: [parts, whole] }] }),
    [{ code: 'unreachable_rule', rule: 'a' }],
    'the one that covers less',
  );
});

t.test('a default group beside one that always allows as much makes no difference', async t => {
  const free: Group = { name: 'free', rules: [total] };
  const open: Group = { name: 'open', rules: [ruleOf('open', -1, 'size:all')] };
  const shadowed = { code: 'shadowed_default_group', group: 'free' };
  t.same(faults({ groups: [free, open], defaultGroups: ['free', 'open'] }), [shadowed]);
  t.same(faults({ groups: [free, open], defaultGroups: ['free'] }), []);
  const part: Group = { name: 'part', rules: [ruleOf('lfs', -1, 'size:git:lfs')] };
  t.same(faults({ groups: [free, part], defaultGroups: ['free', 'part'] }), []);
});

t.test('what no rule covers is named where that means a refusal', async t => {
  const git: Group = { name: 'git', rules: [ruleOf('git', 100, 'size:git:all')] };
  const deny = { uncovered: 'deny' } as const;
  const policy = { groups: [git], members: new Map([['git', [1]]]) };
  const gap = { code: 'uncovered_subject', subject: 'size:assets:all' };
  t.same(faults(policy), [], 'the built-in limit covers it');
  t.same(faults(policy, deny), [{ ...gap, group: 'git' }]);
  t.same(faults({ ...policy, defaultGroups: ['git'] }, deny), [{ ...gap, group: 'git' }, gap]);
  t.match(found(policy, deny), [{ message: /attachments, artifacts, packages and wikis; UNCOVERED = deny/ }]);
});

t.test('what no rule covers is named where that means no limit at all', async t => {
  const git: Group = { name: 'git', rules: [ruleOf('git', 100, 'size:git:all')] };
  const rest: Group = { name: 'rest', rules: [ruleOf('rest', 100, 'size:assets:all')] };
  const open = { totalBytes: -1 };
  t.same(
    faults({}, open),
    [{ code: 'uncovered_subject', subject: 'size:all' }],
    'a policy that limits nothing',
  );
  const policy = { groups: [git, rest], defaultGroups: ['rest'], members: new Map([['git', [1]]]) };
  t.same(faults(policy, open), [{ code: 'uncovered_subject', subject: 'size:git:all' }]);
});

t.test('names that a terminal would obey are escaped', async t => {
  t.match(found({ defaultGroups: ['a\u202eb'] }), [{ group: 'a\u202eb', message: /"a\\u\{202e\}b"/ }]);
});

t.test('taking out every rule that never decides changes no answer', async () => {
  fc.assert(
    fc.property(question, group, (each, one) => {
      const findings = found({ groups: [one] });
      const idle = new Set(
        findings
          .filter(({ code }) => code === 'unreachable_rule' || code === 'matches_nothing')
          .map(finding => finding.rule),
      );
      fc.pre(idle.size > 0);
      const without = { ...one, rules: one.rules.filter(rule => !idle.has(rule.name)) };
      const answer = (assigned: Group) => decide(asked({ ...each, assigned: [assigned] })).allowed;
      return answer(one) === answer(without);
    }),
    { numRuns: 3000 },
  );
});

t.test('taking out every shadowed default group changes no answer', async () => {
  fc.assert(
    fc.property(question, groups, (each, defaults) => {
      const findings = found({ groups: defaults, defaultGroups: defaults.map(({ name }) => name) });
      const idle = new Set(
        findings.filter(({ code }) => code === 'shadowed_default_group').map(finding => finding.group),
      );
      fc.pre(idle.size > 0);
      const answer = (kept: readonly Group[]) => decide(asked({ ...each, defaults: kept })).allowed;
      return answer(defaults) === answer(defaults.filter(({ name }) => !idle.has(name)));
    }),
    { numRuns: 2000 },
  );
});

t.test('a lone rule that is always as tight is never overlooked', async () => {
  const bytes = fc.nat(5).map(each => each - 1);
  fc.assert(
    fc.property(question, bytes, bytes, ({ subject }, one, other) => {
      const subjects = [subject];
      const rules = [ruleOf('a', one, ...subjects), ruleOf('b', other, ...subjects)];
      const findings = found({ groups: [{ name: 'g', rules }] });
      return findings.filter(({ code }) => code === 'unreachable_rule').length === 1;
    }),
  );
});

t.test('a bound that holds for nobody, or never refuses first, is found, and limits no owner', async t => {
  const rules: readonly Rule[] = [
    { ...ruleOf('together', 5, 'size:all'), per: 'group' },
    { ...ruleOf('push', 5, 'size:all'), per: 'push' },
    { ...ruleOf('file', 9, 'size:git:all'), per: 'file' },
    ruleOf('total', 100, 'size:all'),
  ];
  const findings = found({ groups: [{ name: 'g', rules }], defaultGroups: ['g'] });
  t.match(findings, [
    { code: 'idle_bound', rule: 'together', message: /only by DEFAULT_GROUPS\.$/ },
    { code: 'idle_bound', rule: 'file', message: /than rule "push" lets/ },
  ]);
  t.equal(findings.length, 2);
});

t.test('a file that another group may push is not said to be refused by the bound of a push', async t => {
  const free: Group = {
    name: 'free',
    rules: [
      total,
      { ...ruleOf('push', 5, 'size:all'), per: 'push' },
      { ...ruleOf('file', 9, 'size:all'), per: 'file' },
    ],
  };
  const beside = (limitBytes: number, rule: Partial<Rule> = {}) =>
    faults({
      groups: [
        free,
        {
          name: 'staff',
          rules: [total, { ...ruleOf('large', limitBytes, 'size:git:lfs'), per: 'push', ...rule }],
        },
      ],
      defaultGroups: ['free'],
    });
  const idle = [{ code: 'idle_bound', group: 'free', rule: 'file' }];
  t.same(beside(-1), []);
  t.same(beside(9), []);
  t.same(beside(8), idle);
  t.same(beside(-1, { mode: 'report' }), idle, 'it lets nothing through');
  t.same(beside(-1, { per: 'repository' }), idle);
});

t.test('a pool that has room for the limits of all its members is found', async t => {
  const pool = (limitBytes: number): Rule => ({ ...ruleOf('pool', limitBytes, 'size:all'), per: 'group' });
  const ask = (limitBytes: number, members: number) =>
    faults({
      groups: [{ name: 'g', rules: [total, pool(limitBytes)] }],
      members: new Map([['g', Array.from({ length: members }, (_, at) => at)]]),
    });
  t.same(ask(300, 3), [{ code: 'idle_bound', group: 'g', rule: 'pool' }]);
  t.same(ask(299, 3), []);
  t.same(ask(300, 4), []);
});

t.test('a bound of a default group that another one always lifts is found', async t => {
  const file = (name: string, limitBytes: number): Rule => ({
    ...ruleOf(name, limitBytes, 'size:all'),
    per: 'file',
  });
  const groups = [
    { name: 'g', rules: [total, file('small', 5)] },
    { name: 'h', rules: [file('any', -1)] },
  ];
  t.same(faults({ groups, defaultGroups: ['g', 'h'] }), [{ code: 'idle_bound', group: 'g', rule: 'small' }]);
  t.same(faults({ groups, defaultGroups: ['g'] }), []);
});

t.test('a bound that another group of all members always lifts is found', async t => {
  const file = (name: string, limitBytes: number): Rule => ({
    ...ruleOf(name, limitBytes, 'size:all'),
    per: 'file',
  });
  const groups = [
    { name: 'g', rules: [total, file('small', 5)] },
    { name: 'h', rules: [total, file('large', 9)] },
    { name: 'plain', rules: [total] },
  ];
  const ask = (ofG: number[], ofH: number[], defaultGroups: string[] = []) =>
    found({
      groups,
      defaultGroups,
      members: new Map([
        ['g', ofG],
        ['h', ofH],
        ['plain', ofG],
      ]),
    })
      .filter(({ code }) => code === 'idle_bound')
      .map(({ rule, message }) => `${rule} ${message.includes('all members are in "h"')}`);
  t.same(ask([2, 1], [1, 2, 3]), ['small true']);
  t.same(ask([1, 4], [1, 2, 3]), [], 'a member has no other group');
  t.same(ask([], [1, 2, 3]), [], 'it is unused already');
  t.same(ask([1], [1, 2], ['g']), [], 'it holds for owners without a group');
  t.same(ask([1, 4], [1], ['g', 'h']), [], 'as a default group it is lifted, and not for its member');
  t.same(ask([1], [1], ['g', 'h']), ['small false']);
});

t.test('the members of groups are read once, however many bounds there are', async t => {
  const reads = { lists: 0, comparisons: 0 };
  /** A list that counts how often it is read whole, and compared. */
  const counted = (ids: readonly number[]) =>
    new Proxy(ids, {
      get: (list, name) => {
        if (name === Symbol.iterator) reads.lists += 1;
        if (name === 'every') reads.comparisons += 1;
        return Reflect.get(list, name);
      },
    });
  const names = ['f', 'g', 'h'];
  const groups = names.map((name, at) => {
    const bounds = Array.from({ length: 20 }, (_, bound) => ruleOf(`${name}${bound}`, 5 + at, 'size:all'));
    return { name, rules: [total, ...bounds.map(rule => ({ ...rule, per: 'file' as const }))] };
  });
  const members = new Map(names.map(name => [name, counted([1, 2, 3])]));
  const idle = found({ groups, members }).filter(({ code }) => code === 'idle_bound');
  t.equal(idle.length, 40, 'those of f and g');
  t.same(reads, { lists: 3, comparisons: 9 });
});

t.test('a bound that nothing asks about here is found, as far as the configuration says', async t => {
  const rule = (per: 'file' | 'push' | 'repository', ...subjects: Rule['subjects']): Rule => ({
    ...ruleOf(per, 5, ...subjects),
    per,
  });
  const words = (asked: LintedPolicy['asked'], ...rules: Rule[]) =>
    found({ groups: [{ name: 'g', rules: [total, ...rules] }], asked })
      .filter(({ code }) => code === 'idle_bound')
      .map(({ rule, message }) => `${rule}: ${message.replace(/^Rule "\w+" of group "g" /, '')}`);
  const repositories = { leaves: leafMask('size:repos:all'), isLfsByOwner: false };
  const packages = rule('file', 'size:assets:packages:all');
  t.match(words(repositories, packages), [/^file: is asked by nobody: .* for packages, so only programs/]);
  t.same(words(repositories, rule('file', 'size:all'), rule('push', 'size:git:all')), [], 'a part is asked');
  t.same(words(undefined, packages), [], 'nothing is known of the configuration');
  t.same(words({ ...repositories, leaves: leafMask('size:all') }, packages), []);
  const byOwner = { ...repositories, leaves: leafMask('size:git:all'), isLfsByOwner: true };
  t.match(words(byOwner, rule('repository', 'size:git:lfs')), [/^repository: counts nothing: here they are/]);
  t.match(words(byOwner, rule('repository', 'size:all')), [/^repository: counts no LFS objects: here/]);
  t.same(words(byOwner, rule('repository', 'size:repos:all'), rule('file', 'size:git:lfs')), []);
});

t.test('a group that has nothing but bounds is found where UNCOVERED = deny', async t => {
  const groups = [{ name: 'g', rules: [{ ...ruleOf('file', 5, 'size:all'), per: 'file' as const }] }];
  const denied = [{ code: 'uncovered_subject', group: 'g', subject: 'size:all' }];
  t.same(faults({ groups }, { uncovered: 'deny' }), denied);
  t.same(faults({ groups }), []);
});
