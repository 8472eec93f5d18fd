/**
 * Measurements that follow a check which let something through, such as an upload, whatever else is said of
 * the unit later.
 *
 * What was let through comes only after the answer, and nobody says when. So the unit is measured twice after
 * the check. A check that comes meanwhile begins with the shortest distance again, but puts off no
 * measurement that is due: who asks all the time is measured all the time, at most once in the shortest
 * distance.
 *
 * Anybody may ask. So a further check of a path costs a look-up, measurements begin one after the other with
 * a rest between them, a longer one where many wait, and a long one while walkers have no time. Of more paths
 * than are remembered, the one that is remembered longest is measured once more at its turn and forgotten.
 */

/** A clock that nobody sets, in milliseconds, and its alarm. */
export interface FollowUpClock {
  now(): number;
  /** Calls back once; gives how to call that off. */
  after(milliseconds: number, callback: () => void): () => void;
}

interface FollowUpsOptions {
  readonly measure: (path: string) => void;
  /** Tells whether others wait for the walkers. */
  readonly isBusy: () => boolean;
  readonly mostPaths?: number;
  readonly clock?: FollowUpClock;
}

interface FollowUp {
  checkedAt: number;
  dueAt: number;
  /** Calls the alarm off; null where it has gone off and the measurement waits for its turn. */
  cancel: (() => void) | null;
}

/** From the check to its measurements. */
export const distancesMs = [1000, 30_000] as const;
const [shortestMs] = distancesMs;
const restMs = 5;
/** While more than so many wait: checks come in a flood, and most of them let nothing grow. */
const manyDue = 256;
const floodRestMs = 20;
const busyRestMs = 250;

export const monotonicClock: FollowUpClock = {
  now: () => performance.now(),
  after: (milliseconds, callback) => {
    const timer = setTimeout(callback, milliseconds).unref();
    return () => clearTimeout(timer);
  },
};

export class FollowUps {
  readonly #options: FollowUpsOptions;
  readonly #clock: FollowUpClock;
  readonly #mostPaths: number;
  /** The one that is remembered longest first. */
  readonly #followUps = new Map<string, FollowUp>();
  /** Paths whose measurement waits for its turn. */
  readonly #due = new Set<string>();
  #endRest: (() => void) | null = null;

  constructor(options: FollowUpsOptions) {
    this.#options = options;
    this.#clock = options.clock ?? monotonicClock;
    this.#mostPaths = options.mostPaths ?? 50_000;
  }

  /** A check by this path let something through. */
  checked(path: string): void {
    const now = this.#clock.now();
    const known = this.#followUps.get(path);
    if (known !== undefined) {
      known.checkedAt = now;
      if (known.cancel !== null && known.dueAt > now + shortestMs)
        this.#schedule(path, known, now + shortestMs);
      return;
    }
    if (this.#followUps.size >= this.#mostPaths) this.#forgetOne();
    const followUp: FollowUp = { checkedAt: now, dueAt: now, cancel: null };
    this.#followUps.set(path, followUp);
    this.#schedule(path, followUp, now + shortestMs);
  }

  close(): void {
    for (const { cancel } of this.#followUps.values()) cancel?.();
    this.#followUps.clear();
    this.#due.clear();
    this.#endRest?.();
  }

  #schedule(path: string, followUp: FollowUp, dueAt: number): void {
    followUp.cancel?.();
    followUp.dueAt = dueAt;
    followUp.cancel = this.#clock.after(dueAt - this.#clock.now(), () => {
      followUp.cancel = null;
      this.#add(path);
    });
  }

  #forgetOne(): void {
    for (const [path, { cancel }] of this.#followUps) {
      cancel?.();
      this.#followUps.delete(path);
      // No more wait for a turn than are remembered: those that are forgotten once more than that find no
      // place.
      if (this.#due.size < this.#mostPaths) this.#add(path);
      return;
    }
  }

  #add(path: string): void {
    this.#due.add(path);
    if (this.#endRest === null) this.#measureNext();
  }

  #measureNext(): void {
    this.#endRest = null;
    const [path] = this.#due;
    if (path === undefined) return;
    this.#due.delete(path);
    this.#options.measure(path);
    this.#scheduleNext(path);
    this.#endRest = this.#clock.after(this.#restMs(), () => this.#measureNext());
  }

  #restMs(): number {
    if (this.#options.isBusy()) return busyRestMs;
    return this.#due.size > manyDue ? floodRestMs : restMs;
  }

  /** The next distance from the last check that has not gone by. */
  #scheduleNext(path: string): void {
    const followUp = this.#followUps.get(path);
    if (followUp === undefined) return;
    const { checkedAt } = followUp;
    const now = this.#clock.now();
    const distanceMs = distancesMs.find(distance => checkedAt + distance > now);
    if (distanceMs === undefined) this.#followUps.delete(path);
    else this.#schedule(path, followUp, checkedAt + distanceMs);
  }
}
