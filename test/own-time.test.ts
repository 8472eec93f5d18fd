/** Deadlines that tests measure do not count what others do to the host. */

import t from 'tap';
import { ownTime } from './own-time.ts';

const wait = (milliseconds: number) => new Promise(resolve => setTimeout(resolve, milliseconds));

t.test('the time of a wait counts', async t => {
  const taken = ownTime();
  const started = performance.now();
  await wait(200);
  const clockMs = performance.now() - started;
  const ms = taken();
  t.ok(ms > 0 && ms <= clockMs + 1, `${ms} ms of ${clockMs}`);
});

t.test('the time in which the process is held up does not', async t => {
  const taken = ownTime();
  const started = performance.now();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
  await wait(1);
  const clockMs = performance.now() - started;
  const ms = taken();
  t.ok(clockMs - ms > 900, `${ms} ms of ${clockMs}`);
});
