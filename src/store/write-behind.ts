/**
 * Writes changes in memory to a store, in the background; a change of the policy, and a report that is
 * acknowledged, are written first.
 *
 * While the store is away, the write is tried again, ever more rarely, and `away` says since when and why. A
 * record that the store can never take is a bug: it is logged and left out, so that all others are written.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { messageOf, SoftquotaError } from '../errors.ts';
import type { Log } from '../log.ts';
import { type Changes, recordKinds, type Store } from './store.ts';

/** State of a store that does not answer, or refuses to write. */
export interface Away {
  readonly since: number;
  readonly reason: string;
}

interface AwayStateOptions {
  readonly log: Pick<Log, 'info' | 'warn'>;
  now(): number;
  /** Text in the log when the store is away; the reason follows. */
  readonly awayWords: string;
  readonly backWords: string;
}

/** Remembers since when and why a store is away, and logs when that begins, ends, or has another reason. */
export class AwayState {
  readonly #options: AwayStateOptions;
  /** Null while the store answers. */
  current: Away | null = null;

  constructor(options: AwayStateOptions) {
    this.#options = options;
  }

  failed(error: unknown): void {
    const { log, now, awayWords } = this.#options;
    const reason = messageOf(error);
    if (this.current?.reason !== reason) log.warn({ err: error }, `${awayWords}: ${reason}`);
    this.current = { since: this.current?.since ?? now(), reason };
  }

  /** Records an answer of the store. Returns true if it was away. */
  succeeded(): boolean {
    if (this.current === null) return false;
    const awaySince = new Date(this.current.since).toISOString();
    this.#options.log.info({ awaySince }, this.#options.backWords);
    this.current = null;
    return true;
  }
}

/** Limit of events that wait, since events are not held in memory otherwise. */
export const mostEvents = 50_000;

interface WriteBehindOptions {
  readonly store: Pick<Store, 'write'>;
  readonly log: Log;
  now(): number;
  /** Returns a record that is stored already: writing it again shows whether the store takes anything. */
  probe(): Changes;
}

/** Limit of records in one write, so that none of them delays the others for long. */
const mostAtOnce = 5000;
const firstRetryMs = 250;
const longestRetryMs = 15_000;

export class WriteBehind {
  readonly #options: WriteBehindOptions;
  readonly #pending = new PendingWrites();
  readonly #away: AwayState;
  /** The next write, or the one under way; null: nothing waits, and the store answers. */
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

  /** Null while the store takes writes. */
  get away(): Away | null {
    return this.#away.current;
  }

  get waiting(): number {
    return this.#pending.size;
  }

