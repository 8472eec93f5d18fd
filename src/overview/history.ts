/**
 * Records the usage of owners once an hour, and returns past usage and its growth.
 *
 * Growth is the Theil-Sen estimator: the median of the slopes between each two days. Unlike a line of least
 * squares, a single large upload or cleanup does not distort it, and it needs no threshold for outliers.
 */

import type { Owners } from '../documents/index.ts';
import { SoftquotaError } from '../errors.ts';
import type { Log } from '../log.ts';
import { leafMask, totalOf, type Usage } from '../quota/index.ts';
import type { HistoryStore, OwnerUsageRecord, PastUsage } from '../store/index.ts';
import { isoTime } from '../text.ts';
import type { Totals } from './totals.ts';

interface HistoryOptions {
  readonly store: HistoryStore;
  readonly owners: Pick<Owners, 'byId'>;
  readonly totals: Pick<Totals, 'settled' | 'figures' | 'takeMoved' | 'putBack'>;
  readonly log: Pick<Log, 'error'>;
  /** Milliseconds since 1970. */
  now(): number;
}

/** Wakes up at least this often, since somebody may set the clock. */
const longestWaitMs = 60_000;
const ownersAtOnce = 500;

export class History {
  readonly #options: HistoryOptions;
  #timer: NodeJS.Timeout | null = null;
  #recording: Promise<void> = Promise.resolve();
  #isClosed = false;
  #recordedHour = Number.NaN;
  #thinnedDay: number | null = null;

  constructor(options: HistoryOptions) {
    this.#options = options;
  }

