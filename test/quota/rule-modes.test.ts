/** Rules in report mode, and those that only warn: what they would refuse is said, and nothing else changes. */

import t from 'tap';
import {
  compileGroup,
  decide,
  explain,
  type Group,
  lint,
  noUsage,
  passedLimits,
  refusal,
  standingIn,
  usageOf,
  warning,
} from '../../src/quota/index.ts';
import { runToEnd } from '../../src/turns.ts';
import { plainSettings, rule, standing } from './arbitraries.ts';

const stored = usageOf({ 'size:git:lfs': 500 });
const ask = (assigned: readonly Group[], defaults: readonly Group[] = [], more: object = {}) =>
  decide({
    ...more,
    settings: plainSettings,
    standing: standing(assigned, defaults),
    usage: stored,
    subject: 'size:git:lfs',
  });

t.test('a rule in report mode says what it would refuse', async t => {
  const tried = rule('tried', 100, { mode: 'report' });
  const decision = ask([{ name: 'g', rules: [rule('total', 1000), tried] }]);
  t.match(decision, {
    allowed: true,
    rule: 'total',
    limit: 1000,
    reported: { allowed: false, rule: 'tried', limit: 100, used: 500 },
  });
  t.equal(
    decision.reported && refusal('alice', 'size:git:lfs', decision.reported),
    'Quota exceeded: alice uses 500 B of 100 B (500 %).',
  );
  t.match(ask([{ name: 'g', rules: [rule('total', 100), tried] }]), { allowed: false, rule: 'total' });
  t.equal(
    ask([{ name: 'g', rules: [rule('total', 1000), rule('x', 600, { mode: 'report' })] }]).reported,
    undefined,
  );
});

t.test('a grace that lets a rule in force pass is no news of one that only reports', async t => {
  const groups: readonly Group[] = [
    { name: 'g', rules: [rule('total', 490), rule('x', 600, { mode: 'report' })] },
  ];
  const decision = decide({
    settings: { ...plainSettings, graceMs: 1000 },
    standing: { ...standing(groups, []), graces: { now: 0, begun: new Map() } },
    usage: stored,
    subject: 'size:git:lfs',
  });
  t.match(decision, { allowed: true, rule: 'total', grace: { until: 1000 }, reported: undefined });
});

t.test('a group with rules in report mode alone is as if nobody were in it', async t => {
  const only = (limitBytes: number): Group => ({
    name: 'tried',
    rules: [rule('small', limitBytes, { mode: 'report' })],
  });
  t.match(ask([only(100)], [{ name: 'd', rules: [rule('total', 1000)] }]), {
    allowed: true,
    step: 'defaults',
    rule: 'total',
    reported: { allowed: false, step: 'assigned', group: 'tried' },
  });
  t.match(ask([only(1000)], [{ name: 'd', rules: [rule('total', 100)] }]), {
    allowed: false,
    rule: 'total',
  });
  const strict = { ...plainSettings, uncovered: 'deny' } as const;
  const denied = (assigned: readonly Group[]) =>
    decide({ settings: strict, standing: standing(assigned, []), usage: stored, subject: 'size:git:lfs' })
      .allowed;
  t.equal(denied([only(1000)]), true, 'what it does not cover is not refused either');
  t.equal(denied([{ name: 'empty', rules: [] }]), false);
});

t.test('it is explained beside the decision', async t => {
  const groups: readonly Group[] = [
    { name: 'g', rules: [rule('total', 1000), rule('tried', 100, { mode: 'report' })] },
  ];
  const { decision, steps, reporting } = explain({
    settings: plainSettings,
    standing: standing(groups, []),
    usage: stored,
    subject: 'size:git:lfs',
  });
  t.equal(decision.allowed, true);
  t.strictSame(
    steps[0]?.groups[0]?.rules.map(each => each.rule),
    ['total'],
  );
  t.match(reporting, {
    decision: { allowed: false, rule: 'tried' },
    steps: [
      { groups: [{ verdict: 'refuses', rules: [{ rule: 'total' }, { rule: 'tried', mode: 'report' }] }] },
    ],
  });
  const plain = standing([{ name: 'g', rules: [rule('total', 1000)] }], []);
  t.equal(
    explain({ settings: plainSettings, standing: plain, usage: stored, subject: 'size:all' }).reporting,
    undefined,
  );
});

