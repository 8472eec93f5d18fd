/** Graces: an owner who comes over a limit by little is let through for a time. */

import fc from 'fast-check';
import t from 'tap';
import {
  decide,
  explain,
  type Graces,
  type Group,
  graceMostText,
  parseGraceMost,
  passedLimits,
  type QuotaSettings,
  type Rule,
  type RunningGrace,
  refusal,
  standing as standingWords,
  subjects,
  usageOf,
  warning,
} from '../../src/quota/index.ts';
import { group, plainSettings, settings, standing, usage } from './arbitraries.ts';

const day = 86_400_000;
const now = Date.parse('2026-11-21T09:00:00Z');
const week: QuotaSettings = { ...plainSettings, graceMs: 7 * day, graceMost: { percent: 10 } };

const total = (bytes: number, more: Partial<Rule> = {}): Group => ({
  name: 'g',
  rules: [{ name: 'total', limitBytes: bytes, subjects: ['size:all'], ...more }],
});

function graces(since: number | null = null, differing: Partial<RunningGrace> = {}): Graces {
  return {
    now,
    begun: new Map(since === null ? [] : [['total', { since, isReported: false, ...differing }]]),
  };
}

function decided(bytes: number, of: Graces, one: Group = total(1000), by: QuotaSettings = week) {
  const stored = usageOf({ 'size:repos:private': bytes });
  return decide({
    settings: by,
    standing: { ...standing([one], []), graces: of },
    usage: stored,
    subject: 'size:repos:private',
  });
}

t.test('a limit is passed up to GRACE_MOST, for as long as GRACE', async t => {
  t.match(decided(1000, graces()), { allowed: true, grace: undefined }, 'it is not passed');
  const whole = { until: now + 7 * day, below: 1100 };
  t.match(decided(1001, graces()), { allowed: true, grace: whole }, 'it begins now');
  t.match(decided(1099, graces(now - 3 * day)), { allowed: true, grace: { until: now + 4 * day } });
  t.match(decided(1100, graces(now - 3 * day)), { allowed: false, grace: { below: 1100 } }, 'too far');
  t.match(decided(1001, graces(now - 7 * day + 1)), { allowed: true });
  t.match(decided(1001, graces(now - 7 * day)), { allowed: false, grace: { until: now } }, 'the end');
  t.match(decided(1000, graces(now - 30 * day)), { allowed: true }, 'below the limit it does not matter');
});

t.test('without a grace, or at limit 0, a limit refuses at once', async t => {
  t.match(decided(1001, graces(), total(1000), plainSettings), { allowed: false, grace: undefined });
  t.match(decided(1001, graces(), total(1000), { ...week, graceMs: null }), { allowed: false });
  t.match(decided(1, graces(), total(0)), { allowed: false, grace: undefined });
  t.match(decided(1001, graces(), total(1000, { graceMs: 0 })), { allowed: false, grace: undefined });
  const stored = usageOf({ 'size:git:lfs': 1001 });
  const timeless = decide({
    settings: week,
    standing: standing([total(1000)], []),
    usage: stored,
    subject: 'size:git:lfs',
  });
  t.equal(timeless.allowed, false, 'nobody knows the time');
});

t.test('a rule has a grace of its own', async t => {
  const own = total(1000, { graceMs: day, graceMost: { bytes: 500 } });
  t.match(decided(1499, graces(), own, plainSettings), {
    allowed: true,
    grace: { until: now + day, below: 1500 },
  });
  t.match(decided(1500, graces(), own, week), { allowed: false });
  t.match(decided(1001, graces(now - day), own, week), { allowed: false });
  t.match(decided(1099, graces(), total(1000, { graceMs: day })), {
    grace: { until: now + day, below: 1100 },
  });
});

t.test('with REFUSE_WHEN = reached it begins at the limit', async t => {
  const reached: QuotaSettings = { ...week, refuseWhen: 'reached' };
  t.match(decided(999, graces(), total(1000), reached), { allowed: true, grace: undefined });
  t.match(decided(1000, graces(), total(1000), reached), { allowed: true, grace: { below: 1100 } });
  t.match(decided(1100, graces(), total(1000), reached), { allowed: false });
});

t.test('with PRECISE the bytes about to come count', async t => {
  const stored = usageOf({ 'size:git:lfs': 990 });
  const of = { ...standing([total(1000)], []), graces: graces() };
  const precise: QuotaSettings = { ...week, precise: true };
  const adding = (addingBytes: number) =>
    decide({ settings: precise, standing: of, usage: stored, subject: 'size:git:lfs', addingBytes });
  t.match(adding(10), { allowed: true, grace: undefined });
  t.match(adding(109), { allowed: true, grace: { below: 1100 } });
  t.match(adding(110), { allowed: false });
});

