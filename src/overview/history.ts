/** Records what owners use once an hour, and tells what they used. */

import type { Owners } from '../documents/index.ts';
import { SoftquotaError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Usage } from '../quota/index.ts';
import type { HistoryStore, OwnerUsageRecord } from '../store/index.ts';
import {
  dailyDays,
  fewOf,
  type Growth,
  growthOf,
  growthSpan,
  hourlyDays,
  hourMs,
  hourOf,
  type Point,
  pointsOf,
  type Range,
  spanOf,
  totalOf,
} from './points.ts';
import type { Totals } from './totals.ts';

interface HistoryOptions {
  readonly store: HistoryStore;
  readonly owners: Pick<Owners, 'byId'>;
  readonly totals: Pick<Totals, 'settled' | 'figures' | 'takeMoved' | 'putBack'>;
  readonly log: Pick<Log, 'error'>;
  /** Milliseconds since 1970. */
  now(): number;
}

export interface Past {
  /** Oldest first, some 400 at most. */
  readonly points: readonly Point[];
  /** The growth of all kinds together, from the last four weeks; null if there is too little data. */
  readonly growth: Growth | null;
}

/** The clock may be set: it is looked at again after so long at the latest. */
const longestWaitMs = 60_000;
const ownersAtOnce = 500;

export class History {
  readonly #options: HistoryOptions;
  #timer: NodeJS.Timeout | null = null;
  #recording: Promise<void> = Promise.resolve();
  #isClosed = false;
  #recordedHour = Number.NaN;
  #thinnedDay = Number.NaN;

  constructor(options: HistoryOptions) {
    this.#options = options;
  }

  /** Records from the time on when everything `isMeasured`: what is not known yet would look like nothing. */
  start(isMeasured: Promise<void>): void {
    void isMeasured.then(() => this.#next());
  }

  /** Returns the history of an owner, or with null of all owners. Rejects as reading the store does. */
  async of(ownerId: number | null, range: Range): Promise<Past> {
    const { store, now } = this.#options;
    const span = spanOf(range, now());
    const lately = growthSpan(now());
    const fromHour = Math.min(span.fromHour, lately.fromHour);
    const past = await store.history({ ownerId, fromHour, toHour: span.toHour });
    const within = (from: number) => ({ ...past, hours: past.hours.filter(({ hour }) => hour >= from) });
    const daily = pointsOf(within(lately.fromHour), lately, ownerId !== null);
    return {
      points: fewOf(pointsOf(within(span.fromHour), span, ownerId !== null)),
      growth: growthOf(daily.map(point => ({ at: point.at, bytes: totalOf(point.usage) }))),
    };
  }

  /** Ends what is being written after its next slice: an hour that is not whole counts as not recorded. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#recording;
  }

  /** Records the hour that it is, unless it is recorded, and comes again when the next one begins. */
  #next(): void {
    if (this.#isClosed) return;
    this.#recording = this.#record()
      .catch(error => {
        // That the store is away is said by who looks after it.
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
    if (day !== this.#thinnedDay) await this.#thin(hour);
    if (!this.#isClosed) this.#thinnedDay = day;
  }

  async #recordHour(hour: number, at: number): Promise<void> {
    const { store, totals } = this.#options;
    // Half-way through a round an owner who is renamed would be there twice.
    await totals.settled();
    if (this.#isClosed) return;
    // Owners who change while they are written are recorded again in the next hour.
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

  /** Thins everybody's, and lets go of those who went while nobody looked. */
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
