/**
 * Measures a unit after a check that allowed something, such as an upload.
 *
 * The data arrives only after the answer, at an unknown time. So the unit is measured twice: one second and
 * thirty seconds after the check. A further check starts both times again, but delays no measurement that is
 * due: a unit that is checked all the time is measured once a second.
 *
 * Anybody may cause checks. So a further check of a path costs only a look-up, and measurements begin one
 * after the other with a rest between them, which is longer while many wait, and longest while the walkers
 * are busy. If there are too many paths, the oldest one is measured once more soon, and is forgotten.
 */

import { type AlarmClock, monotonicClock } from '../turns.ts';

interface FollowUpsOptions {
  readonly measure: (path: string) => void;
  /** Tells whether others wait for the walkers. */
  readonly isBusy: () => boolean;
  readonly mostPaths?: number;
  /** Monotonic. */
  readonly clock?: AlarmClock;
}

/** Times from a check to its two measurements. */
const [shortMs, longMs] = [1000, 30_000] as const;
const restMs = 5;
/** With more waiting paths the rest is longer: in a flood of checks, most are followed by no growth. */
const manySoon = 256;
const floodRestMs = 20;
const busyRestMs = 250;

/** Gets the events of the repositories that are measured here. */
export interface RepositoryWatch {
  /** A hook of another host says that something was pushed into a repository that is walked here. */
  changed(path: string): void;
  /** A check allowed something some time ago, which may have arrived by now. */
  mayHaveChanged(path: string): void;
  /** A walk found another size than the one before. */
  resized(path: string): void;
  /** A walk found a unit that was not known. */
  appeared(path: string): void;
}

export class FollowUps {
  readonly #options: FollowUpsOptions;
  readonly #clock: AlarmClock;
  readonly #mostPaths: number;
  /** Paths with the time of their first and second measurement after a check, the earliest first. */
  readonly #soon = new Map<string, number>();
  readonly #later = new Map<string, number>();
  /** Time before which no measurement begins. */
  #restsUntil = 0;
  /** Cancels the alarm; null if none is set. */
  #cancel: (() => void) | null = null;

  constructor(options: FollowUpsOptions) {
    this.#options = options;
    this.#clock = options.clock ?? monotonicClock;
    this.#mostPaths = options.mostPaths ?? 50_000;
  }

  /** Plans measurements after a check of this path that allowed something. */
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
