/**
 * Writes to a store what changed in memory, behind its back.
 *
 * While the store is away the write is tried again, ever more rarely, and `away` says since when and
 * why. A record that the store can never take is a mistake of ours: it is named in the log and left
 * out, so that all others are kept.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { SoftquotaError } from '../errors.ts';
import type { Log } from '../log.ts';
import { type Away, AwayState } from './away.ts';
import { changesOf, halvesOf, mostEvents, PendingWrites } from './pending-writes.ts';
import type { Changes, Store } from './store.ts';

interface WriteBehindOptions {
  readonly store: Pick<Store, 'write'>;
  readonly log: Log;
  now(): number;
  /** Something that is kept already: writing it again shows whether the store takes anything. */
  probe(): Changes;
}

/** One write's worth, so that none of them holds up the others for long. */
const mostAtOnce = 5000;
const firstRetryMs = 250;
const longestRetryMs = 15_000;

export class WriteBehind {
  readonly #options: WriteBehindOptions;
  readonly #pending = new PendingWrites();
  readonly #away: AwayState;
  /** The next write, or the one under way; null: nothing waits, and the store is there. */
  #next: Promise<void> | null = null;
  /** Ends the pause before the next write. */
  #wake = new AbortController();
  #retryMs = firstRetryMs;
  #closing = false;
  #isFull = false;

  constructor(options: WriteBehindOptions) {
    this.#options = options;
    this.#away = new AwayState({
      log: options.log,
      now: () => options.now(),
      awayWords: 'the store takes nothing at the moment, it will be tried again',
      backWords: 'the store takes writes again',
    });
  }

  /** Null while the store takes what is written. */
  get away(): Away | null {
    return this.#away.current;
  }

  get waiting(): number {
    return this.#pending.size;
  }

  /**
   * Writes these changes soon, in place of older ones of the same things that wait; documents, their owners
   * and where they stand are written together. Past `mostEvents` that wait, no further events are taken in,
   * and the log says so.
   */
  note(changes: Changes): void {
    const isFull = !this.#pending.add(changes);
    if (isFull && !this.#isFull) {
      const message = `more than ${mostEvents} events wait for the store: those that come now are lost`;
      this.#options.log.error({ err: this.#away.current?.reason }, message);
    }
    if (changes.events !== undefined) this.#isFull = isFull;
    if (this.#pending.size > 0) this.#next ??= this.#writeNext();
  }

  /** Writes at once, before all that waits, in place of the same unit there; rejects as `Store.write`. */
  async writeFirst(changes: Changes): Promise<void> {
    try {
      await this.#options.store.write(changes);
    } catch (error) {
      if (!isRefused(error)) {
        this.#away.failed(error);
        // Trying again finds out that the store is back, without waiting for the next write.
        this.#next ??= this.#writeNext();
      }
      throw error;
    }
    // A waiting record of such a unit is older.
    this.#pending.forgetUnits(changes.goneUnits ?? []);
    this.#pending.forgetUnits((changes.units ?? []).map(({ id }) => id));
    if (this.#away.current !== null) this.#wake.abort();
  }

  /** Resolves once all that waits is in the store (true), or the store is found away (false). */
  async kept(): Promise<boolean> {
    while (this.#next !== null && this.#away.current === null) await this.#next;
    return this.#away.current === null;
  }

  /** Tries once more to write what waits. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#wake.abort();
    while (this.#next !== null) await this.#next;
  }

  /** Never rejects. Everything that is noted in the same turn goes into the same write. */
  async #writeNext(): Promise<void> {
    await this.#pause();
    const batch = this.#pending.take(mostAtOnce);
    try {
      if (batch.length > 0) await this.#write(batch);
      else if (this.#away.current !== null) await this.#options.store.write(this.#options.probe());
      this.#away.succeeded();
      this.#retryMs = firstRetryMs;
    } catch (error) {
      this.#away.failed(error);
    }
    const goesOn = this.#away.current === null ? this.#pending.size > 0 : !this.#closing;
    this.#next = goesOn ? this.#writeNext() : null;
  }

  async #pause(): Promise<void> {
    if (this.#away.current === null || this.#closing) return;
    this.#wake = new AbortController();
    await delay(this.#retryMs, undefined, { signal: this.#wake.signal, ref: false }).catch(() => {});
    this.#retryMs = Math.min(this.#retryMs * 2, longestRetryMs);
  }

  /** Writes a batch, without what the store refuses; when it rejects, what is not written waits again. */
  async #write(batch: ReturnType<PendingWrites['take']>): Promise<void> {
    const { store, log } = this.#options;
    const changes = changesOf(batch);
    try {
      await store.write(changes);
    } catch (error) {
      if (!isRefused(error)) {
        this.#pending.putBack(batch);
        throw error;
      }
      const [half, rest] = halvesOf(batch);
      if (rest.length === 0) {
        log.error({ err: error, record: changes }, 'the store can never take this record');
        return;
      }
      try {
        await this.#write(half);
      } catch (failure) {
        this.#pending.putBack(rest);
        throw failure;
      }
      await this.#write(rest);
    }
  }
}

/** The store is there, but this is nothing that it could ever take. */
function isRefused(error: unknown): boolean {
  return error instanceof SoftquotaError && error.code === 'invalid';
}
