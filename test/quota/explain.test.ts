import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import t from 'tap';
import {
  decide,
  type ExplainedGroup,
  type Explanation,
  explain,
  type Group,
  usageOf,
} from '../../src/quota/index.ts';
import { asked, plainSettings, type Question, question, standing } from './arbitraries.ts';

type Row = ExplainedGroup['rules'][number];

/** A law of the explanation of every question. */
function law(name: string, holds: (explanation: Explanation, question: Question) => boolean): void {
  t.test(name, async () => {
    fc.assert(
      fc.property(question, each => holds(explain(asked(each)), each)),
      { numRuns: 3000 },
    );
  });
}

/** The answer as a person would work it out from the explanation's rows alone. */
function workedOut({ steps }: Explanation): { allowed: boolean; rule: Row | null } {
  const last = steps.at(-1)?.groups ?? [];
  const room = (rule: Row) =>
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

law('an explanation carries the decision itself, and survives JSON unchanged', (explanation, each) => {
  const isDecision = isDeepStrictEqual(explanation.decision, decide(asked(each)));
  return isDecision && isDeepStrictEqual(JSON.parse(JSON.stringify(explanation)), explanation);
});

law('whoever works the answer out from the rows comes to the decision and its rule', explanation => {
  const { decision, steps } = explanation;
  const { allowed, rule } = workedOut(explanation);
  const decided = steps.flatMap(step => step.groups.flatMap(group => group.rules)).filter(row => row.decided);
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
});

law('every group says what its rules say, and only the last step has a rule that matches', ({ steps }) => {
  const isConsistent = steps.every(step =>
    step.groups.every(group => {
      if (group.rules.length === 0) return group.verdict === 'no_match';
      const refused = group.rules.some(rule => rule.verdict === 'refuses');
      return group.verdict === (refused ? 'refuses' : 'allows');
    }),
  );
  const earlier = steps.slice(0, -1).flatMap(({ groups }) => groups);
  return isConsistent && earlier.every(({ verdict }) => verdict === 'no_match');
});

law('one group of the last step is told as the deciding one, and none where no rule matched', explanation => {
  const { steps, decision } = explanation;
  const deciding = (groups: readonly ExplainedGroup[]) =>
    groups.filter(group => group.decided).map(group => group.group);
  const expected = decision.by === 'rule' ? [decision.group] : [];
  return (
    isDeepStrictEqual(deciding(steps.flatMap(step => step.groups)), expected) &&
    isDeepStrictEqual(deciding(steps.at(-1)?.groups ?? []), expected)
  );
});

t.test('an explanation has each step, group and covering rule, and which one decided', async t => {
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
  const settings = { ...plainSettings, totalBytes: 1 };
  const about = { standing: standing([quiet], [free]), usage: stored, subject: 'size:git:lfs' } as const;
  const explanation = explain({ ...about, settings, addingBytes: 7 });
  t.same(explanation, {
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
    decision: decide({ ...about, settings, addingBytes: 7 }),
  });
});

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