t.test('a grace of what only reports is marked, so that it begins anew once it refuses', async t => {
  const groups: readonly Group[] = [
    { name: 'g', rules: [rule('total', 490), rule('tried', 480, { mode: 'report' })] },
  ];
  const passed = passedLimits({ ...plainSettings, graceMs: 1000 }, standing(groups, []), stored, null);
  t.strictSame(
    [...passed],
    [
      ['total', { isReported: false }],
      ['tried', { isReported: true }],
    ],
  );
});

t.test('lint knows that what is in report mode limits nobody', async t => {
  const codes = (groups: readonly Group[]) =>
    runToEnd(lint({ groups, defaultGroups: ['g'], settings: plainSettings })).map(({ code }) => code);
  t.strictSame(codes([{ name: 'g', rules: [rule('a', 10), rule('b', 20)] }]), ['unreachable_rule']);
  t.strictSame(codes([{ name: 'g', rules: [rule('a', 10, { mode: 'report' }), rule('b', 20)] }]), []);
  t.strictSame(
    codes([{ name: 'g', rules: [rule('a', 10, { mode: 'report' }), rule('b', 20, { mode: 'report' })] }]),
    ['uncovered_subject'],
  );
  t.strictSame(
    codes([{ name: 'g', rules: [rule('a', 10, { graceMs: 1000 }), rule('b', 20, { graceMs: 0 })] }]),
    [],
    'while the grace of one runs, the other decides',
  );
});

t.test('a rule that only warns tells who passes its limit, and refuses nothing', async t => {
  const small = rule('small', 400, { mode: 'warn' });
  const decision = ask([{ name: 'g', rules: [rule('total', 1000), small] }]);
  t.match(decision, { allowed: true, rule: 'total', warned: { allowed: false, rule: 'small', used: 500 } });
  t.equal(decision.reported, undefined);
  t.equal(
    warning(plainSettings, 'alice', 'size:all', decision),
    'Quota warning: alice uses 500 B of 400 B (125 %); this limit refuses nothing.',
  );
  const near = ask([{ name: 'g', rules: [rule('total', 510), small] }]);
  t.equal(
    warning({ warnAt: [90] }, 'alice', 'size:all', near),
    'Quota warning: alice uses 500 B of 510 B (98 %). alice uses 500 B of 400 B (125 %); this limit refuses nothing.',
  );
  for (const [subjects, what] of [
    [['size:git:lfs'], 'no LFS objects'],
    [['size:all'], 'nothing'],
    [['size:git:all', 'size:assets:all'], 'nothing'],
    [['size:repos:public', 'size:git:all'], 'no repositories and LFS objects'],
  ] as const) {
    const none = rule('none', 0, { mode: 'warn', subjects });
    t.equal(
      warning(plainSettings, 'alice', 'size:all', ask([{ name: 'g', rules: [rule('total', 1000), none] }])),
      `Quota warning: alice should store ${what}; this limit refuses nothing.`,
    );
  }
  t.match(ask([{ name: 'g', rules: [rule('total', 100), small] }]), { allowed: false, rule: 'total' });
  const below = ask([{ name: 'g', rules: [rule('total', 1000), rule('x', 600, { mode: 'warn' })] }]);
  t.equal(below.warned, undefined);
  const generous = [
    { name: 'g', rules: [small] },
    { name: 'h', rules: [rule('more', 2000)] },
  ];
  t.equal(ask(generous).warned, undefined, 'another group allows it');
  const closed = [
    { name: 'g', rules: [rule('small', 100)] },
    { name: 'h', rules: [rule('more', 2000), rule('soft', 50, { mode: 'warn' })] },
  ];
  t.match(ask(closed), { allowed: true, rule: 'more', warned: { group: 'h', rule: 'soft', limit: 50 } });
  const both = closed.map(one => ({ ...one, rules: [...one.rules, rule('softer', 90, { mode: 'warn' })] }));
  t.match(ask(both), { warned: { group: 'h', rule: 'soft' } }, 'a group that refuses anyway is not meant');
  const files = [
    {
      name: 'g',
      rules: [rule('most', 100, { per: 'file' }), rule('softer', 90, { per: 'file', mode: 'warn' })],
    },
    {
      name: 'h',
      rules: [rule('more', 500, { per: 'file' }), rule('soft', 50, { per: 'file', mode: 'warn' })],
    },
  ];
  const brought = { bytes: 200, largest: { bytes: 200 } };
  t.match(ask(files, [], { incoming: brought }), { allowed: true, warned: { group: 'h', rule: 'soft' } });
});

