/** Work in slices, with pauses between them, so that it takes only a part of a core. */

import { setTimeout as delay } from 'node:timers/promises';

const sliceMs = 10;

export class Pace {
  readonly #restPerWork: number;
  readonly #stopped: AbortSignal;
  #sliceBegun = performance.now();
  #usedBefore = process.cpuUsage();

  /** `restPerWork`: how long it rests after working, as a multiple of that. */
  constructor(restPerWork: number, stopped: AbortSignal) {
    this.#restPerWork = restPerWork;
    this.#stopped = stopped;
  }

  /**
   * Call it after each step: it pauses where the slice is over. Time in which a disk or the processors were
   * waited for is no work.
   */
  async step(): Promise<void> {
    const passedMs = performance.now() - this.#sliceBegun;
    if (passedMs < sliceMs) return;
    const { user, system } = process.cpuUsage(this.#usedBefore);
    await this.pause(Math.min(passedMs, (user + system) / 1000) * this.#restPerWork);
  }

  /** Resolves after the time, or as soon as the work is stopped. */
  async pause(milliseconds: number): Promise<void> {
    await delay(milliseconds, undefined, { signal: this.#stopped }).catch(() => {});
    this.#sliceBegun = performance.now();
    this.#usedBefore = process.cpuUsage();
  }
}
