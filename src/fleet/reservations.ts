/**
 * The part of this host's reservations that all hosts count.
 *
 * One that is over stays in the store until the store has been told of the usage with its bytes, so that no
 * other host misses them in between. What cannot be taken out ends there with its time.
 */

import { SoftquotaError } from '../errors.ts';
import type { Reservation, SharedRequest, SharedReservations } from '../ledger/index.ts';
import type { OthersReserved, SharedStore } from '../store/index.ts';
import { within } from '../within.ts';
import type { Outbox } from './outbox.ts';

export interface FleetReservationsOptions {
  readonly store: Pick<SharedStore, 'endReserved' | 'reserve'>;
  readonly host: string;
  readonly outbox: Pick<Outbox, 'isTold' | 'settled'>;
  /** Milliseconds before what failed is tried again. */
  readonly retryMs?: number;
}

/** A hook waits for the answer: when it is over, this host decides alone. */
const answerMs = 1000;
const late = Symbol('late');
/** The longest time of a reservation, by the monotonic clock. */
const forgottenMs = 3_600_000;

export class FleetReservations implements SharedReservations {
  readonly #options: FleetReservationsOptions;
  /** Those that are over, and when that was, by owner and id. */
  readonly #over = new Map<string, Map<string, number>>();
  #timer: NodeJS.Timeout | null = null;
  #telling: Promise<void> | null = null;
  #isClosed = false;

  constructor(options: FleetReservationsOptions) {
    this.#options = options;
  }

  async reserve(request: SharedRequest): Promise<OthersReserved | null> {
    const { store, host } = this.#options;
    for (const { id } of request.parts) this.#over.get(request.ownerKey)?.delete(id);
    const asked = store.reserve({ ...request, host });
    const answer = await within(asked, answerMs, late);
    if (answer !== late) return answer;
    // Whatever becomes of it, this host has decided, and takes it out when it is over.
    asked.catch(() => {});
    throw new SoftquotaError('store_away', `the shared store did not answer within ${answerMs} ms`);
  }

  ended({ ownerKey, id }: Reservation): void {
    const ids = this.#over.get(ownerKey) ?? new Map<string, number>();
    this.#over.set(ownerKey, ids.set(id, performance.now()));
    this.#wake(0);
  }

  /** Ends after a last try. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#telling;
    await this.#tell();
  }

  #wake(waitMs: number): void {
    if (this.#timer !== null || this.#telling !== null || this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#telling = this.#tell().finally(() => {
        this.#telling = null;
        if (this.#over.size > 0) this.#wake(this.#options.retryMs ?? 1000);
      });
    }, waitMs).unref();
  }

  async #tell(): Promise<void> {
    const { store, host, outbox } = this.#options;
    if (this.#over.size === 0) return;
    const owners = [...this.#over].map(([ownerKey, ids]) => [ownerKey, [...ids.keys()]] as const);
    await outbox.settled();
    for (const [ownerKey, ids] of owners) {
      const over = this.#over.get(ownerKey);
      // One that was taken again meanwhile is not over any more.
      const left = ids.filter(id => over?.has(id));
      if (left.length > 0 && outbox.isTold(ownerKey)) {
        const isOut = await store.endReserved(host, ownerKey, left).then(
          () => true,
          () => false,
        );
        if (isOut) for (const id of left) over?.delete(id);
      }
      this.#forgetOld(ownerKey);
    }
  }

  #forgetOld(ownerKey: string): void {
    const over = this.#over.get(ownerKey);
    if (over === undefined) return;
    const since = performance.now() - forgottenMs;
    for (const [id, at] of over) if (at < since) over.delete(id);
    if (over.size === 0) this.#over.delete(ownerKey);
  }
}
