/** Work in slices, with pauses between them, so that it takes only a part of a core. */

import { setTimeout as delay } from 'node:timers/promises';

const sliceMs = 10;

export class Pace {
  readonly #restPerWork: number;
  readonly #stopped: AbortSignal;
  #sliceBegun = performance.now();

  /** `restPerWork`: how long it rests after working, as a multiple of that. */
  constructor(restPerWork: number, stopped: AbortSignal) {
    this.#restPerWork = restPerWork;
    this.#stopped = stopped;
  }

  /** Call it after each step: it pauses where the slice is over. */
  async step(): Promise<void> {
    const workedMs = performance.now() - this.#sliceBegun;
    if (workedMs < sliceMs) return;
    await this.pause(workedMs * this.#restPerWork);
  }

  /** Resolves after the time, or as soon as the work is stopped. */
  async pause(milliseconds: number): Promise<void> {
    await delay(milliseconds, undefined, { signal: this.#stopped }).catch(() => {});
    this.#sliceBegun = performance.now();
  }
}
