/**
 * Ends allowances at their time: notifies watchers that decisions may have changed, records an event, and
 * removes the record a day later.
 *
 * No decision depends on this, since decisions ignore an allowance from its end on. Hosts that share a quota
 * all do the same; the first one writes, and the others find nothing left to do.
 */

import type { Documents } from '../documents/index.ts';
import { messageOf } from '../errors.ts';
import {
  type AllowanceDocument,
  allowanceIn,
  auditAllowance,
  dueAt,
  everyAllowance,
  stepToEnd,
} from '../policy/index.ts';
import type { LedgerParts } from './options.ts';

interface AllowanceEndsOptions extends LedgerParts {
  readonly documents: Documents;
}

/** Wakes up at least this often, since somebody may set the clock. */
const longestWaitMs = 60_000;
/** Milliseconds before a failed write is tried again. */
const retryMs = 10_000;

export class AllowanceEnds {
  readonly #options: AllowanceEndsOptions;
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> | null = null;
  #isOpen = false;
  /** The last reason why a record could not be written: the same reason is logged only once. */
  #trouble: string | null = null;

  constructor(options: AllowanceEndsOptions) {
    this.#options = options;
  }

  /** Starts to end allowances at their time. Those that ended before the start are handled at once. */
  start(): void {
    this.#isOpen = true;
    this.#wait();
  }

  reconsider(): void {
    if (this.#round === null) this.#wait();
  }

  /** Stops, and resolves after the round under way. */
  async close(): Promise<void> {
    this.#isOpen = false;
    clearTimeout(this.#timer);
    await this.#round;
  }

  /** Sets the timer for the next end, but waits at least `leastMs`. */
  #wait(leastMs = 0): void {
    clearTimeout(this.#timer);
    const next = this.#nextEnd();
    if (!this.#isOpen || next === null) return;
    const waitMs = Math.min(Math.max(next - this.#options.clock.wall(), leastMs), longestWaitMs);
    this.#timer = setTimeout(() => {
      this.#round = this.#endAll().then(failed => {
        this.#round = null;
        this.#wait(failed ? retryMs : 0);
      });
    }, waitMs).unref();
  }

  #nextEnd(): number | null {
    let next: number | null = null;
    const now = this.#options.clock.wall();
    for (const [, allowance] of everyAllowance(this.#options.documents.snapshot))
      next = Math.min(next ?? Number.POSITIVE_INFINITY, dueAt(allowance, now));
    return next;
  }

  /** Resolves with true if something could not be written. */
  async #endAll(): Promise<boolean> {
    const { documents, log, clock, tell } = this.#options;
    const time = clock.wall();
    const all = [...everyAllowance(documents.snapshot)];
    const ended = all.filter(([, allowance]) => dueAt(allowance, time) <= time);
    for (const ownerId of new Set(ended.map(([id]) => id))) {
      const owner = documents.owners.byId(ownerId);
      if (owner !== undefined) tell(owner.key);
    }
    try {
      for (const [ownerId, allowance] of ended) await this.#end(ownerId, allowance, time);
      this.#trouble = null;
      return false;
    } catch (error) {
      const reason = messageOf(error);
      if (reason === this.#trouble) return true;
      this.#trouble = reason;
      log.warn(
        { reason },
        'an allowance has ended and counts no more, which is recorded when the store can be written',
      );
      return true;
    }
  }

  async #end(ownerId: number, { id }: AllowanceDocument, now: number): Promise<void> {
    await this.#options.documents.transact(transaction => {
      const allowance = allowanceIn(transaction.changes, ownerId, id);
      if (allowance === undefined || dueAt(allowance, now) > now) return;
      const isEnd = stepToEnd(transaction.changes, ownerId, allowance, now);
      const owner = transaction.ownerById(ownerId);
      if (isEnd && owner !== undefined) transaction.auditAs(auditAllowance(owner, 'ended', allowance));
    });
  }
}
