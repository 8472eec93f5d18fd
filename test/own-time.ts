/** Time as a process has it that shares its host with others. */

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
