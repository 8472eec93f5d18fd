import fc from 'fast-check';
import t from 'tap';
import {
  type Decision,
  decide,
  decidedBy,
  type Group,
  type QuotaSettings,
  type RuleSubject,
  refusal,
  type Subject,
  subjects,
  subjectWords,
  type Usage,
  usageOf,
  warning,
} from '../../src/quota/index.ts';
import { plainSettings, question, standing } from './arbitraries.ts';

const GB = 1_000_000_000;

function only(limitBytes: number, ...named: RuleSubject[]): readonly Group[] {
  return [{ name: 'free', rules: [{ name: 'total', limitBytes, subjects: named }] }];
}

function ask(
  stored: Usage,
  groups: readonly Group[],
  subject: Subject,
  settings: Partial<QuotaSettings> = {},
  adding = 0,
): Decision {
  return decide({
    settings: { ...plainSettings, ...settings },
    standing: standing(groups, []),
    usage: stored,
    subject,
    addingBytes: adding,
  });
}

/** The words of a refusal, or that there was none. */
function refused(...[stored, groups, subject, settings, adding]: Parameters<typeof ask>): string {
  const decision = ask(stored, groups, subject, settings, adding);
  return decision.allowed ? 'allowed' : refusal('alice', subject, decision);
}

const lfs = (bytes: number) => usageOf({ 'size:git:lfs': bytes });

t.test('a refusal says who uses how much of what', async t => {
  t.equal(
    refused(lfs(12.4 * GB), only(10 * GB, 'size:all'), 'size:repos:private'),
    'Quota exceeded: alice uses 12.4 GB of 10 GB (124 %).',
  );
});

t.test('a refusal by a narrower rule names the data that it counts', async t => {
  const stored = usageOf({ 'size:git:lfs': 12.4 * GB, 'size:assets:wiki': 1 });
  const words = (...named: RuleSubject[]) => refused(stored, only(10 * GB, ...named), 'size:git:lfs');
  t.equal(words('size:git:lfs'), "Quota exceeded: alice's LFS objects use 12.4 GB of 10 GB (124 %).");
  t.equal(
    words('size:assets:wiki', 'size:git:all', 'size:git:lfs', 'none'),
    "Quota exceeded: alice's repositories, LFS objects and wikis use 12.4 GB of 10 GB (124 %).",
  );
  t.equal(
    words('size:assets:all', 'size:git:all'),
    'Quota exceeded: alice uses 12.4 GB of 10 GB (124 %).',
    'subjects that are everything together are not listed',
  );
});

t.test('usage at its limit is called reached, not exceeded', async t => {
  t.equal(
    refused(lfs(10 * GB), only(10 * GB, 'size:all'), 'size:git:lfs', { refuseWhen: 'reached' }),
    'Quota reached: alice uses 10 GB of 10 GB (100 %).',
  );
});

t.test('usage below its limit is called too little room for what was to come', async t => {
  t.equal(
    refused(lfs(9 * GB), only(10 * GB, 'size:all'), 'size:git:lfs', { precise: true }, 2 * GB),
    'Not enough quota left: alice uses 9 GB of 10 GB (90 %), and this upload brings 2 GB.',
  );
  t.equal(
    refused(lfs(9 * GB), only(10 * GB, 'size:all'), 'size:repos:private', { precise: true }, 2 * GB),
    'Not enough quota left: alice uses 9 GB of 10 GB (90 %), and this push brings 2 GB.',
  );
  t.equal(
    refused(lfs(11 * GB), only(10 * GB, 'size:all'), 'size:git:lfs', { precise: true }, 2 * GB),
    'Quota exceeded: alice uses 11 GB of 10 GB (110 %).',
    'what comes makes no difference',
  );
});

