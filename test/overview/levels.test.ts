/** The laws of levels: how near to a limit something is, with some play downwards. */

import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { belowAll, inForce, levelsIn, levelText, nextLevel, refusing } from '../../src/overview/levels.ts';
import { decide, leaves, reachedThreshold } from '../../src/quota/index.ts';
import * as any from '../quota/arbitraries.ts';

const question = fc
  .record({ question: any.question, last: fc.nat(refusing) })
  .map(({ question: { settings, assigned, defaults, usage, subject }, last }) => ({
    settings,
    last: inForce(settings, last),
    decision: decide({ settings, standing: any.standing(assigned, defaults), usage, subject }),
  }));

t.test('what a limit refuses is at the highest level, unless nothing is stored at limit 0', async () => {
  const law = fc.property(question, ({ settings, decision, last }) => {
    if (decision.by !== 'rule' || decision.allowed) return;
    const isEmpty = decision.limit === 0 && decision.used === 0;
    assert.equal(nextLevel(settings, decision, last), isEmpty ? belowAll : refusing);
  });
  fc.assert(law, { numRuns: 2000 });
});

t.test('the level is at least the threshold reached, and never above both that and the last', async () => {
  const law = fc.property(question, ({ settings, decision, last }) => {
    const bottom = nextLevel(settings, decision, belowAll);
    const level = nextLevel(settings, decision, last);
    assert.ok(level >= (reachedThreshold(settings, decision) ?? belowAll));
    assert.ok(level >= bottom);
    assert.ok(level <= Math.max(bottom, last));
  });
  fc.assert(law, { numRuns: 2000 });
});

t.test('as long as nothing changes, nothing is told', async () => {
  const law = fc.property(question, ({ settings, decision, last }) => {
    const level = nextLevel(settings, decision, last);
    assert.equal(nextLevel(settings, decision, level), level);
    assert.equal(inForce(settings, level), level);
  });
  fc.assert(law, { numRuns: 2000 });
});

t.test('levels are kept as they are, and what cannot be understood counts as the lowest', async t => {
  const levels = fc.array(fc.nat(refusing), { minLength: leaves.length, maxLength: leaves.length });
  fc.assert(fc.property(levels, each => assert.deepStrictEqual(levelsIn(levelText(each)), each)));
  const lowest = leaves.map(() => belowAll);
  for (const text of [
    '',
    'x',
    '[]',
    '7',
    'null',
    '{"size:git:lfs":"80"}',
    '{"size:git:lfs":103}',
    '{"a":80}',
  ]) {
    t.strictSame(levelsIn(text), lowest, text);
  }
});
