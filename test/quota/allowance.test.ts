/** Allowances on top of what the rules say. */

import fc from 'fast-check';
import t from 'tap';
import {
  type ActiveAllowance,
  compileGroup,
  decide,
  explain,
  reachedThreshold,
  refusal,
  standing as standingWords,
  usageOf,
  warning,
} from '../../src/quota/index.ts';
import { asked, plainSettings, question } from './arbitraries.ts';

const until = Date.parse('2026-12-22T14:00:05Z');
const extra = (bytes: number, count = 1): ActiveAllowance => ({ bytes, count, until });
const usage = usageOf({ 'size:git:lfs': 90, 'size:repos:private': 30 });
const hundred = { ...plainSettings, totalBytes: 100 };
/** By the built-in limit. */
const decided = (allowance: ActiveAllowance | null) =>
  decide({
    settings: hundred,
    standing: { assigned: [], defaults: [], allowance },
    usage,
    subject: 'size:all',
  });

t.test('an allowance raises every limit above 0, and neither 0 nor unlimited', async t => {
  const cases = [
    { limitBytes: 100, limit: 150, allowed: true },
    { limitBytes: 60, limit: 110, allowed: false },
    { limitBytes: 0, limit: 0, allowed: false },
    { limitBytes: -1, limit: -1, allowed: true },
    { limitBytes: Number.MAX_SAFE_INTEGER, limit: Number.MAX_SAFE_INTEGER, allowed: true },
  ];
  for (const { limitBytes, limit, allowed } of cases) {
    const group = compileGroup({ name: 'g', rules: [{ name: 'r', limitBytes, subjects: ['size:all'] }] });
    const decision = decide({
      settings: plainSettings,
      standing: { assigned: [group], defaults: [], allowance: extra(50) },
      usage,
      subject: 'size:git:lfs',
    });
    t.match(decision, { limit, allowed, used: 120 }, String(limitBytes));
    t.equal(decision.allowance === undefined, limitBytes <= 0, String(limitBytes));
  }
});

t.test('the built-in limit is raised, too, and thresholds are those of the raised limit', async t => {
  t.match(decided(null), { allowed: false, limit: 100 });
  t.match(decided(extra(30)), { allowed: true, limit: 130, allowance: extra(30) });
  t.equal(reachedThreshold(hundred, decided(extra(30))), 90);
  t.match(decided(extra(1000)), { allowed: true, limit: 1100 });
  t.equal(reachedThreshold(hundred, decided(extra(1000))), null);
});

t.test('words say which part of the limit is for a time only', async t => {
  const refused = decided(extra(10));
  t.equal(
    refused.allowed ? 'allowed' : refusal('alice', 'size:all', refused),
    'Quota exceeded: alice uses 120 B of 110 B (109 %). 10 B of this limit are an allowance until 2026-12-22 14:00:05 UTC.',
  );
  t.equal(
    warning(hundred, 'alice', 'size:all', decided(extra(30, 2))),
    'Quota warning: alice uses 120 B of 130 B (92 %). 30 B of this limit are allowances; the first of them ends at 2026-12-22 14:00:05 UTC.',
  );
  const allowed = decided(extra(900));
  if (allowed.allowed) t.match(standingWords('alice', allowed), /1 kB \(12 %\)\. 900 B of this limit/);
});

t.test('more by an allowance never refuses what was allowed, and an explanation says the same', async () => {
  const law = fc.property(question, fc.integer({ min: 1, max: 100 }), (each, bytes) => {
    const plain = asked(each);
    const raised = { ...plain, standing: { ...plain.standing, allowance: extra(bytes) } };
    const [before, after, why] = [decide(plain), decide(raised), explain(raised)];
    const rules = why.steps.flatMap(({ groups }) => groups.flatMap(group => group.rules));
    return (
      JSON.stringify(why.decision) === JSON.stringify(after) &&
      (!before.allowed || after.allowed) &&
      rules
        .filter(({ decided }) => decided)
        .every(rule => rule.limit === after.limit && rule.allowance === after.allowance)
    );
  });
  fc.assert(law, { numRuns: 3000 });
});
