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

const lookEveryMs = 1000;
/** Milliseconds before a failed write is tried again. */
const retryMs = 10_000;

export class AllowanceEnds {
  readonly #options: AllowanceEndsOptions;
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> | null = null;
  /** On the monotonic clock. */
  #restUntil = 0;
  /** The last reason why a record could not be written: the same reason is logged only once. */
  #trouble: string | null = null;

  constructor(options: AllowanceEndsOptions) {
    this.#options = options;
  }

  /** Starts to end allowances at their time. Those that ended before the start are handled at once. */
  start(): void {
    this.#timer = setInterval(() => this.#look(), lookEveryMs).unref();
    this.#look();
  }

  /** Stops, and resolves after the round under way. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#round;
  }

  #look(): void {
    const { documents, clock, tell } = this.#options;
    if (this.#round !== null || performance.now() < this.#restUntil) return;
    const now = clock.wall();
    const ended: (readonly [ownerId: number, allowance: AllowanceDocument])[] = [];
    for (const entry of everyAllowance(documents.snapshot))
      if (dueAt(entry[1], now) <= now) ended.push(entry);
    if (ended.length === 0) return;
    for (const ownerId of new Set(ended.map(([id]) => id))) {
      const owner = documents.owners.byId(ownerId);
      if (owner !== undefined) tell(owner.key);
    }
    this.#round = this.#endAll(ended, now).finally(() => {
      this.#round = null;
    });
  }

  async #endAll(
    ended: readonly (readonly [ownerId: number, allowance: AllowanceDocument])[],
    now: number,
  ): Promise<void> {
    try {
      for (const [ownerId, allowance] of ended) await this.#end(ownerId, allowance, now);
      this.#trouble = null;
    } catch (error) {
      this.#restUntil = performance.now() + retryMs;
      const reason = messageOf(error);
      if (reason === this.#trouble) return;
      this.#trouble = reason;
      this.#options.log.warn(
        { reason },
        'an allowance has ended and counts no more, which is recorded when the store can be written',
      );
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
