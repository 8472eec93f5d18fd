/**
 * Decides when the garbage of one repository is collected: once all of it is older than the expiry, if it is
 * worth the work or its owner has little room left. After a collection that failed or freed nothing, the next
 * ones come less and less often.
 */

import type { Reachability } from './space/measure.ts';

const dayMs = 86_400_000;
/** Time after the expiry, so that all measured garbage is surely older than the expiry. */
const slackMs = 60_000;
const leastGarbage = 256 * 1024;
const leastShare = 0.01;
const leastShareOfFirst = 0.001;
/** git's own thresholds, gc.auto and gc.autoPackLimit. */
const mostLoose = 6700;
const mostPacks = 50;

export class CollectionPlan {
  /** The time of the next collection, on the monotonic clock; null: there is no garbage. */
  dueAt: number | null = null;
  /** The owner has little room left: the collection comes before others, and for less garbage. */
  isFirst = false;
  /** Collections in a row that failed or freed nothing. */
  vain = 0;
  readonly #expireMs: number;
  /** Time of the last measurement that found new unreachable data, on the monotonic clock. */
  #grownAt = Number.NEGATIVE_INFINITY;
  #plannedAt = Number.NEGATIVE_INFINITY;

  constructor(expireMs: number) {
    this.#expireMs = expireMs;
  }

  /**
   * Delays the collection since there is new unreachable data: git goes by the age of a pack, not by the time
   * at which its objects became unreachable. The delay is a day at most, however often data is deleted.
   */
  grew(at: number): void {
    this.#grownAt = at;
    if (this.dueAt === null) return;
    this.dueAt = Math.max(this.dueAt, Math.min(at + this.#pauseMs, this.#plannedAt + dayMs));
  }

  take({ stored, unreachableBytes }: Reachability): void {
    const isWorth =
      this.isWorth(stored.bytes, unreachableBytes) || stored.loose > mostLoose || stored.packs > mostPacks;
    if (isWorth) this.makeDue();
    else this.dueAt = null;
  }

  /** Tells whether the garbage is worth a collection, which rewrites the whole repository. */
  isWorth(storedBytes: number, unreachableBytes: number, isFirst = this.isFirst): boolean {
    const least = isFirst
      ? Math.max(1, storedBytes * leastShareOfFirst)
      : Math.max(leastGarbage, storedBytes * leastShare);
    return unreachableBytes >= least;
  }

  makeDue(): void {
    if (this.dueAt !== null) return;
    const now = performance.now();
    this.#plannedAt = now;
    this.dueAt = this.vain > 0 ? now + this.#pauseMs : Math.max(now, this.#grownAt + this.#pauseMs);
  }

  get isDue(): boolean {
    return this.dueAt !== null && performance.now() >= this.dueAt;
  }

  failed(): void {
    this.#plannedAt = performance.now();
    this.dueAt = this.#plannedAt + this.#pauseMs;
  }

  /**
   * The time by which all data that is unreachable now is deleted, in milliseconds since 1970; null if the
   * repository does not come before others.
   */
  get doneBy(): number | null {
    if (!this.isFirst || this.dueAt === null) return null;
    const leftMs = this.dueAt - performance.now();
    return Math.ceil(Date.now() + Math.max(0, leftMs));
  }

  get #pauseMs(): number {
    return Math.min((this.#expireMs + slackMs) * 2 ** Math.min(this.vain, 20), dayMs);
  }
}
