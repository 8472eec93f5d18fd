/**
 * The server that the shared store is found on, and how long policy is left alone on one that was just met.
 *
 * A server that takes another's place, or was started again, may have lost the last changes. Whoever knows
 * them writes them again as soon as it finds the server: a change that is made before would take their place.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { SharedState } from '../store/index.ts';

export class FailoverDelay {
  readonly #settleMs: number;
  /** Undefined: none was met yet. */
  #server: string | null | undefined;
  /** On the monotonic clock. */
  #metAt = Number.NEGATIVE_INFINITY;

  constructor(settleMs: number) {
    this.#settleMs = settleMs;
  }

  /** The server that changes are meant for; null: any. */
  get server(): string | null {
    return this.#server ?? null;
  }

  /** Tells whether any was met: else nobody knows what it lacks. */
  get hasMet(): boolean {
    return this.#server !== undefined;
  }

  /** Tells whether the store was on another server before. */
  meet({ server }: Pick<SharedState, 'server'>): boolean {
    const before = this.#server;
    if (server === before) return false;
    this.#server = server;
    this.#metAt = performance.now();
    return before !== undefined;
  }

  /** Resolves once all had the time to find the server. */
  async settled(): Promise<void> {
    for (;;) {
      const leftMs = this.#metAt + this.#settleMs - performance.now();
      if (leftMs <= 0) return;
      await delay(leftMs);
    }
  }
}
