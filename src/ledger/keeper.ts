/**
 * Writes to the store what the ledger has noted, behind its back.
 *
 * What is noted is kept here until the store has it: newer notes about the same thing replace older
 * ones, so that what waits is never more than what the ledger holds. While the store is away the
 * write is tried again, ever more rarely, and `away` says since when and why.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { Changes, OwnerRecord, RootRecord, Store, SweepRecord, UnitRecord } from '../store/index.ts';

/** Why the store takes nothing at the moment. */
export interface Away {
  /** Milliseconds since 1970. */
  readonly since: number;
  readonly reason: string;
}

export interface KeeperLog {
  warn(details: object, message: string): void;
  info(details: object, message: string): void;
}

/** One write's worth of units, so that none of them holds up the others for long. */
const mostAtOnce = 5000;
const firstRetryMs = 250;
const longestRetryMs = 15_000;

export class Keeper {
  readonly #store: Store;
  readonly #log: KeeperLog;
  readonly #units = new Map<string, UnitRecord | null>();
  readonly #owners = new Map<string, OwnerRecord | null>();
  readonly #goneDeltas = new Set<number>();
  #roots: { readonly present: readonly RootRecord[]; readonly gone: readonly string[] } | null = null;
  #sweep: SweepRecord | null = null;
  #away: Away | null = null;
  #writing: Promise<void> | null = null;
  /** Wakes the writer from its wait for the next try. */
  #wake = new AbortController();
  #closing = false;
  readonly #settled = new Set<() => void>();

  constructor(store: Store, log: KeeperLog) {
    this.#store = store;
    this.#log = log;
  }

  /** Null while the store takes what is written. */
  get away(): Away | null {
    return this.#away;
  }

  /** How many units wait to be written. */
  get waiting(): number {
    return this.#units.size;
  }

  unit(record: UnitRecord): void {
    this.#units.set(record.id, record);
    this.#start();
  }

  unitGone(id: string): void {
    this.#units.set(id, null);
    this.#start();
  }

  owner(record: OwnerRecord): void {
    this.#owners.set(record.key, record);
    this.#start();
  }

  deltaGone(seq: number): void {
    this.#goneDeltas.add(seq);
    this.#start();
  }

  swept(sweep: SweepRecord, present: readonly RootRecord[], gone: readonly string[]): void {
    this.#sweep = sweep;
    this.#roots = { present, gone };
    this.#start();
  }

  /** Writes at once, before anything else changes; rejects as `Store.write` does. */
  async now(changes: Changes): Promise<void> {
    try {
      await this.#store.write(changes);
    } catch (error) {
      this.#failed(error);
      // Whether the store is back is found out by trying, not by the next one who asks.
      this.#start();
      throw error;
    }
  }

  /** Resolves once all that is noted by now is in the store (true), or the store is found away (false). */
  async kept(): Promise<boolean> {
    while (this.#pending() || this.#writing !== null) {
      if (this.#away !== null) return false;
      await new Promise<void>(resolve => this.#settled.add(resolve));
    }
    return this.#away === null;
  }

  /** Tries once more to write what waits. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#wake.abort();
    await this.#writing;
    if (!this.#pending()) return;
    this.#start();
    await this.#writing;
  }

  #pending(): boolean {
    return (
      this.#units.size > 0 ||
      this.#owners.size > 0 ||
      this.#goneDeltas.size > 0 ||
      this.#roots !== null ||
      this.#sweep !== null
    );
  }

  #start(): void {
    if (this.#writing !== null) return;
    this.#writing = this.#run().finally(() => {
      this.#writing = null;
      this.#settle();
    });
  }

  async #run(): Promise<void> {
    // Everything that is noted in the same turn goes into the same write.
    await Promise.resolve();
    let retryMs = firstRetryMs;
    while (this.#pending() || this.#away !== null) {
      const batch = this.#take();
      try {
        await this.#store.write(batch.changes);
        retryMs = firstRetryMs;
        this.#back();
      } catch (error) {
        batch.putBack();
        this.#failed(error);
        if (this.#closing) return;
        await delay(retryMs, undefined, { signal: this.#wake.signal, ref: false }).catch(() => {});
        retryMs = Math.min(retryMs * 2, longestRetryMs);
      }
      this.#settle();
    }
  }

  /** Takes what the next write holds; `putBack` returns what nothing newer has replaced since. */
  #take(): { readonly changes: Changes; readonly putBack: () => void } {
    const units = [...this.#units.entries()].slice(0, mostAtOnce);
    const owners = [...this.#owners.entries()];
    const goneDeltas = [...this.#goneDeltas];
    // What a sweep says of the whole is written only after, or with, the last of its units.
    const whole = units.length === this.#units.size;
    const roots = whole ? this.#roots : null;
    const sweep = whole ? this.#sweep : null;
    for (const [id] of units) this.#units.delete(id);
    this.#owners.clear();
    this.#goneDeltas.clear();
    if (whole) {
      this.#roots = null;
      this.#sweep = null;
    }
    const changes: Changes = {
      units: units.flatMap(([, record]) => (record === null ? [] : [record])),
      goneUnits: units.flatMap(([id, record]) => (record === null ? [id] : [])),
      owners: owners.flatMap(([, record]) => (record === null ? [] : [record])),
      goneOwners: owners.flatMap(([key, record]) => (record === null ? [key] : [])),
      goneDeltas,
      ...(roots === null ? {} : { roots: roots.present, goneRoots: roots.gone }),
      ...(sweep === null ? {} : { sweep }),
    };
    const putBack = () => {
      for (const [id, record] of units) if (!this.#units.has(id)) this.#units.set(id, record);
      for (const [key, record] of owners) if (!this.#owners.has(key)) this.#owners.set(key, record);
      for (const seq of goneDeltas) this.#goneDeltas.add(seq);
      this.#roots ??= roots;
      this.#sweep ??= sweep;
    };
    return { changes, putBack };
  }

  #failed(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    if (this.#away?.reason !== reason) {
      this.#log.warn(
        { err: error },
        `the store takes nothing at the moment, it will be tried again: ${reason}`,
      );
    }
    this.#away = { since: this.#away?.since ?? Date.now(), reason };
    this.#settle();
  }

  #back(): void {
    if (this.#away === null) return;
    this.#log.info({ awaySince: new Date(this.#away.since).toISOString() }, 'the store takes writes again');
    this.#away = null;
  }

  #settle(): void {
    for (const resolve of this.#settled) resolve();
    this.#settled.clear();
  }
}
