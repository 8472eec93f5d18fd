/** Runs asynchronous tasks one after the other, in the order in which they were added. */

interface SerialQueueBound {
  /** Most tasks that may wait or run at a time. */
  readonly most: number;
  /** Makes the error with which further tasks are rejected. */
  full(): Error;
}

export class SerialQueue {
  readonly #bound: SerialQueueBound | null;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  /** Null: no bound, for callers that add few tasks at a time. */
  constructor(bound: SerialQueueBound | null = null) {
    this.#bound = bound;
  }

  /** Rejects as `act` does. Later tasks run nevertheless. */
  run<T>(act: () => Promise<T>): Promise<T> {
    if (this.#bound !== null && this.#waiting >= this.#bound.most) return Promise.reject(this.#bound.full());
    this.#waiting++;
    const done = this.#last.then(act).finally(() => {
      this.#waiting--;
    });
    this.#last = done.catch(() => undefined);
    return done;
  }

  /** Resolves when all tasks that were added until now have ended. */
  async idle(): Promise<void> {
    await this.#last;
  }
}
