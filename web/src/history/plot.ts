/**
 * Computes the geometry of a chart of usage over time, in pixels from its upper left corner.
 *
 * There are two pictures of the same figures. By kind, the areas are stacked. Against the limit, one line
 * shows the total, with the limit and a dashed line for the present growth. The dashed line ends when the
 * limit is reached, and at most half of the shown time after the last point.
 */

import { scaleLinear, scaleTime } from 'd3-scale';
import { area, line, stack } from 'd3-shape';
import type { Leaf } from '../../../src/quota/index.ts';
import { formatBytes } from '../../../src/text.ts';
import type { History } from '../../../src/wire/index.ts';

export type HistoryPoint = History['points'][number];

export type Picture = 'kinds' | 'limit';

interface Frame {
  readonly width: number;
  readonly height: number;
}

export interface Plot {
  /** Area of the chart inside its axes. */
  readonly inner: {
    readonly left: number;
    readonly right: number;
    readonly top: number;
    readonly bottom: number;
  };
  /** Areas from the lowest up; empty in the picture against the limit. */
  readonly bands: readonly { readonly leaf: Leaf; readonly path: string }[];
  readonly total: string;
  readonly limitAt: number | null;
  /** Dashed line; null if usage does not grow towards a limit. */
  readonly ahead: string | null;
  readonly sizes: readonly Tick[];
  readonly times: readonly Tick[];
  /** Horizontal positions of the points. */
  readonly across: readonly number[];
  /** Vertical positions of the total at the points. */
  readonly heights: readonly number[];
}

interface Tick {
  readonly at: number;
  readonly words: string;
}

const margin = { left: 56, right: 12, top: 12, bottom: 24 };
const pixelsPerTime = 80;
const sizeTicks = 4;
const dayMs = 86_400_000;
/** Space above the limit line. */
const roomAbove = 1.05;
/** Length of the dashed line as a part of the shown time, at most. */
const farthestAhead = 0.5;

/** Computes the chart of a history with at least two points. */
export function plotOf(history: History, picture: Picture, { width, height }: Frame): Plot {
  const { points } = history;
  const times = points.map(({ at }) => Date.parse(at));
  const totals = points.map(totalOf);
  const first = times[0] ?? 0;
  const last = times.at(-1) ?? first;
  const limit = picture === 'limit' ? limitIn(history) : null;
  const ahead = limit === null ? null : aheadOf(history, { first, last, total: totals.at(-1) ?? 0, limit });

  const inner = {
    left: margin.left,
    right: Math.max(margin.left + 1, width - margin.right),
    top: margin.top,
    bottom: height - margin.bottom,
  };
  const x = scaleTime()
    .domain([first, ahead?.time ?? last])
    .range([inner.left, inner.right]);
  const y = scaleLinear()
    .domain([0, Math.max(1, (limit ?? 0) * roomAbove, ahead?.bytes ?? 0, ...totals)])
    .nice(sizeTicks)
    .range([inner.bottom, inner.top]);

  const across = times.map(time => x(time));
  const heights = totals.map(bytes => y(bytes));
  const present = presentLeaves(history);
  const layers = stack<HistoryPoint, number>()
    .keys(present.map(({ index }) => index))
    .value(({ bytes }, index) => bytes[index] ?? 0)([...points]);
  const shape = area<{ readonly 0: number; readonly 1: number }>()
    .x((_, index) => across[index] ?? 0)
    .y0(layer => y(layer[0]))
    .y1(layer => y(layer[1]));
  const drawn = line<number>()
    .x((_, index) => across[index] ?? 0)
    .y(at => at);

  return {
    inner,
    bands:
      picture === 'limit'
        ? []
        : layers.map((layer, index) => ({
            leaf: present[index]?.leaf ?? 'size:git:lfs',
            path: shape(layer) ?? '',
          })),
    total: drawn(heights) ?? '',
    limitAt: limit === null ? null : y(limit),
    ahead: ahead === null ? null : `M${across.at(-1)},${heights.at(-1)}L${x(ahead.time)},${y(ahead.bytes)}`,
    sizes: y.ticks(sizeTicks).map(bytes => ({ at: y(bytes), words: formatBytes(bytes) })),
    times: apart(
      timeTicks(x.ticks(Math.max(2, Math.floor((inner.right - inner.left) / pixelsPerTime)))).map(
        ({ date, words }) => ({ at: x(date), words }),
      ),
    ),
    across,
    heights,
  };
}

/** Returns the kinds that ever had data, with their indexes among the bytes of a point. */
export function presentLeaves({ leaves, points }: History) {
  return leaves.flatMap((leaf, index) =>
    points.some(({ bytes }) => (bytes[index] ?? 0) > 0) ? [{ leaf, index }] : [],
  );
}

export function totalOf({ bytes }: HistoryPoint): number {
  return bytes.reduce((sum, each) => sum + each, 0);
}

/** Returns the limit to draw; null if there is none, or if it is 0. */
export function limitIn({ growth }: History): number | null {
  const limit = growth?.limit ?? null;
  return limit === null || limit <= 0 ? null : limit;
}

interface Now {
  readonly first: number;
  readonly last: number;
  readonly total: number;
  readonly limit: number;
}

function aheadOf({ growth }: History, { first, last, total, limit }: Now) {
  const reached = growth?.reached_at ?? null;
  if (growth === null || growth.per_day <= 0 || total >= limit) return null;
  const edge = last + (last - first) * farthestAhead;
  const reachedAt = reached === null ? Number.POSITIVE_INFINITY : Date.parse(reached);
  if (reachedAt > edge) {
    return { time: edge, bytes: Math.min(limit, total + (growth.per_day * (edge - last)) / dayMs) };
  }
  return reachedAt > last ? { time: reachedAt, bytes: limit } : null;
}

const hour = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const month = new Intl.DateTimeFormat(undefined, { month: 'short', year: 'numeric' });

/** Formats the ticks of the time axis by their distance: hours, with the day at midnight; days; or months. */
function timeTicks(dates: readonly Date[]): readonly { readonly date: Date; readonly words: string }[] {
  const apart = (dates[1]?.getTime() ?? 0) - (dates[0]?.getTime() ?? 0);
  const format = apart > 27 * dayMs ? month : day;
  return dates.map(date => {
    const isMidnight = date.getHours() === 0 && date.getMinutes() === 0;
    return { date, words: (isMidnight ? format : hour).format(date) };
  });
}

const pixelsOfWords = 62;

/** Removes ticks whose labels would overlap the previous one, as at the beginning of a month. */
function apart(ticks: readonly Tick[]): readonly Tick[] {
  const kept: Tick[] = [];
  for (const tick of ticks) {
    const before = kept.at(-1);
    if (before === undefined || tick.at - before.at >= pixelsOfWords) kept.push(tick);
  }
  return kept;
}

/** Returns the index of the nearest point. */
export function nearest(across: readonly number[], at: number): number {
  let best = 0;
  for (const [index, place] of across.entries()) {
    if (Math.abs(place - at) < Math.abs((across[best] ?? 0) - at)) best = index;
  }
  return best;
}
