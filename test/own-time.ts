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

/**
 * The longest turn of the event loop while something is done, in milliseconds of processor time, which other
 * programs on the host do not change.
 */
export async function longestTurn(act: () => Promise<unknown>): Promise<number> {
  let isOver = false;
  let longest = 0;
  const acting = act().finally(() => {
    isOver = true;
  });
  while (!isOver) {
    const before = process.threadCpuUsage();
    await nextTurn();
    const { user, system } = process.threadCpuUsage(before);
    longest = Math.max(longest, (user + system) / 1000);
  }
  await acting;
  return longest;
}
