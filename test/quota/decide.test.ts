import fc from 'fast-check';
import t from 'tap';
import {
  decide,
  type Group,
  leaves,
  noUsage,
  type QuotaSettings,
  type Rule,
  reachedThreshold,
  type Subject,
  type Usage,
  usageOf,
} from '../../src/quota/index.ts';
import { plainSettings, ruleOf, standing } from './arbitraries.ts';

const group = (name: string, ...rules: Rule[]): Group => ({ name, rules });

function ask(
  stored: Usage,
  subject: Subject,
  groups: { readonly assigned?: readonly Group[]; readonly defaults?: readonly Group[] } = {},
  settings: Partial<QuotaSettings> = {},
  addingBytes?: number,
) {
  const { assigned = [], defaults = [] } = groups;
  return decide({
    settings: { ...plainSettings, ...settings },
    standing: standing(assigned, defaults),
    usage: stored,
    subject,
    addingBytes,
  });
}

const lfs = (bytes: number) => usageOf({ 'size:git:lfs': bytes });

t.test('with quotas switched off everything is allowed, and all bytes are still told', async t => {
  const assigned = [group('g', ruleOf('r', 0, 'size:all'))];
  const decision = ask(
    usageOf({ 'size:git:lfs': 5, 'size:assets:wiki': 7 }),
    'size:git:lfs',
    { assigned },
    {
      enabled: false,
      totalBytes: 0,
    },
  );
  t.same(decision, {
    by: 'disabled',
    allowed: true,
    step: null,
    used: 12,
    limit: -1,
    group: null,
    rule: null,
    subjects: ['size:all'],
  });
});

t.test('an owner without any group is held to the built-in limit', async t => {
  t.same(ask(lfs(11), 'size:assets:wiki', {}, { totalBytes: 10 }), {
    by: 'rule',
    allowed: false,
    step: 'builtin',
    used: 11,
    limit: 10,
    group: null,
    rule: null,
    subjects: ['size:all'],
    reserved: 0,
    incoming: 0,
  });
});

t.test('default groups are asked only where no assigned group covers the subject', async t => {
  const assigned = [group('packages', ruleOf('packages', -1, 'size:assets:packages:all'))];
  const defaults = [group('free', ruleOf('total', 10, 'size:all'))];
  const groups = { assigned, defaults };
  t.match(ask(lfs(11), 'size:assets:packages:all', groups), { allowed: true, step: 'assigned' });
  t.match(ask(lfs(11), 'size:git:lfs', groups), { allowed: false, step: 'defaults', group: 'free' });
  t.match(ask(lfs(11), 'size:git:lfs', { assigned }), { allowed: true, step: 'builtin' });
});

t.test('what no rule covers is refused where the policy says deny', async t => {
  const groups = { assigned: [group('g', ruleOf('r', -1, 'size:assets:all'))] };
  t.same(ask(noUsage, 'size:git:lfs', groups, { uncovered: 'deny' }), {
    by: 'no_match',
    allowed: false,
    step: 'assigned',
    used: null,
    limit: null,
    group: null,
    rule: null,
    subjects: [],
  });
  t.match(ask(noUsage, 'size:git:lfs', { defaults: groups.assigned }, { uncovered: 'deny' }), {
    by: 'no_match',
    step: 'defaults',
  });
});

t.test('with deny, an owner without any group is still held to the built-in limit', async t => {
  t.match(ask(noUsage, 'size:git:lfs', {}, { uncovered: 'deny' }), { allowed: true, step: 'builtin' });
});

t.test('bytes about to be added count only in precise mode, and are not told as used', async t => {
  const settings = { totalBytes: 10 };
  t.match(ask(lfs(8), 'size:git:lfs', {}, settings, 3), { allowed: true, used: 8 });
  t.match(ask(lfs(8), 'size:git:lfs', {}, { ...settings, precise: true }, 3), { allowed: false, used: 8 });
  t.match(ask(lfs(8), 'size:git:lfs', {}, { ...settings, precise: true }, 2), { allowed: true, used: 8 });
  const reached = { ...settings, precise: true, refuseWhen: 'reached' } as const;
  t.match(ask(lfs(8), 'size:git:lfs', {}, reached, 2), { allowed: false, used: 8 });
});

t.test('adding bytes to the largest usage there can be is compared exactly', async t => {
  const most = Number.MAX_SAFE_INTEGER;
  const settings = { totalBytes: most, precise: true };
  t.notOk(ask(lfs(most), 'size:git:lfs', {}, settings, 1).allowed);
  t.notOk(ask(lfs(most - 1), 'size:git:lfs', {}, settings, 2).allowed);
  t.ok(ask(lfs(most - 1), 'size:git:lfs', {}, settings, 1).allowed);
});

t.test('usage that passes 2^53 - 1 is an error, never a rounded answer', async t => {
  const stored = leaves.map(() => Number.MAX_SAFE_INTEGER);
  t.throws(() => ask(stored, 'size:git:lfs'), { code: 'sum_too_large' });
});

t.test('the highest threshold that usage reaches is told, and none of a refusal', async t => {
  const at = (bytes: number) =>
    reachedThreshold(plainSettings, ask(lfs(bytes), 'size:git:lfs', {}, { totalBytes: 1000 }));
  t.same([799, 800, 899, 900, 1000, 1001].map(at), [null, 80, 80, 90, 90, null]);
});

t.test('a threshold is reached to the byte, whatever the limit', async () => {
  const limit = fc.oneof(
    fc.integer({ min: 1, max: 300 }),
    fc.maxSafeNat().filter(bytes => bytes > 0),
  );
  fc.assert(
    fc.property(
      limit,
      fc.integer({ min: 1, max: 100 }),
      fc.integer({ min: -2, max: 2 }),
      (bytes, percent, off) => {
        const near = Number((BigInt(bytes) * BigInt(percent)) / 100n) + off;
        const used = Math.min(bytes, Math.max(0, near));
        const decision = ask(lfs(used), 'size:git:lfs', {}, { totalBytes: bytes });
        const reached = BigInt(used) * 100n >= BigInt(percent) * BigInt(bytes);
        return reachedThreshold({ warnAt: [percent] }, decision) === (reached ? percent : null);
      },
    ),
  );
});
