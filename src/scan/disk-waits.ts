/**
 * How many more walkers there may be than usual, because those that are there wait for disks.
 *
 * A walker that waits for a disk leaves its processor to others, and a disk answers several questions sooner
 * than one after the other. So as long as walkers had a processor for less than half of the time, there may
 * be one more at each look, up to twice as many.
 */

import { count, monotonic, type Shared, stuckMs } from './shared.ts';

const mostProcessorShare = 0.5;
/** Walkers say it often enough for this, and not for less. */
const betweenLooksMs = 500;
/** Whoever waits for one answer for so long may have met a disk that hangs, which gets no more of them. */
const longWaitMs = 100;
/** After so long without a look, walkers may have had nothing to do. */
const oldMs = 2000;

interface Look {
  readonly at: number;
  readonly processorMs: number;
}

export class DiskWaits {
  readonly #most: number;
  #more = 0;
  #lookedAt = 0;
  #looks = new Map<Shared, Look>();

  /** `most`: so many more there may be. */
  constructor(most: number) {
    this.#most = most;
  }

  get more(): number {
    return this.#more;
  }

  /** Looks at the walkers that are at something; one that does not get on tells nothing. */
  look(busy: Iterable<Shared>, at: number = monotonic()): void {
    const sinceMs = at - this.#lookedAt;
    if (sinceMs < betweenLooksMs) return;
    this.#lookedAt = at;
    const before = sinceMs < oldMs ? this.#looks : new Map<Shared, Look>();
    this.#looks = new Map();
    let passedMs = 0;
    let processorMs = 0;
    for (const shared of busy) {
      if (stuckMs(shared) >= longWaitMs) continue;
      const now = { at, processorMs: shared.counts[count.processorMs] ?? 0 };
      const last = before.get(shared) ?? now;
      passedMs += now.at - last.at;
      processorMs += now.processorMs - last.processorMs;
      this.#looks.set(shared, now);
    }
    if (processorMs < mostProcessorShare * passedMs) this.#more = Math.min(this.#more + 1, this.#most);
  }

  /** From now on there are as many as usual. */
  forget(): void {
    this.#more = 0;
    this.#looks.clear();
  }
}
