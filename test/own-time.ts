/** Time as a process has it that shares its host with others. */

import { setImmediate as nextTurn } from 'node:timers/promises';

const tickMs = 5;
/** A tick that is later than this was held up, and the rest of its time does not count. */
const mostMs = 4 * tickMs;

/**
 * Measures from now on, in milliseconds, without the time in which this process could not run: on a busy host
 * others have the processors meanwhile. For deadlines that this process keeps by its own timers. The function
 * that it returns ends the measurement.
 */
export function ownTime(): () => number {
  let last = performance.now();
  let sum = 0;
  const tick = () => {
    const now = performance.now();
    sum += Math.min(now - last, mostMs);
    last = now;
  };
  const timer = setInterval(tick, tickMs);
  return () => {
    clearInterval(timer);
    tick();
    return sum;
  };
}

const attempts = 3;

/**
 * The longest turn of the event loop while something is done, in milliseconds of processor time. If it is not
 * under `boundMs`, `act` is called again, up to three times in all, and the least one is returned: a busy
 * host lengthens a turn now and then, but work that is not cut into slices is long each time.
 */
export async function longestTurn(boundMs: number, act: () => Promise<unknown>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < attempts && least >= boundMs; attempt++)
    least = Math.min(least, await longestOnce(act));
  return least;
}

async function longestOnce(act: () => Promise<unknown>): Promise<number> {
  let isOver = false;
  let longest = 0;
  let before = process.threadCpuUsage();
  const acting = act().finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await nextTurn();
    const { user, system } = process.threadCpuUsage(before);
    longest = Math.max(longest, (user + system) / 1000);
    before = process.threadCpuUsage();
  }
  await acting;
  return longest;
}