t.test('a grace says its numbers and its end', async t => {
  const GB = 1_000_000_000;
  const graced = decided(10.4 * GB, graces(), total(10 * GB));
  t.equal(
    warning(week, 'alice', 'size:all', graced),
    'Quota warning: alice uses 10.4 GB of 10 GB (104 %). Refusals begin on 2026-11-28 09:00:00 UTC, or at 11 GB.',
  );
  if (graced.allowed) {
    t.equal(
      standingWords('alice', graced),
      'alice uses 10.4 GB of 10 GB (104 %). Refusals begin on 2026-11-28 09:00:00 UTC, or at 11 GB.',
    );
  }
  const over = decided(12 * GB, graces(), total(10 * GB));
  const ended = decided(10.4 * GB, graces(now - 8 * day), total(10 * GB));
  t.strictSame(
    [over, ended].map(each => (each.allowed ? '' : refusal('alice', 'size:git:lfs', each))),
    [
      'Quota exceeded: alice uses 12 GB of 10 GB (120 %). The grace reaches only up to 11 GB.',
      'Quota exceeded: alice uses 10.4 GB of 10 GB (104 %). The grace ended on 2026-11-20 09:00:00 UTC.',
    ],
  );
  const silent = { ...week, warnAt: [] };
  const quiet = decided(10.4 * GB, graces(), total(10 * GB), silent);
  t.match(warning(silent, 'alice', 'size:all', quiet), /^Quota warning/, 'also where WARN_AT is empty');
});

t.test('of several graces that one is named which ends first, and of several groups the longest', async t => {
  const rules: readonly Rule[] = [
    { name: 'a', limitBytes: 1000, subjects: ['size:all'] },
    { name: 'b', limitBytes: 1050, subjects: ['size:all'], graceMs: day },
  ];
  t.match(decided(1080, graces(), { name: 'g', rules }), { rule: 'b', grace: { until: now + day } });
  const stored = usageOf({ 'size:git:lfs': 1080 });
  const two = standing(
    rules.map(rule => ({ name: `of ${rule.name}`, rules: [rule] })),
    [],
  );
  t.match(
    decide({
      settings: week,
      standing: { ...two, graces: graces() },
      usage: stored,
      subject: 'size:git:lfs',
    }),
    { allowed: true, rule: 'a' },
  );
});

t.test('time that passed while a limit only reported does not count once it refuses', async t => {
  const reported = graces(now - 30 * day, { isReported: true });
  t.match(decided(1001, reported), { allowed: true, grace: { until: now + 7 * day } });
  t.match(decided(1001, reported, total(1000), { ...week, mode: 'report' }), { allowed: false });
});

t.test('GRACE_MOST is a percentage or a size', async t => {
  for (const text of ['10 %', '12.5 %', '1000 %', '5 GB', '1 B']) {
    const parsed = parseGraceMost(text);
    t.equal(parsed.ok && graceMostText(parsed.value), text);
  }
  t.strictSame(parseGraceMost('10%'), { ok: true, value: { percent: 10 } });
  for (const text of ['', '0 %', '0', '-1', '1001 %', '10', '10 percent', 'much', '%']) {
    t.equal(parseGraceMost(text).ok, text === '10', `"${text}"`);
  }
});

const anySettings: fc.Arbitrary<QuotaSettings> = fc
  .tuple(
    settings,
    fc.constantFrom(null, 10, 30),
    fc.constantFrom(10, 100),
    fc.constantFrom('enforce', 'report'),
  )
  .map(([plain, graceMs, percent, mode]) => ({ ...plain, graceMs, graceMost: { percent }, mode }));

const anyTerms = fc.record(
  {
    graceMs: fc.constantFrom(0, 5, 20),
    graceMost: fc.oneof(
      fc.record({ percent: fc.constantFrom(10, 50) }),
      fc.record({ bytes: fc.integer({ min: 1, max: 30 }) }),
    ),
  },
  { requiredKeys: [] },
);

const anyGroup: fc.Arbitrary<Group> = fc
  .tuple(group, fc.array(anyTerms, { minLength: 4, maxLength: 4 }))
  .map(([one, terms]) => ({ ...one, rules: one.rules.map((rule, at) => ({ ...rule, ...terms[at] })) }));

const anyGroups = fc.uniqueArray(anyGroup, { maxLength: 4, selector: ({ name }) => name });

/** A policy has no two rules of the same name. */
function withOwnNames(groups: readonly Group[]): readonly Group[] {
  return groups.map(one => ({
    ...one,
    rules: one.rules.map(rule => ({ ...rule, name: `${one.name}/${rule.name}` })),
  }));
}

t.test('a grace begins for each limit that would refuse without it, and for no other', async t => {
  fc.assert(
    fc.property(anySettings, anyGroups, usage, (by, assigned, stored) => {
      const groups = withOwnNames(assigned);
      const on = standing(groups, []);
      const passed = passedLimits(by, on, stored, null);
      const refusing = subjects.flatMap(asked => {
        const { decision, steps } = explain({ settings: by, standing: on, usage: stored, subject: asked });
        const said = steps.find(({ step }) => step === decision.step)?.groups ?? [];
        return decision.allowed ? [] : said.flatMap(({ rules }) => rules);
      });
      const all: readonly Pick<Rule, 'graceMs' | 'limitBytes' | 'name'>[] = groups.flatMap(
        ({ rules }) => rules,
      );
      const hasGrace = (name: string | null) => {
        const rule = all.find(each => each.name === name) ?? { limitBytes: by.totalBytes };
        return rule.limitBytes > 0 && (('graceMs' in rule ? rule.graceMs : undefined) ?? by.graceMs ?? 0) > 0;
      };
      const expected = refusing
        .filter(({ rule, verdict }) => verdict === 'refuses' && hasGrace(rule))
        .map(({ rule }) => rule);
      t.strictSame(new Set(passed.keys()), new Set(expected));
      for (const { isReported } of passed.values()) t.equal(isReported, by.mode === 'report');
    }),
    { numRuns: 500 },
  );
});
