/**
 * A bound on how long somebody waits for others, all in all: time that this process itself spends on what was
 * asked for does not count.
 */

import { SoftquotaError } from '../errors.ts';

/** Milliseconds that a transaction waits for the shared store, so that it is answered within two seconds. */
export const deadlineMs = 1700;

export const notBegun = 'the shared store did not answer in time: nothing was changed. Try again';

export const unknown =
  'the shared store did not answer in time: it is not known whether the change was made. It may come into force within ' +
  'moments; it is safe to send it again';

export const notHereYet =
  'the change is stored, but not yet in force on this host; it comes into force here within moments';

export function changedAllTheTime(): SoftquotaError {
  return new SoftquotaError('store_away', 'others change the policy all the time: try again');
}

export class Deadline {
  #leftMs: number;

  constructor(ms: number) {
    this.#leftMs = ms;
  }

  /**
   * Rejects with `store_away` where the answer is not there in time; whatever becomes of it then, nobody
   * hears of it.
   */
  async wait<T>(answer: Promise<T>, refusal: string): Promise<T> {
    const begun = performance.now();
    const { promise: over, reject } = Promise.withResolvers<never>();
    // After a hold-up of this process the answer is there already, and is read before immediates run.
    const giveUp = () => reject(new SoftquotaError('store_away', refusal));
    const timer = setTimeout(() => setImmediate(giveUp), Math.max(this.#leftMs, 0));
    try {
      return await Promise.race([answer, over]);
    } finally {
      clearTimeout(timer);
      this.#leftMs -= performance.now() - begun;
    }
  }
}
