/** Long work leaves time for all else, however many kinds of it there are; waits end in time. */

import { stat } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { inSlices, type Work, within, workInSlices } from '../src/turns.ts';

/** A step takes so long, on a clock that only steps move. */
const stepMs = 0.125;
const stepsInSlice = 8;

/** Never goes back, also from one test to the next. */
const clock = { ms: 0 };

function clockOfSteps(t: Test): () => void {
  const real = performance.now;
  clock.ms = Math.max(clock.ms, real.call(performance));
  performance.now = () => clock.ms;
  t.teardown(() => {
    performance.now = real;
  });
  return () => {
    clock.ms += stepMs;
  };
}

t.test('all work together has one slice in a turn of the event loop', async t => {
  const step = clockOfSteps(t);
  const works = 5;
  const stepsEach = 100;
  let done = 0;
  const each = () =>
    inSlices(Array.from({ length: stepsEach }), () => {
      step();
      done += 1;
    });
  let ended = 0;
  const all = Array.from({ length: works }, async () => {
    await each();
    ended += 1;
  });
  t.ok(done <= stepsInSlice, `${done} steps at once`);
  for (let before = done; ended < works; before = done) {
    await nextTurn();
    t.ok(done - before <= 2 * stepsInSlice, `${done - before} steps in a turn`);
  }
  await Promise.all(all);
  t.equal(done, works * stepsEach);
});

t.test('works take turns: a short one ends while a long one goes on', async t => {
  const step = clockOfSteps(t);
  const ended: string[] = [];
  function* work(steps: number): Work<number> {
    for (let n = 0; n < steps; n++) {
      step();
      yield;
    }
    return steps;
  }
  const run = async (name: string, steps: number) => {
    t.equal(await workInSlices(work(steps)), steps);
    ended.push(name);
  };
  await Promise.all([run('long', 400), run('short', 40)]);
  t.strictSame(ended, ['short', 'long']);
});

t.test('what fails in one work does not end another', async t => {
  const step = clockOfSteps(t);
  const fault = new Error('at 30');
  let done = 0;
  const failing = inSlices(Array(100).keys(), n => {
    step();
    if (n === 30) throw fault;
  });
  const other = inSlices(Array(100).keys(), () => {
    step();
    done += 1;
  });
  await t.rejects(failing, fault);
  await other;
  t.equal(done, 100);
});

t.test('short work is done at once, and what comes to a list meanwhile is part of it', async t => {
  const items = [1];
  const seen: number[] = [];
  const done = inSlices(items, item => {
    seen.push(item);
    if (item < 5) items.push(item + 1);
  });
  t.strictSame(seen, [1, 2, 3, 4, 5]);
  await done;
});

t.test('an answer in time is the answer, and none is late', async t => {
  t.equal(await within(Promise.resolve('here'), 10_000, 'late'), 'here');
  t.equal(await within(new Promise(() => {}), 1, 'late'), 'late');
  await t.rejects(within(Promise.reject(new Error('no')), 10_000, 'late'), { message: 'no' });
});

t.test('a process that was held up takes what came meanwhile', async t => {
  await nextTurn();
  const found = within(stat('/'), 5, 'late');
  for (const until = performance.now() + 100; performance.now() < until; );
  t.not(await found, 'late');
});