t.test('a limit of 0 says that the owner may not store this', async t => {
  t.equal(
    refused(lfs(0), only(0, 'size:git:lfs'), 'size:git:lfs'),
    'Quota is 0: alice may not store LFS objects.',
  );
  t.equal(
    refused(lfs(0), only(0, 'size:all'), 'size:repos:private'),
    'Quota is 0: alice may not store anything.',
  );
  t.equal(refused(lfs(0), only(0, 'size:all'), 'size:all'), 'Quota is 0: alice may not store anything.');
  t.equal(
    refused(lfs(0), only(0, 'size:git:all', 'size:assets:all'), 'size:git:lfs'),
    'Quota is 0: alice may not store anything.',
    'subjects that are everything together',
  );
});

t.test('where no rule matches, it says what no rule covers', async t => {
  const deny = { uncovered: 'deny' } as const;
  const groups = only(-1, 'size:assets:wiki');
  t.equal(
    refused(lfs(0), groups, 'size:git:lfs', deny),
    "Quota refused: no rule covers alice's LFS objects.",
  );
  t.equal(refused(lfs(0), groups, 'size:all', deny), 'Quota refused: no rule covers all data of alice.');
});

t.test('a warning says the same of usage that reaches a threshold', async t => {
  const at = (bytes: number, ...named: RuleSubject[]) =>
    warning(plainSettings, 'alice', 'size:all', ask(lfs(bytes), only(10 * GB, ...named), 'size:git:lfs'));
  t.equal(at(9.2 * GB, 'size:all'), 'Quota warning: alice uses 9.2 GB of 10 GB (92 %).');
  t.equal(at(8 * GB, 'size:git:lfs'), "Quota warning: alice's LFS objects use 8 GB of 10 GB (80 %).");
  t.equal(at(7.9 * GB, 'size:all'), null);
  t.equal(at(11 * GB, 'size:all'), null, 'a refusal is no warning');
});

t.test('the rule and group that decided can be told, where they have names', async t => {
  t.equal(
    decidedBy(ask(lfs(1), only(5, 'size:all'), 'size:all')),
    'Decided by rule "total" of group "free".',
  );
  t.equal(decidedBy(ask(lfs(1), [], 'size:all')), null);
  t.equal(decidedBy(ask(lfs(1), [], 'size:all', { enabled: false })), null);
  t.equal(decidedBy(ask(lfs(1), only(5, 'none'), 'size:all', { uncovered: 'deny' })), null);
});

t.test('every subject has words of its own', async t => {
  const all = [...subjects, 'none' as const].map(subjectWords);
  t.equal(new Set(all).size, all.length);
  t.notOk(all.some(words => words.includes(':')));
});

t.test('whatever names an owner, a rule and a group have, each message is one harmless line', async () => {
  const name = fc.string({ unit: 'binary', minLength: 1 });
  fc.assert(
    fc.property(question, name, name, name, (asked, owner, group, rule) => {
      const renamed = asked.assigned.slice(0, 1).map(one => ({
        name: group,
        rules: one.rules.slice(0, 1).map(each => ({ ...each, name: rule })),
      }));
      const decision = ask(asked.usage, renamed, asked.subject, asked.settings, asked.adding);
      const lines = [
        warning({ ...plainSettings, ...asked.settings }, owner, asked.subject, decision),
        decidedBy(decision),
      ];
      if (!decision.allowed) lines.push(refusal(owner, asked.subject, decision));
      return lines.every(line => line === null || /^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+\.$/u.test(line));
    }),
    { numRuns: 1000 },
  );
});

t.test('no refusal says of usage what is not so', async () => {
  fc.assert(
    fc.property(question, asked => {
      const decision = ask(asked.usage, asked.assigned, asked.subject, asked.settings, asked.adding);
      fc.pre(!decision.allowed);
      const words = refusal('alice', asked.subject, decision);
      if (decision.by === 'no_match') return words.startsWith('Quota refused: no rule covers ');
      if (decision.limit === 0) return words.startsWith('Quota is 0: ');
      const beginning =
        decision.used > decision.limit
          ? 'Quota exceeded: '
          : decision.used === decision.limit
            ? 'Quota reached: '
            : 'Not enough quota left: ';
      return words.startsWith(beginning);
    }),
    { numRuns: 1000 },
  );
});
