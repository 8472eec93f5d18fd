/** Laws that hold for every policy and every usage. */

import fc from 'fast-check';
import t from 'tap';
import { type Decision, decide, type Group, leafIndex, leaves } from '../../src/quota/index.ts';
import { asked, limit, type Question, question } from './arbitraries.ts';

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
