/** Logs advice for the administrator of the shared store's server, when it comes up and when it is done. */

import type { Log } from '../log.ts';
import type { ServerAdvice, SharedStore } from '../store/index.ts';

interface AdvisedOptions {
  readonly store: Pick<SharedStore, 'advice'>;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Milliseconds between two checks; half a minute unless given. */
  readonly everyMs?: number;
}

export class AdviceWatch {
  readonly #options: AdvisedOptions;
  /** Advice that was logged and still holds, by its message. */
  #told: ReadonlyMap<string, ServerAdvice> = new Map();
  /** Time of the next check, on the monotonic clock. */
  #nextAt = 0;

  constructor(options: AdvisedOptions) {
    this.#options = options;
  }

  get advice(): readonly ServerAdvice[] {
    return [...this.#told.values()];
  }

  /** Makes the next check due at once, since another server may answer now. */
  anew(): void {
    this.#nextAt = 0;
  }

  /** Checks for advice if it is due. While the store is away, nothing changes. */
  async look(): Promise<void> {
    const { store, everyMs = 30_000 } = this.#options;
    if (performance.now() < this.#nextAt) return;
    this.#nextAt = performance.now() + everyMs;
    const advice = await store.advice().catch(() => null);
    if (advice !== null) this.#tell(new Map(advice.map(each => [each.message, each])));
  }

  #tell(advice: ReadonlyMap<string, ServerAdvice>): void {
    const { log } = this.#options;
    for (const [message, { code, mend }] of advice) {
      if (!this.#told.has(message)) log.warn({ code, mend }, `${message} To mend it: ${mend}`);
    }
    for (const [message, { code }] of this.#told) {
      if (!advice.has(message)) log.info({ code }, `no longer so: ${message}`);
    }
    this.#told = advice;
  }
}
