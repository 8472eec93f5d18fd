/** Rest of the worker after its work. */

import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { Pace } from '../../../src/git/worker/repository-walk.ts';

const rest = 19;
const busyMs = 40;

/** Milliseconds of the pause after something. */
async function pausedAfter(act: () => Promise<void> | void): Promise<number> {
  const pace = new Pace(rest, new AbortController().signal);
  await act();
  const start = performance.now();
  await pace.step();
  return performance.now() - start;
}

t.test('it rests after work, and not after waiting', async t => {
  const worked = await pausedAfter(() => {
    const { user, system } = process.cpuUsage();
    const used = () => process.cpuUsage({ user, system });
    while (used().user + used().system < busyMs * 1000);
  });
  t.ok(worked > (busyMs * rest) / 2, `${worked} ms after work`);
  const waited = await pausedAfter(() => delay(busyMs));
  t.ok(waited < (busyMs * rest) / 2, `${waited} ms after waiting`);
});
