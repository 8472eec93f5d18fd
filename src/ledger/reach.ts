/**
 * The bytes of repositories that no ref reaches, as the git user's worker measures them.
 *
 * A figure holds for the repository at the time of its measurement. Each later event that may have changed it
 * (an allowed push, a report of a hook, a change of size) is a doubt. A figure that was measured after a
 * doubt settles it: doubts are numbered, and the worker returns the number that it got with its task. A
 * figure with a doubt that is not settled in time is dropped; all are dropped if the worker is silent for a
 * day.
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
  /** The number of the first doubt that is not settled, and its time on the monotonic clock. */
  readonly first: number;
  readonly firstAt: number;
  readonly last: number;
  readonly lastAt: number;
}

export class Reach {
  readonly #options: LedgerParts;
  /** By the path of the repository, the oldest first; the rest of one that was settled in part comes last. */
  readonly #doubts = new Map<string, Doubt>();
  readonly #looking: NodeJS.Timeout;
  #number = 0;
  /** Called with each repository whose forgiven bytes count again, since a doubt was not settled. */
  onLapse: (path: string) => void = () => {};

  constructor(options: LedgerParts) {
    this.#options = options;
    this.#looking = setInterval(() => this.lapse(), lookEveryMs).unref();
  }

  /** The number of the last doubt. A measurement that begins now settles all doubts up to it. */
  get number(): number {
    return this.#number;
  }

  /** The paths of repositories with an unsettled doubt. */
  get doubted(): Iterable<string> {
    return this.#doubts.keys();
  }

  /** Records an event that may have changed the repository at this path. */
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

  /** Records a measurement that began when `number` was the last doubt; `found` null: it failed. */
  measured(path: string, found: ReachRecord | null, number: number): void {
    this.#answer(path, number);
    const unit = this.#options.usage.unit(path);
    if (unit === undefined || unit.kind !== 'walked' || !isRepository(unit.leaf)) return;
    this.#put(unit, found);
  }

  /** Drops all figures, since there is no worker any more. Returns their number. */
  forget(): number {
    const known: UnitRecord[] = [];
    for (const unit of this.#options.usage.units) if (unit.reach !== undefined) known.push(unit);
    for (const unit of known) this.#put(unit, null);
    this.#doubts.clear();
    return known.length;
  }

  /** Drops the figures whose doubts were not settled in time. */
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
    // The rest of it is newer, so it comes last.
    this.#doubts.delete(path);
    // Later doubts do not undo that this one is settled, however often they come.
    if (number < last) this.#doubts.set(path, { first: last, firstAt: lastAt, last, lastAt });
  }

  #takeBack(path: string): void {
    this.#doubts.delete(path);
    const unit = this.#options.usage.unit(path);
    if (unit?.reach === undefined) return;
    const wasForgiven = unreachableIn(unit) > 0;
    this.#put(unit, null);
    if (wasForgiven) this.onLapse(path);
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
