/** Unreachable bytes in decisions: forgiven up to a most, whatever is said to be unreachable. */

import fc from 'fast-check';
import t from 'tap';
import {
  bytesUnder,
  compileGroup,
  decide,
  explain,
  isDiskFilled,
  type Leaf,
  leaves,
  passesWithout,
  type QuotaSettings,
  refusal,
  standing as standingWords,
  usageOf,
} from '../../src/quota/index.ts';
import { asked, limit, plainSettings, question, usage } from './arbitraries.ts';

const nobody = { assigned: [], defaults: [] };
const stored = usageOf({ 'size:git:lfs': 20, 'size:repos:private': 90, 'size:repos:public': 40 });
const unreachable = usageOf({ 'size:repos:private': 60, 'size:repos:public': 30 });
const forgiving: QuotaSettings = { ...plainSettings, garbage: 'forgive', totalBytes: 100 };

const most = fc.option(fc.nat(60), { nil: null });
const decided = (settings: Partial<QuotaSettings>, garbage = unreachable) =>
  decide({
    settings: { ...forgiving, ...settings },
    standing: nobody,
    usage: stored,
    subject: 'size:all',
    unreachable: garbage,
  });

t.test('what no ref reaches does not count, up to the most, which is the limit unless it is set', async t => {
  const whole = { stored: 150, unreachable: 90 };
  t.match(decided({}), { allowed: true, used: 60, garbage: { ...whole, billed: 60, most: 100 } });
  t.match(decided({ totalBytes: 80 }), { allowed: true, used: 70, garbage: { billed: 70, most: 80 } });
  t.match(decided({ totalBytes: 50 }), { allowed: false, used: 100, garbage: { billed: 100, most: 50 } });
  t.match(decided({ garbageMostBytes: 40 }), { allowed: false, used: 110, garbage: { most: 40 } });
  t.match(decided({ garbageMostBytes: 0 }), { allowed: false, used: 150, garbage: { billed: 150, most: 0 } });
  t.match(decided({ garbageMostBytes: 1000 }), { used: 60 });
  for (const settings of [{ garbage: 'bill' as const }, { totalBytes: -1 }, { totalBytes: 0 }]) {
    const decision = decided(settings);
    t.equal(decision.used, 150);
    t.equal(decision.garbage, undefined);
  }
  t.equal(decided({}, usageOf({})).garbage, undefined);
  t.match(decided({}, usageOf({ 'size:assets:wiki': 999 })), {
    used: 50,
    garbage: { unreachable: 150 },
  });
});

t.test('the words say what does not count, and what of it would', async t => {
  const allowed = decided({});
  if (allowed.allowed)
    t.equal(
      standingWords('alice', allowed),
      'alice uses 60 B of 100 B (60 %). 90 B more do not count, since no branch or tag reaches them.',
    );
  const refused = decided({ garbageMostBytes: 40 });
  if (!refused.allowed)
    t.equal(
      refusal('alice', 'size:all', refused),
      'Quota exceeded: alice uses 110 B of 100 B (110 %). 40 B more do not count, of 90 B that no branch or tag reaches.',
    );
});

t.test('no more is forgiven than there is, nor than the most, and it only adds permission', async () => {
  const law = fc.property(question, usage, most, (each, garbage, garbageMostBytes) => {
    const settings: QuotaSettings = { ...each.settings, garbage: 'forgive', garbageMostBytes };
    const before = decide(asked(each, { unreachable: garbage }));
    const forgiven = asked(each, { settings, unreachable: garbage });
    const [after, why] = [decide(forgiven), explain(forgiven)];
    const rules = why.steps.flatMap(({ groups: some }) => some.flatMap(one => one.rules));
    const isBounded = [...rules, after].every(({ garbage: found, limit: its, used }) => {
      if (found === undefined) return true;
      const free = found.stored - found.billed;
      const mostOf = garbageMostBytes ?? its ?? 0;
      return (
        free >= 0 &&
        free <= found.unreachable &&
        found.unreachable <= found.stored &&
        free <= mostOf &&
        found.most === mostOf &&
        used === found.billed
      );
    });
    const isSame = JSON.stringify(why.decision) === JSON.stringify(after);
    return isBounded && isSame && before.garbage === undefined && (!before.allowed || after.allowed);
  });
  fc.assert(law, { numRuns: 3000 });
});

