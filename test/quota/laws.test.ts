/** Laws that hold for every policy and every usage. */

import fc from 'fast-check';
import t from 'tap';
import {
  type Decision,
  decide,
  type Group,
  leafIndex,
  leaves,
  type RuleSubject,
  type Subject,
  type Usage,
  withAncestors,
} from '../../src/quota/index.ts';
import {
  asked,
  group,
  limit,
  plainSettings,
  type Question,
  question,
  standing,
  subject,
  usage,
} from './arbitraries.ts';

const runs = { numRuns: 3000 };

const answer = (question: Question): Decision => decide(asked(question));

/** 0 is the smallest limit and -1 the largest. */
function byLimit(a: number, b: number): number {
  const rank = (bytes: number) => (bytes === -1 ? Number.POSITIVE_INFINITY : bytes);
  return rank(a) === rank(b) ? 0 : rank(a) - rank(b);
}

function withLimit(
  groups: readonly Group[],
  at: number,
  change: (bytes: number) => number,
): readonly Group[] {
  let left = at % Math.max(1, groups.flatMap(each => each.rules).length);
  return groups.map(each => ({
    ...each,
    rules: each.rules.map(rule => (left-- === 0 ? { ...rule, limitBytes: change(rule.limitBytes) } : rule)),
  }));
}

t.test('more usage never turns a refusal into a permission', async () => {
  fc.assert(
    fc.property(
      question,
      fc.constantFrom(...leaves),
      fc.nat(50),
      fc.nat(50),
      (asked, leaf, bytes, adding) => {
        const more = asked.usage.map((size, index) => (index === leafIndex(leaf) ? size + bytes : size));
        fc.pre(!answer(asked).allowed);
        return !answer({ ...asked, usage: more, adding: asked.adding + adding }).allowed;
      },
    ),
    runs,
  );
});

t.test('a larger limit never turns a permission into a refusal', async () => {
  fc.assert(
    fc.property(question, fc.nat(), limit, limit, (asked, at, one, other) => {
      const [less, more] = byLimit(one, other) < 0 ? [one, other] : [other, one];
      const changed = (bytes: number): Question[] => [
        { ...asked, assigned: withLimit(asked.assigned, at, () => bytes) },
        { ...asked, defaults: withLimit(asked.defaults, at, () => bytes) },
        { ...asked, settings: { ...asked.settings, totalBytes: bytes } },
      ];
      const after = changed(more).map(answer);
      return changed(less).every(
        (before, index) => !answer(before).allowed || after[index]?.allowed === true,
      );
    }),
    runs,
  );
});

t.test('the order of groups and of rules changes nothing, neither the answer nor its reason', async t => {
  const shuffledRules = (one: Group) =>
    fc
      .shuffledSubarray([...one.rules], { minLength: one.rules.length })
      .map((rules): Group => ({ ...one, rules }));
  const shuffled = (all: readonly Group[]) =>
    fc
      .shuffledSubarray([...all], { minLength: all.length })
      .chain(each => fc.tuple(...each.map(shuffledRules)));
  const both = question.chain(asked =>
    fc
      .tuple(shuffled(asked.assigned), shuffled(asked.defaults))
      .map(([assigned, defaults]) => [asked, { ...asked, assigned, defaults }] as const),
  );
  fc.assert(
    fc.property(both, ([asked, other]) => {
      if (JSON.stringify(answer(asked)) !== JSON.stringify(answer(other)))
        t.same(answer(other), answer(asked));
    }),
    runs,
  );
});

/** The rules read word by word, without masks. */
function covers(named: readonly RuleSubject[], asked: Subject): boolean {
  return withAncestors(asked).some(above => named.includes(above));
}

function bytesOf(named: readonly RuleSubject[], stored: Usage): number {
  return leaves
    .filter(leaf => covers(named, leaf))
    .reduce((sum, leaf) => sum + (stored[leafIndex(leaf)] ?? 0), 0);
}

t.test('each byte is counted once, however many subjects of a rule hold it', async () => {
  fc.assert(
    fc.property(usage, fc.array(subject, { minLength: 1, maxLength: 6 }), fc.nat(5), (stored, named, at) => {
      const only = standing([{ name: 'g', rules: [{ name: 'r', limitBytes: 1, subjects: named }] }], []);
      const asked = named[at % named.length] ?? 'size:all';
      return (
        decide({ settings: plainSettings, standing: only, usage: stored, subject: asked }).used ===
        bytesOf(named, stored)
      );
    }),
    runs,
  );
});

t.test('a group that says nothing about a subject changes nothing beside one that does', async () => {
  fc.assert(
    fc.property(question, group, (asked, one) => {
      fc.pre(asked.assigned.every(each => each.name !== one.name));
      const decision = answer(asked);
      fc.pre(!one.rules.some(rule => covers(rule.subjects, asked.subject)) && decision.step === 'assigned');
      const beside = answer({ ...asked, assigned: [...asked.assigned, one] });
      return JSON.stringify(beside) === JSON.stringify(decision);
    }),
    { numRuns: 500 },
  );
});
