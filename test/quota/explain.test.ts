import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import t from 'tap';
import {
  decide,
  type ExplainedGroup,
  type ExplainedRule,
  type Explanation,
  explain,
  type Group,
  type Standing,
  usageOf,
} from '../../src/quota/index.ts';
import { plainSettings, type Question, question, standing } from './arbitraries.ts';

const runs = { numRuns: 3000 };

function asked({
  settings,
  assigned,
  defaults,
  usage,
  subject,
  adding,
}: Question): Parameters<typeof decide>[0] {
  return { settings, standing: standing(assigned, defaults), usage, subject, addingBytes: adding };
}

/** The answer as a person would work it out from the explanation's rows alone. */
function workedOut({ steps }: Explanation): { allowed: boolean; rule: ExplainedRule | null } {
  const last = steps.at(-1)?.groups ?? [];
  const room = (rule: ExplainedRule) =>
    rule.limit === 0 ? Number.NEGATIVE_INFINITY : (rule.headroom ?? Number.POSITIVE_INFINITY);
  const speaking = last.filter(group => group.verdict !== 'no_match');
  const allowing = speaking.filter(group => group.verdict === 'allows');
  const candidates = (allowing.length > 0 ? allowing : speaking).flatMap(group => {
    const least = Math.min(...group.rules.map(room));
    const names = group.rules.filter(rule => room(rule) === least).sort((a, b) => compare(a.rule, b.rule));
    return names.slice(0, 1).map(rule => ({ group: group.group, rule, least }));
  });
  const most = Math.max(...candidates.map(each => each.least));
  const [first] = candidates.filter(each => each.least === most).sort((a, b) => compare(a.group, b.group));
  return { allowed: allowing.length > 0, rule: first?.rule ?? null };
}

function compare(a: string | null, b: string | null): number {
  return (a ?? '') < (b ?? '') ? -1 : 1;
}

t.test('an explanation carries the decision itself', async () => {
  fc.assert(
    fc.property(question, each => isDeepStrictEqual(explain(asked(each)).decision, decide(asked(each)))),
    runs,
  );
});

t.test('whoever works the answer out from the rows comes to the decision and its rule', async () => {
  fc.assert(
    fc.property(question, each => {
      const explanation = explain(asked(each));
      const { decision } = explanation;
      const { allowed, rule } = workedOut(explanation);
      const decided = explanation.steps
        .flatMap(step => step.groups.flatMap(group => group.rules))
        .filter(row => row.decided);
      if (allowed !== decision.allowed) return false;
      if (decision.by !== 'rule') return rule === null && decided.length === 0;
      return (
        rule?.decided === true &&
        decided.length === 1 &&
        rule.rule === decision.rule &&
        rule.used === decision.used &&
        rule.limit === decision.limit &&
        rule.verdict === (decision.allowed ? 'allows' : 'refuses')
      );
    }),
    runs,
  );
});

t.test('every group says what its rules say, and only the last step has a rule that matches', async () => {
  fc.assert(
    fc.property(question, each => {
      const { steps } = explain(asked(each));
      const consistent = steps.every(step =>
        step.groups.every(group => {
          if (group.rules.length === 0) return group.verdict === 'no_match';
          const refused = group.rules.some(rule => rule.verdict === 'refuses');
          return group.verdict === (refused ? 'refuses' : 'allows');
        }),
      );
      return (
        consistent &&
        steps.slice(0, -1).every(step => step.groups.every(group => group.verdict === 'no_match'))
      );
    }),
    runs,
  );
});

t.test('one group of the last step is told as the deciding one, and none where no rule matched', async () => {
  fc.assert(
    fc.property(question, each => {
      const { steps, decision } = explain(asked(each));
      const deciding = (groups: readonly ExplainedGroup[]) =>
        groups.filter(group => group.decided).map(group => group.group);
      const expected = decision.by === 'rule' ? [decision.group] : [];
      return (
        isDeepStrictEqual(deciding(steps.flatMap(step => step.groups)), expected) &&
        isDeepStrictEqual(deciding(steps.at(-1)?.groups ?? []), expected)
      );
    }),
    runs,
  );
});

t.test('an explanation survives JSON unchanged', async () => {
  fc.assert(
    fc.property(question, each => {
      const explanation = explain(asked(each));
      return isDeepStrictEqual(JSON.parse(JSON.stringify(explanation)), explanation);
    }),
    runs,
  );
});

t.test(
  'an explanation tells each step asked, each group, each covering rule, and which one decided',
  async t => {
    const quiet: Group = {
      name: 'quiet',
      rules: [{ name: 'wiki', limitBytes: 5, subjects: ['size:assets:wiki'] }],
    };
    const free: Group = {
      name: 'free',
      rules: [
        { name: 'total', limitBytes: 100, subjects: ['size:all'] },
        { name: 'lfs', limitBytes: 40, subjects: ['size:git:lfs'] },
        { name: 'wiki', limitBytes: 0, subjects: ['size:assets:wiki'] },
      ],
    };
    const stored = usageOf({ 'size:git:lfs': 45, 'size:repos:public': 10 });
    const both: Standing = standing([quiet], [free]);
    const settings = { ...plainSettings, totalBytes: 1 };
    const explanation = explain({
      settings,
      standing: both,
      usage: stored,
      subject: 'size:git:lfs',
      addingBytes: 7,
    });
    t.same(explanation, {
      subject: 'size:git:lfs',
      settings: {
        enabled: true,
        refuseWhen: 'exceeded',
        uncovered: 'default',
        precise: false,
        mode: 'enforce',
        totalBytes: 1,
      },
      addingBytes: 0,
      steps: [
        { step: 'assigned', groups: [{ group: 'quiet', verdict: 'no_match', rules: [], decided: false }] },
        {
          step: 'defaults',
          groups: [
            {
              group: 'free',
              verdict: 'refuses',
              decided: true,
              rules: [
                {
                  rule: 'total',
                  subjects: ['size:all'],
                  used: 55,
                  reserved: 0,
                  limit: 100,
                  headroom: 45,
                  verdict: 'allows',
                  decided: false,
                },
                {
                  rule: 'lfs',
                  subjects: ['size:git:lfs'],
                  used: 45,
                  reserved: 0,
                  limit: 40,
                  headroom: -5,
                  verdict: 'refuses',
                  decided: true,
                },
              ],
            },
          ],
        },
      ],
      decision: decide({ settings, standing: both, usage: stored, subject: 'size:git:lfs', addingBytes: 7 }),
    });
    t.equal(
      explain({
        settings: { ...settings, precise: true },
        standing: both,
        usage: stored,
        subject: 'size:git:lfs',
        addingBytes: 7,
      }).addingBytes,
      7,
    );
  },
);

t.test('with quotas switched off nobody is asked', async t => {
  const explanation = explain({
    settings: { ...plainSettings, enabled: false },
    standing: standing([], []),
    usage: usageOf({}),
    subject: 'size:all',
  });
  t.same(explanation.steps, []);
  t.ok(explanation.decision.allowed);
});