type Step = readonly ['push' | 'say' | 'collect', leaf: number, bytes: number];

const repositories: readonly Leaf[] = ['size:repos:public', 'size:repos:private', 'size:assets:wiki'];
const step: fc.Arbitrary<Step> = fc.tuple(
  fc.constantFrom('push' as const, 'push' as const, 'say' as const, 'collect' as const),
  fc.nat(2),
  fc.oneof(fc.nat(30), fc.nat(500)),
);

t.test('whatever is pushed and said to be unreachable, the disk has limit, most and one push', async () => {
  const rule = fc.record({
    name: fc.constantFrom('a', 'b', 'c'),
    limitBytes: limit,
    subjects: fc.subarray([...repositories, 'size:repos:all' as const, 'size:all' as const], {
      minLength: 1,
    }),
  });
  const rules = fc.uniqueArray(rule, { minLength: 1, maxLength: 3, selector: ({ name }) => name });
  const law = fc.property(
    rules,
    most,
    fc.boolean(),
    fc.array(step, { maxLength: 60 }),
    (its, garbageMostBytes, precise, steps) => {
      const group = compileGroup({ name: 'g', rules: its });
      const settings = { ...forgiving, precise, garbageMostBytes, totalBytes: 0 };
      const disk = leaves.map(() => 0);
      const said = leaves.map(() => 0);
      for (const [what, place, bytes] of steps) {
        const leaf = repositories[place] ?? 'size:repos:public';
        const at = leaves.indexOf(leaf);
        const there = disk[at] ?? 0;
        if (what === 'say') said[at] = bytes;
        if (what === 'collect') disk[at] = Math.max(0, there - bytes);
        if (what !== 'push') continue;
        const groups = { assigned: [group], defaults: [] };
        const about = { settings, standing: groups, usage: disk, subject: leaf, unreachable: said };
        if (!decide({ ...about, addingBytes: bytes }).allowed) continue;
        disk[at] = there + bytes;
        for (const { limitBytes, counts } of group.rules) {
          if (limitBytes === -1 || (counts & (1 << at)) === 0) continue;
          const allowed = limitBytes + (garbageMostBytes ?? limitBytes) + (precise ? 0 : bytes);
          if (bytesUnder(disk, counts) > allowed) return false;
        }
      }
      return true;
    },
  );
  fc.assert(law, { numRuns: 2000 });
});

t.test('what is told about collecting comes true: without those bytes the same is decided', async t => {
  fc.assert(
    fc.property(
      fc.nat(200),
      fc.nat(200),
      fc.nat(200),
      fc.nat(30),
      most,
      fc.constantFrom('bill', 'forgive'),
      fc.constantFrom('reached', 'exceeded'),
      (reachable, gone, freed, adding, garbageMostBytes, garbage, refuseWhen) => {
        const settings: QuotaSettings = {
          ...forgiving,
          precise: true,
          garbage,
          garbageMostBytes,
          refuseWhen,
        };
        const with_ = (left: number) =>
          decide({
            settings,
            standing: nobody,
            usage: usageOf({ 'size:repos:private': reachable + left }),
            subject: 'size:repos:private',
            addingBytes: adding,
            unreachable: usageOf({ 'size:repos:private': left }),
          });
        const now = with_(gone);
        if (now.allowed || now.by !== 'rule' || freed > gone) return;
        t.equal(passesWithout(now, freed, settings), with_(gone - freed).allowed);
      },
    ),
  );
});

t.test('the disk is filled with a limit more than what is stored and forgiven under it', async t => {
  const refused = (bytes: number) =>
    decide({
      settings: { ...forgiving, garbageMostBytes: 50 },
      standing: nobody,
      usage: usageOf({ 'size:repos:private': bytes }),
      subject: 'size:repos:private',
      unreachable: usageOf({ 'size:repos:private': 60 }),
    });
  t.notOk(isDiskFilled(refused(250), 0));
  t.notOk(isDiskFilled(refused(240), 10));
  t.ok(isDiskFilled(refused(240), 11));
  t.ok(isDiskFilled(refused(251), 0));
  t.notOk(isDiskFilled(decided({ totalBytes: 20, garbageMostBytes: 1000 }), 1000), 'more is forgiven');
});
