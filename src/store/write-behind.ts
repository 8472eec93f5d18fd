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
import { mostEvents, PendingWrites } from './pending-writes.ts';
import type { Changes, Store } from './store.ts';

interface WriteBehindOptions {
  readonly store: Pick<Store, 'write'>;
  readonly log: Log;
  /** Milliseconds since 1970. */
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
  readonly #waiters = new Set<() => void>();
  readonly #away: AwayState;
  #running = false;
  #run: Promise<void> = Promise.resolve();
  /** Ends the pause before the next try. */
  #wake = new AbortController();
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

  /** Number of records that wait to be written. */
  get waiting(): number {
    return this.#pending.size;
  }

  /**
   * Writes these changes soon, in place of older ones of the same things that wait; documents, their owners
   * and where they stand are written together. Past `mostEvents` that wait, no further events are taken in,
   * and the log says so.
   */
  note(changes: Changes): void {
    const isFull = this.#pending.add(changes) > 0;
    if (isFull && !this.#isFull) {
      const message = `more than ${mostEvents} events wait for the store: those that come now are lost`;
      this.#options.log.error({ err: this.#away.current?.reason }, message);
    }
    if (changes.events !== undefined) this.#isFull = isFull;
    this.#start();
  }

  /**
   * Writes at once, before anything that waits, and in place of the same unit that waits; rejects as
   * `Store.write` does.
   */
  async now(changes: Changes): Promise<void> {
    try {
      await this.#options.store.write(changes);
    } catch (error) {
      if (!isRefused(error)) {
        this.#failed(error);
        // Trying again finds out that the store is back, without waiting for the next write.
        this.#start();
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
    while (this.#running && this.#away.current === null) {
      await new Promise<void>(resolve => this.#waiters.add(resolve));
    }
    return this.#away.current === null;
  }

  /** Tries once more to write what waits. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#wake.abort();
    await this.#run;
  }

  #start(): void {
    if (this.#running) return;
    this.#running = true;
    this.#run = this.#writeAll();
  }

  /** Ends when nothing waits and the store is there. Never rejects. */
  async #writeAll(): Promise<void> {
    // Everything that is enqueued in the same turn goes into the same write.
    await Promise.resolve();
    let retryMs = firstRetryMs;
    while (this.#pending.size > 0 || this.#away.current !== null) {
      if (this.#away.current === null) {
        retryMs = firstRetryMs;
      } else {
        await this.#pause(retryMs);
        retryMs = Math.min(retryMs * 2, longestRetryMs);
      }
      await this.#writeSome();
      this.#tell();
      if (this.#away.current !== null && this.#closing) break;
    }
    this.#running = false;
    this.#tell();
  }

  async #pause(milliseconds: number): Promise<void> {
    if (this.#closing) return;
    this.#wake = new AbortController();
    await delay(milliseconds, undefined, { signal: this.#wake.signal, ref: false }).catch(() => {});
  }

  async #writeSome(): Promise<void> {
    const batch = this.#pending.take(mostAtOnce);
    try {
      if (batch.size > 0) await this.#write(batch);
      else await this.#options.store.write(this.#options.probe());
      this.#away.succeeded();
    } catch (error) {
      this.#pending.putBack(batch);
      this.#failed(error);
    }
  }

  /** Writes a batch, without what the store refuses; when it rejects, the batch holds what is not written. */
  async #write(batch: PendingWrites): Promise<void> {
    try {
      await this.#options.store.write(batch.changes);
    } catch (error) {
      if (!isRefused(error)) throw error;
      if (batch.size === 1) {
        this.#options.log.error(
          { err: error, record: batch.changes },
          'the store can never take this record',
        );
        return;
      }
      const half = batch.take(Math.ceil(batch.size / 2));
      try {
        await this.#write(half);
      } catch (failure) {
        batch.putBack(half);
        throw failure;
      }
      await this.#write(batch);
    }
  }

  #failed(error: unknown): void {
    this.#away.failed(error);
    this.#tell();
  }

  /** Lets those who wait look again. */
  #tell(): void {
    for (const resolve of this.#waiters) resolve();
    this.#waiters.clear();
  }
}

/** The store is there, but this is nothing that it could ever take. */
function isRefused(error: unknown): boolean {
  return error instanceof SoftquotaError && error.code === 'invalid';
}
