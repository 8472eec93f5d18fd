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

/** Milliseconds between two looks for allowances that have ended, and before a failed write is tried again. */
const lookEveryMs = 5000;

export class AllowanceEnds {
  readonly #options: AllowanceEndsOptions;
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> | null = null;
  /** The last reason why a record could not be written: the same reason is logged only once. */
  #trouble: string | null = null;

  constructor(options: AllowanceEndsOptions) {
    this.#options = options;
  }

  /** Starts to end allowances at their time. Those that ended before the start are handled at once. */
  start(): void {
    this.#timer = setInterval(() => this.reconsider(), lookEveryMs).unref();
    this.reconsider();
  }

  /** Ends the allowances that are due, unless a round is under way. */
  reconsider(): void {
    const { documents, clock } = this.#options;
    const now = clock.wall();
    const due = [...everyAllowance(documents.snapshot)].filter(([, each]) => dueAt(each, now) <= now);
    if (due.length === 0) return;
    this.#round ??= this.#endAll(due, now).finally(() => {
      this.#round = null;
    });
  }

  /** Stops, and resolves after the round under way. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#round;
  }

  async #endAll(due: readonly (readonly [number, AllowanceDocument])[], now: number): Promise<void> {
    const { documents, log, tell } = this.#options;
    for (const ownerId of new Set(due.map(([id]) => id))) {
      const owner = documents.owners.byId(ownerId);
      if (owner !== undefined) tell(owner.key);
    }
    try {
      for (const [ownerId, allowance] of due) await this.#end(ownerId, allowance, now);
      this.#trouble = null;
    } catch (error) {
      const reason = messageOf(error);
      if (reason !== this.#trouble) {
        const message =
          'an allowance has ended and counts no more, which is recorded when the store can be written';
        log.warn({ reason }, message);
      }
      this.#trouble = reason;
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
