/** Runs what is asked for one after the other, in the order in which it was asked for. */

interface SerialQueueBound {
  /** The most that waits or runs at a time. */
  readonly most: number;
  /** Each further one is rejected with it. */
  full(): Error;
}

export class SerialQueue {
  readonly #bound: SerialQueueBound | null;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  /** Null: the callers ask for little at a time. */
  constructor(bound: SerialQueueBound | null = null) {
    this.#bound = bound;
  }

  /** Rejects as `act` does; what follows runs nevertheless. */
  run<T>(act: () => Promise<T>): Promise<T> {
    if (this.#bound !== null && this.#waiting >= this.#bound.most) return Promise.reject(this.#bound.full());
    this.#waiting++;
    const done = this.#last.then(act).finally(() => {
      this.#waiting--;
    });
    this.#last = done.catch(() => undefined);
    return done;
  }

  /** Resolves when all that was asked for until now has ended. */
  async idle(): Promise<void> {
    await this.#last;
  }
}