t.test('a group that only warns of something else hides no warning of the default groups', async t => {
  const wikis = rule('wikis', 10, { mode: 'warn', subjects: ['size:assets:wiki'] });
  const decision = decide({
    settings: { ...plainSettings, uncovered: 'deny' },
    standing: standing(
      [{ name: 'g', rules: [wikis] }],
      [{ name: 'd', rules: [rule('soft', 400, { mode: 'warn' })] }],
    ),
    usage: stored,
    subject: 'size:git:lfs',
  });
  t.match(decision, { allowed: true, step: 'builtin', warned: { group: 'd', rule: 'soft' } });
});

t.test('a group that only warns of something else denies nothing in what explains a warning', async t => {
  const wikis = rule('wikis', 10, { mode: 'warn', subjects: ['size:assets:wiki'] });
  const question = {
    settings: { ...plainSettings, uncovered: 'deny' },
    standing: standing([{ name: 'g', rules: [wikis] }], []),
    usage: stored,
    subject: 'size:git:lfs',
  } as const;
  t.match(explain(question), {
    decision: { allowed: true, step: 'builtin', warned: undefined },
    warning: { decision: { allowed: true, step: 'builtin' } },
  });
  const other = { name: 'other', rules: [rule('packages', 10, { subjects: ['size:assets:packages:all'] })] };
  const denied = { by: 'no_match', step: 'assigned' };
  t.match(explain({ ...question, standing: standing([other, { name: 'g', rules: [wikis] }], []) }), {
    decision: denied,
    warning: { decision: denied },
  });
});

t.test('who is only warned needs no group for it, is told at once, and sees why', async t => {
  const groups: readonly Group[] = [
    { name: 'g', rules: [rule('small', 400, { mode: 'warn', graceMs: 1000 })] },
  ];
  const strict = { ...plainSettings, uncovered: 'deny', graceMs: 1000 } as const;
  const graced = { ...standing(groups, []), graces: { now: 0, begun: new Map() } };
  const question = { settings: strict, standing: graced, usage: stored, subject: 'size:git:lfs' } as const;
  const { decision, steps, warning: warned } = explain(question);
  t.match(decision, { allowed: true, step: 'builtin', warned: { rule: 'small', group: 'g' } });
  t.strictSame(
    steps.map(({ step, groups: asked }) => [step, asked.length]),
    [
      ['assigned', 0],
      ['defaults', 0],
      ['builtin', 1],
    ],
  );
  t.match(warned, {
    decision: { allowed: false, rule: 'small' },
    steps: [{ groups: [{ verdict: 'refuses', rules: [{ rule: 'small', mode: 'warn' }] }] }],
  });
  t.strictSame([...passedLimits(strict, graced, stored, null).keys()], [], 'no grace begins');
});

t.test('a rule warns at percentages of its own, whatever it limits', t => {
  const settings = { ...plainSettings, warnAt: [80, 90] };
  const warnAt = [50];
  const at = (per: 'repository' | 'push' | 'file' | 'group', own: object) => {
    const rule = { name: 'own', limitBytes: 100, subjects: ['size:all' as const], per, ...own };
    const assigned = [compileGroup({ name: 'lab', rules: [rule] })];
    const stored = { usage: usageOf({ 'size:repos:private': 60 }), reserved: null, unreachable: null };
    return decide({
      settings,
      standing: standingIn({ assigned, defaults: [] }),
      usage: noUsage,
      subject: 'size:repos:private',
      pools: () => stored,
      repository: { name: 'alice/app', ...stored },
      incoming: { bytes: 60, largest: { bytes: 60, name: 'video.bin' } },
    });
  };
  for (const [per, words] of [
    ['group', 'The group lab has 60 B of 100 B, of which you have 0 B.'],
    ['repository', 'Repository alice/app has 60 B of 100 B.'],
    ['push', 'This push brings 60 B; a push may bring 100 B.'],
    ['file', 'video.bin has 60 B; a file may have 100 B.'],
  ] as const) {
    const warned = (own: object) => warning(settings, 'alice', 'size:repos:private', at(per, own));
    t.equal(warned({ warnAt }), `Quota warning: ${words}`);
    t.equal(warned({}), null);
    t.equal(warned({ warnAt: [] }), null);
  }
  t.end();
});
