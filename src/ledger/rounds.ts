/**
 * Looks at owners whose decisions may have become others: not at once, but in rounds, so that many changes are one
 * look, and a slice at a time, so that everybody can be looked at while all else goes on.
 */

import type { Ledger } from './ledger.ts';
import { inSlices } from './slices.ts';

export interface RoundsOptions {
  readonly ledger: Pick<Ledger, 'watch' | 'ownerRecords'>;
  /** Milliseconds between two rounds, at least; a second unless given. */
  readonly pauseMs?: number | undefined;
  /** Milliseconds before what failed is tried again; ten seconds unless given. */
  readonly retryMs?: number | undefined;
  /** Looks at one whose decisions may have changed. The owner may be gone. */
  look(ownerKey: string): void;
  /** Ends a round; `everybody` has been looked at, or some. Where it rejects it is called again, at the latest after `retryMs`. */
  finish(everybody: boolean): Promise<void>;
  /** A round could not be ended. */
  failed(error: unknown): void;
}

/** A long round is followed by a long rest; most of the time goes to other things. */
const restFactor = 4;

export class Rounds {
  readonly #options: RoundsOptions;
  /** Owners whose decisions may have changed since they were looked at. */
  readonly #pending = new Set<string>();
  #everybodyPending = false;
  /** Since a round ended well. */
  #everybodyLookedAt = false;
  #isUnfinished = false;
  #unwatch: (() => void) | null = null;
  #timer: NodeJS.Timeout | null = null;
  #round: Promise<void> | null = null;
  /** On the monotonic clock. */
  #restUntil = 0;

  constructor(options: RoundsOptions) {
    this.#options = options;
  }

  /** Begins with everybody. */
  start(): void {
    this.#unwatch ??= this.#options.ledger.watch(ownerKey => this.#note(ownerKey));
    this.#note(null);
  }

  /** Has everybody looked at anew. */
  lookAtAll(): void {
    this.#note(null);
  }

  /** Resolves once all were looked at whose decisions may have changed by now, or a round has failed. */
  async settled(): Promise<void> {
    if (this.#round !== null) await this.#round;
    if (this.#unwatch === null) return;
    // Somebody else who waited may have begun the next one.
    if (this.#round !== null || this.#isDue) await this.#begin();
  }

  /** Ends after a last round. */
  async close(): Promise<void> {
    await this.settled();
    this.#unwatch?.();
    this.#unwatch = null;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  get #isDue(): boolean {
    return this.#everybodyPending || this.#pending.size > 0 || this.#isUnfinished;
  }

  #note(ownerKey: string | null): void {
    if (ownerKey === null) this.#everybodyPending = true;
    else this.#pending.add(ownerKey);
    this.#wake();
  }

  #wake(): void {
    if (this.#timer !== null || this.#round !== null || this.#unwatch === null || !this.#isDue) return;
    const waitMs = Math.max(this.#restUntil - performance.now(), 0);
    this.#timer = setTimeout(() => void this.#begin(), waitMs).unref();
  }

  #begin(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#round ??= this.#go().finally(() => {
      this.#round = null;
      this.#wake();
    });
    return this.#round;
  }

  async #go(): Promise<void> {
    const { pauseMs = 1000, retryMs = 10_000 } = this.#options;
    const began = performance.now();
    let restMs = pauseMs;
    try {
      await this.#look();
      await this.#options.finish(this.#everybodyLookedAt);
      this.#everybodyLookedAt = false;
      this.#isUnfinished = false;
    } catch (error) {
      this.#isUnfinished = true;
      restMs = retryMs;
      this.#options.failed(error);
    }
    const ended = performance.now();
    this.#restUntil = ended + Math.max(restMs, restFactor * (ended - began));
  }

  async #look(): Promise<void> {
    const { ledger, look } = this.#options;
    if (this.#everybodyPending) {
      this.#everybodyPending = false;
      this.#everybodyLookedAt = true;
      for (const { key } of ledger.ownerRecords()) this.#pending.add(key);
    }
    await inSlices(this.#pending, ownerKey => {
      this.#pending.delete(ownerKey);
      look(ownerKey);
    });
  }
}
