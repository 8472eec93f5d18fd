/**
 * The bytes of repositories that no ref reaches, by the word of the git user's worker.
 *
 * A word counts for what the repository was when it was measured. Whatever may have changed that since (a
 * push that was let through, a report of a hook, another size) is a doubt. A word that was measured after a
 * doubt answers it: this is told by numbers, which the worker gets with its tasks and gives back. A doubt
 * that nobody answers in time takes the word back; so does a worker that is silent for a day.
 */

import { isDeepStrictEqual } from 'node:util';
import { isRepository } from '../quota/index.ts';
import type { ReachRecord, UnitRecord } from '../store/index.ts';
import { unreachableIn } from './account.ts';
import type { LedgerParts } from './options.ts';

/** Milliseconds that the worker's figures count after an event that may have changed them. */
export const answerMs = 600_000;
const lookEveryMs = 10_000;
const mostDoubts = 100_000;

interface Doubt {
  /** The first that has no answer yet, and when it came, on the monotonic clock. */
  readonly first: number;
  readonly firstAt: number;
  readonly last: number;
  readonly lastAt: number;
}

export class Reach {
  readonly #options: LedgerParts;
  /** By path, the oldest first. */
  readonly #doubts = new Map<string, Doubt>();
  readonly #looking: NodeJS.Timeout;
  #number = 0;
  #onLapse: (path: string) => void = () => {};

  constructor(options: LedgerParts) {
    this.#options = options;
    this.#looking = setInterval(() => this.lapse(), lookEveryMs).unref();
  }

  /** Calls back with each repository whose word is taken back for want of an answer. */
  set onLapse(lapsed: (path: string) => void) {
    this.#onLapse = lapsed;
  }

  /** The number of the last doubt: what is measured from now on answers all until then. */
  get number(): number {
    return this.#number;
  }

  /** The repositories with a doubt that has no answer. */
  get doubted(): Iterable<string> {
    return this.#doubts.keys();
  }

  /** Something may have changed the repository at this path. */
  doubt(path: string): void {
    const now = this.#options.clock.monotonic();
    const number = ++this.#number;
    const before = this.#doubts.get(path);
    const first = before ?? { first: number, firstAt: now };
    this.#doubts.set(path, { ...first, last: number, lastAt: now });
    if (this.#doubts.size <= mostDoubts) return;
    const [oldest] = this.#doubts.keys();
    if (oldest !== undefined) this.#takeBack(oldest);
  }

  /** Takes what the worker measured when `number` was the last doubt; null: it could not. */
  measured(path: string, found: ReachRecord | null, number: number): void {
    this.#answer(path, number);
    const unit = this.#options.usage.unit(path);
    if (unit === undefined || unit.kind !== 'walked' || !isRepository(unit.leaf)) return;
    this.#put(unit, found);
  }

  /** Takes back every word: nobody can be asked any more. Gives how many there were. */
  forget(): number {
    const known: UnitRecord[] = [];
    for (const unit of this.#options.usage.units) if (unit.reach !== undefined) known.push(unit);
    for (const unit of known) this.#put(unit, null);
    this.#doubts.clear();
    return known.length;
  }

  /** Takes back the words whose doubts have had no answer in time. */
  lapse(): void {
    const since = this.#options.clock.monotonic() - answerMs;
    for (const [path, { firstAt }] of [...this.#doubts]) if (firstAt <= since) this.#takeBack(path);
  }

  close(): void {
    clearInterval(this.#looking);
  }

  #answer(path: string, number: number): void {
    const doubt = this.#doubts.get(path);
    if (doubt === undefined || number < doubt.first) return;
    const { last, lastAt } = doubt;
    if (number >= last) this.#doubts.delete(path);
    // Repeated questions keep no answer from counting.
    else this.#doubts.set(path, { first: last, firstAt: lastAt, last, lastAt });
  }

  #takeBack(path: string): void {
    this.#doubts.delete(path);
    const unit = this.#options.usage.unit(path);
    if (unit?.reach === undefined) return;
    const wasForgiven = unreachableIn(unit) > 0;
    this.#put(unit, null);
    if (wasForgiven) this.#onLapse(path);
  }

  #put(unit: UnitRecord, found: ReachRecord | null): void {
    const { reach: before, ...rest } = unit;
    const reach = found !== null && found.unreachableBytes > 0 ? found : undefined;
    if (isDeepStrictEqual(before, reach)) return;
    const next = reach === undefined ? rest : { ...rest, reach };
    this.#options.usage.put(next);
    this.#options.writeBehind.note({ units: [next] });
  }
}
