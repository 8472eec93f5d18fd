/**
 * Asking I/O workers around the disks that hang.
 *
 * Where a disk does not answer, the I/O worker that asks it is left behind, and another one is asked the
 * same, which keeps away from there. So what lies on all other disks is found out, however many hang.
 */

import { SoftquotaError } from '../errors.ts';
import type { Hangs } from './hangs.ts';
import type { IoWorkers } from './io-workers.ts';
import type { WorkerAnswers, WorkerQuestion } from './messages.ts';
import type { AskOptions, WorkerClient } from './worker-client.ts';

interface AroundOptions {
  readonly ioWorkers: Pick<IoWorkers, 'take'>;
  readonly hangs: Hangs;
  readonly hungAfterMs: number;
}

/** Number of disks that may hang one after the other before it is given up. */
const mostHangs = 8;

const looksEach = 10;

export class Around {
  readonly #options: AroundOptions;
  #client: WorkerClient | null = null;
  #isClosed = false;

  constructor(options: AroundOptions) {
    this.#options = options;
  }

  /**
   * Asks as an I/O worker's `ask` does; what was found before a disk hung is found again. Rejects with
   * `internal`.
   */
  async ask<Ask extends WorkerQuestion['ask']>(
    question: Extract<WorkerQuestion, { readonly ask: Ask }>,
    found?: AskOptions['found'],
  ): Promise<WorkerAnswers[Ask]> {
    const { ioWorkers, hangs } = this.#options;
    for (let attempt = 0; attempt < mostHangs; attempt++) {
      // A caller that was stopped may ask once more before it notices: no thread is started for it.
      if (this.#isClosed) throw new SoftquotaError('internal', 'asking has ended');
      this.#client ??= ioWorkers.take();
      const client = this.#client;
      const avoided = hangs.avoided();
      const watch = this.#watch(client);
      try {
        const answer = client.ask(question, { avoided, ...(found === undefined ? {} : { found }) });
        const first = await Promise.race([answer.then(value => ({ value })), watch.hung]);
        if (first !== null) return first.value;
      } finally {
        watch.end();
      }
      this.#client = null;
    }
    throw new SoftquotaError('internal', `${mostHangs} disks do not answer`);
  }

  /** Ends the I/O worker; one that hangs in the system is left. */
  close(): void {
    this.#isClosed = true;
    void this.#client?.close(0);
    this.#client = null;
  }

  /** Looks from time to time whether the I/O worker hangs, and then leaves it behind. */
  #watch(client: WorkerClient): { readonly hung: Promise<null>; end(): void } {
    const { hangs, hungAfterMs } = this.#options;
    const { promise: hung, resolve } = Promise.withResolvers<null>();
    const timer = setInterval(() => {
      const at = client.at();
      if (at === null || at.path === '' || at.milliseconds < hungAfterMs) return;
      clearInterval(timer);
      hangs.leave(client);
      resolve(null);
    }, hungAfterMs / looksEach).unref();
    return { hung, end: () => clearInterval(timer) };
  }
}
