/** One queue for each line of versions: transactions of a line are made one after the other. */

import type { Line } from '../store/index.ts';

export class LineQueues {
  /** The last of what is under way on each line; a line on which nothing is under way has none. */
  readonly #last = new Map<Line, Promise<unknown>>();

  /** Nothing is under way on any line. */
  get isIdle(): boolean {
    return this.#last.size === 0;
  }

  /**
   * Runs a turn on some lines; `before` ends when all that was asked for before on these lines has ended. A
   * turn that gives up waiting does not let those who come later overtake those who came before.
   */
  async run<T>(on: ReadonlySet<Line>, turn: (before: Promise<unknown>) => Promise<T>): Promise<T> {
    const before = Promise.all([...on].map(line => this.#last.get(line)));
    const done = turn(before);
    // The results of turns are not kept: each would hold on to the one before.
    const last = Promise.allSettled([before, done]).then(() => {});
    for (const line of on) this.#last.set(line, last);
    void last.then(() => {
      for (const line of on) if (this.#last.get(line) === last) this.#last.delete(line);
    });
    return done;
  }
}
