/** When garbage is collected: what is told about it, and what a failure changes. */

import { mock } from 'node:test';
import t, { type Test } from 'tap';
import { CollectionPlan } from '../../../src/git/worker/collection-plan.ts';

const minuteMs = 60_000;
const hour = 60;

/** A plan with an expiry of an hour, and a clock in minutes. */
function open(t: Test) {
  let minutes = 0;
  const clocks = [
    mock.method(performance, 'now', () => minutes * minuteMs),
    mock.method(Date, 'now', () => minutes * minuteMs),
  ];
  t.teardown(() => {
    for (const clock of clocks) clock.mock.restore();
  });
  const plan = new CollectionPlan(hour * minuteMs);
  return {
    plan,
    at: (when: number) => {
      minutes = when;
    },
    /** It was measured, and more is unreachable than before. */
    grows: (bytes: number) => {
      plan.grew(minutes * minuteMs);
      plan.take(found(bytes));
    },
    due: () => (plan.dueAt === null ? null : plan.dueAt / minuteMs),
    told: () => (plan.doneBy === null ? null : plan.doneBy / minuteMs),
  };
}

function found(unreachableBytes: number) {
  const stored = { packs: 1, loose: 0, keptBytes: 0, leftoverBytes: 0, hasReverseIndex: false };
  return { stored: { ...stored, bytes: 100_000_000 }, reachableBytes: 0, unreachableBytes };
}

t.test('little garbage is collected only where its owner has little room, once it is old enough', async t => {
  const { plan, at, grows, due, told } = open(t);
  grows(500_000);
  t.same([due(), told()], [null, null], 'not worth the work');
  at(10);
  plan.isFirst = true;
  plan.makeDue();
  t.same([due(), told()], [61, 61], 'it grew at 0');
  at(60);
  t.notOk(plan.isDue);
  at(61);
  t.ok(plan.isDue);
  plan.take(found(0));
  t.same([due(), told()], [null, null]);
});

t.test('what is deleted later has its hour, too, but nothing waits for more than a day', async t => {
  const { plan, at, grows, due, told } = open(t);
  plan.isFirst = true;
  grows(2_000_000);
  t.same([due(), told()], [61, 61]);
  for (let when = 30; when <= 24 * 60; when += 30) {
    at(when);
    grows(2_000_000 + when);
    t.equal(due(), Math.min(when + 61, 24 * 60));
  }
  t.ok(plan.isDue);
});

t.test('a large repository is not written anew for little', async t => {
  const { plan, grows, due } = open(t);
  plan.isFirst = true;
  grows(99_999);
  t.equal(due(), null);
  grows(100_000);
  t.equal(due(), 61);
});

t.test('what fails or frees nothing is tried later and later', async t => {
  const { plan, at, grows, due } = open(t);
  grows(2_000_000);
  at(61);
  plan.vain = 1;
  plan.failed();
  t.equal(due(), 61 + 122);
  plan.dueAt = null;
  plan.vain = 9;
  plan.take(found(2_000_000));
  t.equal(due(), 61 + 24 * 60);
});