  /** Starts to record once everything `isMeasured`, since unmeasured data would be recorded as 0 bytes. */
  start(isMeasured: Promise<void>): void {
    void isMeasured.then(() => this.#next());
  }

  /**
   * Returns the usage of these owners together (null: of all owners) as at most 400 points, oldest first, and
   * the growth in the last four weeks. Leaves outside the mask `counted` are 0. Rejects as reads of the store
   * do.
   */
  async of(
    ownerIds: readonly number[] | null,
    range: Range,
    counted = leafMask('size:all'),
  ): Promise<{ readonly points: readonly Point[]; readonly growth: Growth | null }> {
    const { store, now } = this.#options;
    const step = range === 'day' || range === 'week' ? 1 : hoursOfDay;
    const span = spanOf(days[range], step, now());
    const lately = spanOf(growthDays, hoursOfDay, now());
    const between = { fromHour: Math.min(span.fromHour, lately.fromHour), toHour: span.toHour };
    const { hours } = await store.history({ ownerId: null, ...between });
    const ofAll = ownerIds === null;
    const [wanted, daily] = [new Points(hours, span, ofAll), new Points(hours, lately, ofAll)];
    for (const ownerId of ownerIds ?? []) {
      const { steps } = await store.history({ ownerId, ...between, onlySteps: true });
      for (const points of [wanted, daily]) points.add(steps);
    }
    const part = (leaf: number) => (counted >> leaf) & 1;
    const sums = (points: Points) =>
      points.sums.map(({ at, usage }) => ({ at, usage: usage.map((bytes, leaf) => bytes * part(leaf)) }));
    return {
      points: fewOf(sums(wanted)),
      growth: growthOf(sums(daily).map(({ at, usage }) => ({ at, bytes: totalOf(usage) }))),
    };
  }

  /** Stops after the slice that is being written. An incomplete hour counts as not recorded. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#recording;
  }

  /** Records the current hour unless it is recorded, and sets the timer for the next hour. */
  #next(): void {
    if (this.#isClosed) return;
    this.#recording = this.#record()
      .catch(error => {
        // The store reports this failure itself.
        if (error instanceof SoftquotaError && error.code === 'store_away') return;
        this.#options.log.error({ err: error }, 'usage could not be recorded; it will be tried again');
      })
      .then(() => {
        if (this.#isClosed) return;
        const toNextHour = hourMs - (this.#options.now() % hourMs);
        const waitMs = Math.min(Math.max(toNextHour, 1), longestWaitMs);
        this.#timer = setTimeout(() => this.#next(), waitMs).unref();
      });
  }

  async #record(): Promise<void> {
    const { store, totals, now } = this.#options;
    if (hourOf(now()) === this.#recordedHour) return;
    await totals.settled();
    const at = now();
    const hour = hourOf(at);
    if (hour < 0 || this.#isClosed) return;
    const { hours } = await store.history({ ownerId: null, fromHour: hour, toHour: hour });
    if (hours.length === 0) await this.#recordHour(hour, at);
    this.#recordedHour = hour;
    const day = Math.floor(hour / 24);
    // Not at the start, when the clock may be wrong.
    if (this.#thinnedDay !== null && day !== this.#thinnedDay) await this.#thin(hour);
    if (!this.#isClosed) this.#thinnedDay = day;
  }

  async #recordHour(hour: number, at: number): Promise<void> {
    const { store, totals } = this.#options;
    // During a round, a renamed owner could be counted twice.
    await totals.settled();
    if (this.#isClosed) return;
    // Owners who change during the writes are recorded again in the next hour.
    const moved = totals.takeMoved();
    const { usage } = totals.figures;
    try {
      for (const owners of slicesOf(moved.usage)) {
        if (this.#isClosed) return;
        await store.recordOwners(hour, owners);
      }
      await store.forgetHistory(moved.gone);
      await store.recordHour({ hour, at, usage });
    } catch (error) {
      totals.putBack(moved);
      throw error;
    }
  }

  /** Thins out the history of all owners, and deletes that of owners who no longer exist. */
  async #thin(nowHour: number): Promise<void> {
    const { store, owners: known } = this.#options;
    let afterOwner = -1;
    while (!this.#isClosed) {
      const owners = await store.thinHistory({ afterOwner, nowHour, hourlyDays, dailyDays });
      const last = owners.at(-1);
      if (last === undefined) return;
      afterOwner = last;
      const gone = owners.filter(id => known.byId(id) === undefined);
      if (gone.length > 0) await store.forgetHistory(gone);
    }
  }
}

function* slicesOf(usage: Iterable<readonly [number, Usage]>): Generator<OwnerUsageRecord[]> {
  let slice: OwnerUsageRecord[] = [];
  for (const [ownerId, used] of usage) {
    if (slice.push({ ownerId, usage: used }) < ownersAtOnce) continue;
    yield slice;
    slice = [];
  }
  if (slice.length > 0) yield slice;
}

interface Point {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly usage: Usage;
}

/** For this many days each recorded hour stays; older days have only their last hour. */
export const hourlyDays = 14;
/** Older days are deleted. */
export const dailyDays = 1826;

export const hourMs = 3_600_000;
const hoursOfDay = 24;
export const dayMs = hoursOfDay * hourMs;
const mostPoints = 400;
const growthDays = 28;

/** The hours of a range, with one point for each `step` hours. */
interface Span {
  readonly fromHour: number;
  readonly toHour: number;
  readonly step: number;
}

const days = { day: 1, week: 7, month: 31, year: 366, all: dailyDays } as const;

export type Range = keyof typeof days;

/** Compares limits and growth with the disks; covers only disks that report their size. */
export async function outlookOf(
  { totals, history }: { readonly totals: Pick<Totals, 'figures'>; readonly history: Pick<History, 'of'> },
  disks: readonly { readonly sizeBytes: number | null; readonly freeBytes: number | null }[],
) {
  const { promised, unlimited } = totals.figures;
  const sum = (key: 'sizeBytes' | 'freeBytes') => disks.reduce((bytes, disk) => bytes + (disk[key] ?? 0), 0);
  const [size, free] = [sum('sizeBytes'), sum('freeBytes')];
  const { growth } = await history.of(null, 'month');
  const isKnown = growth !== null && disks.some(({ freeBytes }) => freeBytes !== null);
  const fullAt = isKnown ? reachedAt(growth.perDay, 0, free, Date.now()) : null;
  return { promised, unlimited, size, free, full_at: isoTime(fullAt) };
}

export function hourOf(time: number): number {
  return Math.floor(time / hourMs);
}

/** Returns the number of the day in UTC since 1970. */
export function dayOf(time: number): number {
  return Math.floor(time / dayMs);
}

/** Returns the span of the last `count` days, rounded down to the begin of a step. */
function spanOf(count: number, step: number, now: number): Span {
  const toHour = hourOf(now);
  const fromHour = Math.floor((toHour - count * hoursOfDay) / step) * step;
  return { fromHour: Math.max(0, fromHour), toHour, step };
}

/** The last recorded hour of each step of a span, with the usage of some owners at that time. */
class Points {
  readonly #hours: PastUsage['hours'];
  /** Null: no owner had a record at that time. */
  readonly #sums: (Usage | null)[];

  /** `ofAll`: the sums are the usage of all owners together, and `add` is not called. */
  constructor(hours: PastUsage['hours'], { fromHour, step }: Span, ofAll: boolean) {
    const within = hours.filter(({ hour }) => hour >= fromHour);
    // The last record of a step stays.
    this.#hours = [...new Map(within.map(record => [Math.floor(record.hour / step), record])).values()];
    this.#sums = this.#hours.map(({ usage }) => (ofAll ? usage : null));
  }

  /** The points, oldest first, from the first record on. */
  get sums(): readonly Point[] {
    return this.#hours.flatMap(({ at }, index) => {
      const usage = this.#sums[index] ?? null;
      return usage === null ? [] : [{ at, usage }];
    });
  }

  /** Adds the usage of one owner. Each record holds until the next one. */
  add(steps: PastUsage['steps']): void {
    let next = 0;
    for (const [index, { hour }] of this.#hours.entries()) {
      while ((steps[next]?.hour ?? Number.POSITIVE_INFINITY) <= hour) next += 1;
      const held = steps[next - 1];
      if (held !== undefined) this.#sums[index] = together(this.#sums[index] ?? null, held.usage);
    }
  }
}

/** Adds up, with at most 2^53 - 1 for each leaf. */
function together(sum: Usage | null, usage: Usage): Usage {
  if (sum === null) return usage;
  return sum.map((bytes, leaf) => Math.min(bytes + (usage[leaf] ?? 0), Number.MAX_SAFE_INTEGER));
}

/** Returns at most `mostPoints` points, evenly spread, with the newest. */
function fewOf(points: readonly Point[]): readonly Point[] {
  const each = Math.ceil(points.length / mostPoints);
  return points.filter((_, index) => (points.length - 1 - index) % each === 0);
}

interface DayPoint {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly bytes: number;
}

export interface Growth {
  /** Whole bytes; negative if usage shrinks. */
  readonly perDay: number;
  /** The time of the first point, in milliseconds since 1970. */
  readonly since: number;
}

const leastSpanMs = 2 * dayMs;
const farthestMs = 3652 * dayMs;

/**
 * Computes growth from points, oldest first, one a day; null: first and last are less than two days apart.
 */
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
 * Returns the time at which usage will reach `limit`, in milliseconds since 1970; null: it is reached
 * already, never will be, not within ten years, or the limit is -1.
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
  // The sum of both may pass 2^53.
  return lower + (upper - lower) / 2;
}
