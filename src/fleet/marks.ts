/**
 * Notices that the shared store has lost some of what hosts said, while it has the policy still.
 *
 * A host puts its mark before it tells anything; where that is gone, so may be what it told. Then it tells
 * everything again, as every other host does whose mark is gone. For one that does not run nobody else can
 * tell, so what is known of it here is put back. Until all have told, what a host said is not taken back
 * because the store does not have it.
 */

import { randomUUID } from 'node:crypto';
import type { Ledger } from '../ledger/index.ts';
import type { Log } from '../log.ts';
import type { SharedStore } from '../store/index.ts';
import type { Tell } from './messages.ts';

export interface MarksOptions {
  readonly shares: Pick<Ledger['shares'], 'sharesOfOthers'>;
  readonly store: Pick<SharedStore, 'hosts' | 'isMarked' | 'mark' | 'restoreShares'>;
  readonly host: string;
  readonly log: Pick<Log, 'warn'>;
  readonly tell: Tell;
  /** Milliseconds between two looks. */
  readonly everyMs?: number;
  /** Milliseconds that hosts have to tell everything again. */
  readonly tellingMs?: number;
}

export class Marks {
  readonly #options: MarksOptions;
  /** The mark that this process put; null: none yet. */
  #mark: string | null = null;
  /** Something was lost, which is not mended yet. */
  #isLost = false;
  /** On the monotonic clock; null: nothing was lost recently. */
  #heldUntil: number | null = null;
  /** On the monotonic clock. */
  #nextAt = 0;

  constructor(options: MarksOptions) {
    this.#options = options;
  }

  /**
   * Returns true while hosts may still have to report usage that the store lost: a read that ended before
   * the call may lack it. Rejects with `store_away`.
   */
  async isLacking(): Promise<boolean> {
    return this.#heldUntil !== null || (await this.#isAnyLost());
  }

  /**
   * Puts the mark where there is none, and mends what was lost. Where the store is away, a later look does.
   */
  async look(): Promise<void> {
    const { everyMs = 3000 } = this.#options;
    if (performance.now() < this.#nextAt && !this.#isLost) return;
    this.#nextAt = performance.now() + everyMs;
    try {
      await this.#look();
    } catch {
      // The looks at the policy tell that the store is away.
    }
  }

  async #look(): Promise<void> {
    const { log, tell, tellingMs = 60_000 } = this.#options;
    if (this.#mark === null) return this.#put();
    if (await this.#isAnyLost()) {
      // First of all, so that what is lost from now on is noticed, too.
      await this.#put();
      await this.#tellOfTheSilent();
      this.#heldUntil = performance.now() + tellingMs;
      this.#isLost = false;
      log.warn({}, 'the shared store has lost usage of this host; it is written again');
      tell({ is: 'usage lost' });
    } else if (this.#heldUntil !== null && performance.now() > this.#heldUntil) {
      this.#heldUntil = null;
      tell({ is: 'usage told again' });
    }
  }

  async #isAnyLost(): Promise<boolean> {
    const { store, host } = this.#options;
    const mark = this.#mark;
    if (mark === null || this.#isLost) return this.#isLost;
    const isThere = await store.isMarked(host, mark);
    // A mark that was written while this one was looked for is not lost.
    if (!isThere && this.#mark === mark) this.#isLost = true;
    return this.#isLost;
  }

  async #put(): Promise<void> {
    const { store, host } = this.#options;
    const mark = randomUUID();
    await store.mark(host, mark);
    this.#mark = mark;
  }

  async #tellOfTheSilent(): Promise<void> {
    const { shares: known, store } = this.#options;
    const hosts = await store.hosts();
    const silent = new Set(hosts.filter(({ isAlive }) => !isAlive).map(({ host }) => host));
    const shares = silent.size === 0 ? [] : known.sharesOfOthers.filter(({ host }) => silent.has(host));
    if (shares.length > 0) await store.restoreShares(shares);
  }
}
