/**
 * Computes how quickly something grows, and when it reaches a limit if that goes on.
 *
 * The slope is Theil and Sen's: the median of the slopes between each two days. Unlike a line of least
 * squares it is not turned by one large upload or one cleaning up, which is what usage is made of, and it
 * needs no threshold for what counts as one.
 */

import { dayMs } from './points.ts';

export interface DayPoint {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly bytes: number;
}

export interface Growth {
  /** Whole bytes; below 0 where it shrinks. */
  readonly perDay: number;
  /** When the first of the points was that it follows from, in milliseconds since 1970. */
  readonly since: number;
}

const leastSpanMs = 2 * dayMs;
const farthestMs = 3652 * dayMs;

/** From points in the order of time, one a day; null where the first and the last are not two days apart. */
export function growthOf(points: readonly DayPoint[]): Growth | null {
  const first = points.at(0);
  const last = points.at(-1);
  if (first === undefined || last === undefined || last.at - first.at < leastSpanMs) return null;
  const slopes: number[] = [];
  for (const [index, from] of points.entries()) {
    for (const to of points.slice(index + 1)) {
      if (to.at > from.at) slopes.push((to.bytes - from.bytes) / ((to.at - from.at) / dayMs));
    }
  }
  return { perDay: Math.round(median(slopes)), since: first.at };
}

/**
 * When `limit` is reached that `used` is below of; null: never, not within ten years, or it is reached
 * already. A limit below 0 is none.
 */
export function reachedAt(perDay: number, used: number, limit: number, now: number): number | null {
  if (perDay <= 0 || limit < 0 || used >= limit) return null;
  const inMs = ((limit - used) / perDay) * dayMs;
  return inMs > farthestMs ? null : Math.round(now + inMs);
}

function median(numbers: number[]): number {
  const sorted = Float64Array.from(numbers).sort();
  const upper = sorted[sorted.length >> 1] ?? 0;
  const lower = sorted[(sorted.length - 1) >> 1] ?? 0;
  // Not their sum's half, which may pass what a number holds exactly.
  return lower + (upper - lower) / 2;
}