  /**
   * Writes these changes soon; they replace older waiting changes of the same records. Documents, their
   * owners and their position are written together. Beyond `mostEvents` waiting ones, further events are
   * dropped, and the log says so.
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

  /**
   * Writes at once, before all waiting changes, and replaces waiting ones of the same units. Rejects as
   * `Store.write`.
   */
  async writeFirst(changes: Changes): Promise<void> {
    try {
      await this.#options.store.write(changes);
    } catch (error) {
      if (!isRefused(error)) {
        this.#away.failed(error);
        // The next retry finds out that the store is back, even if there is no further write.
        this.#next ??= this.#writeNext();
      }
      throw error;
    }
    // Waiting records of these units are older.
    this.#pending.forgetUnits(changes.goneUnits ?? []);
    this.#pending.forgetUnits((changes.units ?? []).map(({ id }) => id));
    if (this.#away.current !== null) this.#wake.abort();
  }

  /** Resolves with true once all waiting changes are in the store, with false if the store is found away. */
  async kept(): Promise<boolean> {
    while (this.#next !== null && this.#away.current === null) await this.#next;
    return this.#away.current === null;
  }

  /** Tries once more to write the waiting changes. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#wake.abort();
    while (this.#next !== null) await this.#next;
  }

  /** Writes a batch. Never rejects. Changes that are noted in the same turn go into the same write. */
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

  /**
   * Writes a batch without the records that the store refuses. If it rejects, the unwritten records wait
   * again.
   */
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

/** Tells whether the store answers, but could never take this record. */
function isRefused(error: unknown): boolean {
  return error instanceof SoftquotaError && error.code === 'invalid';
}

interface Waiting {
  readonly name: string;
  readonly key: string;
  readonly changes: Changes;
}

/**
 * The changes that wait for the store: of each record the newest state. So there are never more than records
 * in memory, records deleted from it meanwhile, and `mostEvents`.
 */
class PendingWrites {
  readonly #waiting = new Map<string, Map<string, Changes>>(recordKinds.map(({ name }) => [name, new Map()]));

  get size(): number {
    return [...this.#waiting.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** Replaces changes of the same records. Returns false if there was no room for some of the events. */
  add(changes: Changes): boolean {
    let hasRoom = true;
    for (const { name, fields, by } of recordKinds) {
      const waiting = this.#of(name);
      for (const field of fields) {
        const given = changes[field];
        if (given === undefined) continue;
        for (const one of [given].flat()) {
          const key = keyOf(one, by);
          const fits = name !== 'events' || waiting.size < mostEvents || waiting.has(key);
          hasRoom &&= fits;
          const change = { [field]: by.length === 0 ? one : [one] };
          if (fits) waiting.set(key, joined(waiting.get(key), change));
        }
      }
    }
    return hasRoom;
  }

  forgetUnits(ids: Iterable<string>): void {
    for (const id of ids) this.#of('units').delete(id);
  }

  /** Takes out the first `most` changes, and more if they belong together. */
  take(most: number): readonly Waiting[] {
    const taken: Waiting[] = [];
    const count = Math.max(
      most,
      policySize(name => this.#of(name).size),
    );
    for (const [name, waiting] of this.#waiting) {
      for (const [key, changes] of waiting) {
        if (taken.length >= count) return taken;
        taken.push({ name, key, changes });
        waiting.delete(key);
      }
    }
    return taken;
  }

  /** Puts changes back that could not be written, except where newer ones have come since. */
  putBack(older: readonly Waiting[]): void {
    for (const { name, key, changes } of older) {
      const newer = this.#of(name).get(key);
      this.#of(name).set(key, newer === undefined ? changes : joined(changes, newer));
    }
  }

  #of(name: string): Map<string, Changes> {
    return this.#waiting.get(name) ?? new Map();
  }
}

function changesOf(waiting: readonly Waiting[]): Changes {
  const all: Record<string, unknown> = {};
  for (const { changes } of waiting) {
    for (const [field, value] of Object.entries(changes)) {
      const before = all[field];
      if (Array.isArray(before)) before.push(...value);
      else all[field] = Array.isArray(value) ? [...value] : value;
    }
  }
  return all;
}

/** Splits changes in two parts; the first has all that belong together, the second may be empty. */
function halvesOf(waiting: readonly Waiting[]): readonly [readonly Waiting[], readonly Waiting[]] {
  const policy = policySize(name => waiting.filter(one => one.name === name).length);
  const most = Math.max(Math.ceil(waiting.length / 2), policy);
  return [waiting.slice(0, most), waiting.slice(most)];
}

/** Number of changes at the beginning that have to go into one write: a changed policy with its owners. */
function policySize(sizeOf: (name: string) => number): number {
  const changed = sizeOf('documents') + sizeOf('replicated');
  return changed === 0 ? 0 : changed + sizeOf('owners');
}

/** Merges two changes of the same record: the later one, with what remains of the earlier one. */
function joined(before: Changes | undefined, after: Changes): Changes {
  if (before?.goneEventsBefore !== undefined && after.goneEventsBefore !== undefined) {
    return { goneEventsBefore: Math.max(before.goneEventsBefore, after.goneEventsBefore) };
  }
  const [versions, lineage] = [before?.replicated?.lineage?.versions, after.replicated?.lineage];
  if (after.replicated === undefined || versions === undefined || lineage === undefined) return after;
  const { version: to } = after.replicated;
  const stays = versions.filter(({ version }) => version >= lineage.since && version < to);
  const joinedLineage = { since: lineage.since, versions: [...stays, ...lineage.versions] };
  return { replicated: { ...after.replicated, lineage: joinedLineage } };
}

/** Identifies a record, or a deleted one, among its kind. Has to be fast, for a hundred thousand may wait. */
function keyOf(one: unknown, [first, second]: readonly string[]): string {
  if (first === undefined) return '';
  if (typeof one !== 'object' || one === null) return String(one);
  const key = String(Reflect.get(one, first));
  return second === undefined ? key : `${key.length}:${key}${Reflect.get(one, second)}`;
}
