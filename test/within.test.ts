/** Waiting for an answer for so long. */

import { stat } from 'node:fs/promises';
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { within } from '../src/within.ts';

t.test('an answer in time is the answer, and none is late', async t => {
  t.equal(await within(Promise.resolve('here'), 10_000, 'late'), 'here');
  t.equal(await within(new Promise(() => {}), 1, 'late'), 'late');
  await t.rejects(within(Promise.reject(new Error('no')), 10_000, 'late'), { message: 'no' });
});

t.test('a process that was held up takes what came meanwhile', async t => {
  await turn();
  const found = within(stat('/'), 5, 'late');
  for (const until = performance.now() + 100; performance.now() < until; );
  t.not(await found, 'late');
});
