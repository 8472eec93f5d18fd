/** Things done one after the other, in the order in which they were asked for. */

export class SerialQueue {
  readonly #most: number;
  readonly #full: () => Error;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  /** Takes at most `most` that wait at a time; each further one is rejected with what `full` gives. */
  constructor(most: number, full: () => Error) {
    this.#most = most;
    this.#full = full;
  }

  run<T>(act: () => Promise<T>): Promise<T> {
    if (this.#waiting >= this.#most) return Promise.reject(this.#full());
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
