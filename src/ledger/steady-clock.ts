/**
 * Tells whether the wall clock has run like the monotonic clock for about an hour. A clock that is wrong for
 * a moment is corrected by then, so code that ends or deletes something for good waits for it.
 */

import type { Clock } from './options.ts';

/** A little less than an hour, so that what looks each hour finds it. */
const steadyMs = 59 * 60_000;
/** A clock that is set by less ends and deletes nothing that matters. */
const toleratedMs = 300_000;

export class SteadyClock {
  readonly #clock: Clock;
  /** The wall clock minus the monotonic clock, since a time on the monotonic clock. */
  #offset: number;
  #since: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since = clock.monotonic();
    this.#offset = clock.wall() - this.#since;
  }

  /** Looks at both clocks; a change of the wall clock counts from the look that finds it. */
  isSteady(): boolean {
    const now = this.#clock.monotonic();
    const offset = this.#clock.wall() - now;
    if (Math.abs(offset - this.#offset) > toleratedMs) {
      this.#offset = offset;
      this.#since = now;
    }
    return now - this.#since >= steadyMs;
  }
}
