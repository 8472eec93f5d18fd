/** Bytes that are on their way: what is reserved, and what actions under way are expected to bring. */

import fc from 'fast-check';
import t from 'tap';
import {
  type Decision,
  decide,
  explain,
  type Group,
  leafIndex,
  leafMask,
  leaves,
  noUsage,
  type QuotaSettings,
  type Reserved,
  type RuleSubject,
  refusal,
  type Subject,
  usageOf,
  warning,
  withAncestors,
} from '../../src/quota/index.ts';
import { plainSettings, question, standing, subject } from './arbitraries.ts';

const GB = 1_000_000_000;
const lfs = (bytes: number) => usageOf({ 'size:git:lfs': bytes });
const of = (named: Subject, bytes: number) => ({ mask: leafMask(named), bytes });
const claimed = (named: Subject, bytes: number): Reserved => ({ claimed: [of(named, bytes)], expected: [] });
const expected = (named: Subject, bytes: number): Reserved => ({ claimed: [], expected: [of(named, bytes)] });

interface Asked extends Partial<QuotaSettings> {
  readonly used?: number;
  readonly reserved?: Reserved;
  readonly adding?: number;
  readonly groups?: readonly Group[];
  readonly subject?: Subject;
}

function ask(asked: Asked): Decision {
  const { used = 0, reserved, adding, groups = [], subject: what = 'size:git:lfs', ...changed } = asked;
  const settings = { ...plainSettings, totalBytes: 10 * GB, ...changed };
  return decide(settings, standing(groups, []), lfs(used), what, adding, reserved);
}

function words(asked: Asked): string {
  const decision = ask(asked);
  return decision.allowed ? 'allowed' : refusal('alice', asked.subject ?? 'size:git:lfs', decision);
}

t.test('what is reserved counts as used, with PRECISE and without', async t => {
  const reserved = claimed('size:git:lfs', 2 * GB);
  t.match(ask({ used: 8 * GB, reserved }), { allowed: true, used: 10 * GB, reserved: 2 * GB });
  t.match(ask({ used: 8 * GB + 1, reserved }), { allowed: false, used: 10 * GB + 1 });
  t.match(ask({ used: 8 * GB, reserved, precise: true, adding: 1 }), { allowed: false, incoming: 1 });
  t.equal(
    words({ used: 7 * GB, reserved, precise: true, adding: 2 * GB, subject: 'size:repos:private' }),
    'Not enough quota left: alice uses 9 GB of 10 GB (90 %), 2 GB of that reserved, and this push brings 2 GB.',
  );
  t.match(warning('alice', ask({ used: 7 * GB, reserved })), /alice uses 9 GB of 10 GB/);
});

t.test('what an action is expected to bring counts as used with PRECISE only', async t => {
  const reserved = expected('size:git:lfs', 2 * GB);
  t.match(ask({ used: 9 * GB, reserved }), { allowed: true, used: 9 * GB, reserved: 0, underWay: 0 });
  t.match(ask({ used: 9 * GB, reserved, precise: true }), { allowed: false, used: 11 * GB, underWay: 0 });
});

t.test('BURST bounds what may pass the limit at once, where PRECISE is off', async t => {
  const reserved = expected('size:git:lfs', 2 * GB);
  const burst = { used: 9 * GB, reserved, burstBytes: 2 * GB };
  t.match(ask({ ...burst, adding: GB }), { allowed: true, used: 9 * GB, underWay: 2 * GB, incoming: GB });
  t.equal(
    words({ ...burst, adding: 1.5 * GB }),
    'Too much at once: alice uses 9 GB of 10 GB (90 %); running pushes and uploads bring 2 GB, this upload brings 1.5 GB; together they may exceed the limit by 2 GB at most. Try again later.',
  );
  t.equal(words({ ...burst, used: 11 * GB }), 'Quota exceeded: alice uses 11 GB of 10 GB (110 %).');
  t.match(ask({ ...burst, adding: 9 * GB, totalBytes: -1 }), { allowed: true });
  t.match(ask({ ...burst, adding: 1.5 * GB, precise: true }), { allowed: false, burst: null, underWay: 0 });
});

t.test('bytes under a subject with several kinds below it count wherever they may come', async t => {
  const rule = (name: string, ...subjects: RuleSubject[]) => ({ name, limitBytes: 10, subjects });
  const groups = [
    { name: 'g', rules: [rule('lfs', 'size:git:lfs'), rule('packages', 'size:assets:packages:all')] },
  ];
  const used = (what: Subject) =>
    decide(plainSettings, standing(groups, []), noUsage, what, 0, claimed('size:git:all', 7)).used;
  t.equal(used('size:git:lfs'), 7);
  t.equal(used('size:assets:packages:all'), 0);
});

const bytes = fc.nat(20);
const list = fc.array(fc.record({ named: subject, bytes }), { maxLength: 3 });

t.test('a decision is that of its rules, whatever is on its way', async () => {
  fc.assert(
    fc.property(
      question,
      list,
      list,
      fc.option(fc.integer({ min: 1, max: 20 })),
      (asked, claims, expects, burstBytes) => {
        const { assigned, usage, adding } = asked;
        const settings = { ...asked.settings, burstBytes };
        const { precise, refuseWhen } = settings;
        const reserved = {
          claimed: claims.map(({ named, bytes: size }) => of(named, size)),
          expected: expects.map(({ named, bytes: size }) => of(named, size)),
        };
        const counts = (named: readonly RuleSubject[]) =>
          leaves.filter(leaf => withAncestors(leaf).some(above => named.includes(above)));
        const sum = (all: readonly { named: Subject; bytes: number }[], named: readonly RuleSubject[]) =>
          all
            .filter(each => counts(named).some(leaf => withAncestors(leaf).includes(each.named)))
            .reduce((before, each) => before + each.bytes, 0);
        const refuses = ({ limitBytes: limit, subjects }: Group['rules'][number]) => {
          if (limit === -1) return false;
          if (limit === 0) return true;
          const past = (used: number) => (refuseWhen === 'reached' ? used >= limit : used > limit);
          const stored = counts(subjects).reduce((before, leaf) => before + (usage[leafIndex(leaf)] ?? 0), 0);
          const used = stored + sum(claims, subjects);
          const under = sum(expects, subjects);
          if (precise) return past(used + under + adding);
          return past(used) || (burstBytes !== null && past(used + under + adding - burstBytes));
        };
        const speaking = assigned
          .map(one =>
            one.rules.filter(rule =>
              withAncestors(asked.subject).some(above => rule.subjects.includes(above)),
            ),
          )
          .filter(rules => rules.length > 0);
        fc.pre(speaking.length > 0);
        const all = [settings, standing(assigned, []), usage, asked.subject, adding, reserved] as const;
        const decision = decide(...all);
        const told = explain(...all)
          .steps.at(-1)
          ?.groups.find(({ decided }) => decided);
        const verdict = told?.rules.find(({ decided }) => decided)?.verdict;
        return (
          decision.allowed === speaking.some(rules => !rules.some(refuses)) &&
          verdict === (decision.allowed ? 'allows' : 'refuses')
        );
      },
    ),
    { numRuns: 3000 },
  );
});
