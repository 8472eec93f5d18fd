/**
 * Chooses the recorded hours that are shown, and computes how quickly usage grows by them.
 *
 * The slope is Theil and Sen's: the median of the slopes between each two days. Unlike a line of least
 * squares it is not turned by one large upload or one cleaning up, which is what usage is made of, and it
 * needs no threshold for what counts as one.
 */

import type { Usage } from '../quota/index.ts';
import type { PastUsage } from '../store/index.ts';

export interface Point {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly usage: Usage;
}

/** Days of which each hour is kept; after them the last of each day. */
export const hourlyDays = 14;
/** Days of which anything is kept. */
export const dailyDays = 1826;

export const hourMs = 3_600_000;
const hoursOfDay = 24;
export const dayMs = hoursOfDay * hourMs;
const mostPoints = 400;
const growthDays = 28;

/** The hours that a range is about; a point for each `step` of them. */
interface Span {
  readonly fromHour: number;
  readonly toHour: number;
  readonly step: number;
}

const days = { day: 1, week: 7, month: 31, year: 366, all: dailyDays } as const;

/** The time before now that a history is about. */
export type Range = keyof typeof days;

export function hourOf(time: number): number {
  return Math.floor(time / hourMs);
}

/** Counted in UTC since 1970. */
export function dayOf(time: number): number {
  return Math.floor(time / dayMs);
}

export function spanOf(range: Range, now: number): Span {
  const toHour = hourOf(now);
  const step = range === 'day' || range === 'week' ? 1 : hoursOfDay;
  return { fromHour: hoursBack(days[range], toHour, step), toHour, step };
}

/** The days that growth follows from. */
export function growthSpan(now: number): Span {
  const toHour = hourOf(now);
  return { fromHour: hoursBack(growthDays, toHour, hoursOfDay), toHour, step: hoursOfDay };
}

/** The beginning of the `step` in which the hour lies that was so many days before. */
function hoursBack(count: number, hour: number, step: number): number {
  return Math.max(0, Math.floor((hour - count * hoursOfDay) / step) * step);
}

/**
 * The last recorded hour of each `step`, oldest first. Of an owner only what there is since the first record
 * of it, and what held until the next one; without `ofOwner` that of all owners.
 */
export function pointsOf(
  { hours, steps }: PastUsage,
  { step }: Pick<Span, 'step'>,
  ofOwner: boolean,
): Point[] {
  const points: Point[] = [];
  let held: Usage | null = null;
  let next = 0;
  for (const [index, { hour, at, usage }] of hours.entries()) {
    for (let due = steps[next]; due !== undefined && due.hour <= hour; due = steps[++next]) held = due.usage;
    const following = hours[index + 1];
    if (following !== undefined && Math.floor(following.hour / step) === Math.floor(hour / step)) continue;
    if (!ofOwner) points.push({ at, usage });
    else if (held !== null) points.push({ at, usage: held });
  }
  return points;
}

/**
 * Thins points out to as many as a plot has room for: the last of each few, so that the newest is always
 * among them.
 */
export function fewOf(points: readonly Point[]): readonly Point[] {
  const each = Math.ceil(points.length / mostPoints);
  return points.filter((_, index) => (points.length - 1 - index) % each === 0);
}

/** All kinds together; what passes 2^53 - 1 stands at that. */
export function totalOf(usage: Usage): number {
  return Math.min(
    usage.reduce((sum, bytes) => sum + bytes, 0),
    Number.MAX_SAFE_INTEGER,
  );
}

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
