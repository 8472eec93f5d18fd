/** The last report of the git user's worker. */

import type { WorkerState } from '../gate/index.ts';
import type { ObservedWorker } from '../health/index.ts';

export class WorkerReports {
  #last: { readonly state: WorkerState; readonly at: number } | null = null;
  readonly #startedAt = performance.now();

  take(state: WorkerState): void {
    this.#last = { state, at: performance.now() };
  }

  /** `isWanted`: `[hooks] KEEP`. */
  observed(isWanted: boolean): ObservedWorker {
    const { state = null, at = this.#startedAt } = this.#last ?? {};
    return { isWanted, state, silentMs: performance.now() - at };
  }
}
