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
 * than are remembered, the one that is remembered longest is measured once more soon and forgotten.
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

/** From the check to its measurements. */
export const distancesMs = [1000, 30_000] as const;
const [shortMs, longMs] = distancesMs;
const restMs = 5;
/** While there are more than so many: checks come in a flood, and most of them let nothing grow. */
const manySoon = 256;
const floodRestMs = 20;
const busyRestMs = 250;

export const monotonicClock: FollowUpClock = {
  now: () => performance.now(),
  after: (milliseconds, callback) => {
    const timer = setTimeout(callback, milliseconds).unref();
    return () => clearTimeout(timer);
  },
};

/** Gets the events of the repositories that are measured here. */
export interface RepositoryWatch {
  /** A hook of another host says that something was pushed into a repository that is walked here. */
  changed(path: string): void;
  /** A check let something through before: it may have come by now. */
  mayHaveChanged(path: string): void;
  /** A walk found another size than the one before. */
  resized(path: string): void;
  /** A walk found a unit that was not known. */
  appeared(path: string): void;
}

export class FollowUps {
  readonly #options: FollowUpsOptions;
  readonly #clock: FollowUpClock;
  readonly #mostPaths: number;
  /** Paths and when they are measured, after each distance from the check; the next one comes first. */
  readonly #soon = new Map<string, number>();
  readonly #later = new Map<string, number>();
  /** When the next measurement may begin. */
  #restsUntil = 0;
  /** Calls the alarm off; null: there is none. */
  #cancel: (() => void) | null = null;

  constructor(options: FollowUpsOptions) {
    this.#options = options;
    this.#clock = options.clock ?? monotonicClock;
    this.#mostPaths = options.mostPaths ?? 50_000;
  }

  /** A check by this path let something through. */
  checked(path: string): void {
    const now = this.#clock.now();
    const isNextLater = this.#soon.size === 0;
    this.#later.delete(path);
    this.#later.set(path, now + longMs);
    this.#addSoon(path, now);
    const [oldest] = this.#later.keys();
    if (oldest !== undefined && this.#later.size > this.#mostPaths) {
      this.#later.delete(oldest);
      this.#addSoon(oldest, now);
    }
    if (isNextLater) this.#schedule();
  }

  close(): void {
    this.#cancel?.();
    this.#soon.clear();
    this.#later.clear();
  }

  #addSoon(path: string, now: number): void {
    if (!this.#soon.has(path) && this.#soon.size < this.#mostPaths) this.#soon.set(path, now + shortMs);
  }

  #schedule(): void {
    this.#cancel?.();
    this.#cancel = null;
    const next = this.#next();
    if (next === null) return;
    const afterMs = Math.max(next.dueAt, this.#restsUntil) - this.#clock.now();
    this.#cancel = this.#clock.after(Math.max(0, afterMs), () => this.#measure());
  }

  #measure(): void {
    const now = this.#clock.now();
    const next = this.#next();
    // An alarm may be early by a part of a millisecond.
    if (next !== null && next.dueAt <= now) {
      next.from.delete(next.path);
      this.#options.measure(next.path);
      // Somebody may have checked again since this measurement was planned.
      const checkedAt = (this.#later.get(next.path) ?? Number.NEGATIVE_INFINITY) - longMs;
      if (next.from === this.#soon && checkedAt > next.dueAt - shortMs) this.#addSoon(next.path, now);
      this.#restsUntil = now + this.#restMs();
    }
    this.#schedule();
  }

  #next(): { readonly path: string; readonly dueAt: number; readonly from: Map<string, number> } | null {
    const heads = [this.#soon, this.#later].flatMap(from => {
      const [head] = from;
      return head === undefined ? [] : [{ path: head[0], dueAt: head[1], from }];
    });
    return heads.sort((a, b) => a.dueAt - b.dueAt)[0] ?? null;
  }

  #restMs(): number {
    if (this.#options.isBusy()) return busyRestMs;
    return this.#soon.size > manySoon ? floodRestMs : restMs;
  }
}
