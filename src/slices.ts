/** Long work in slices, so that checks, and all else, get their turn in between. */

import { setImmediate as nextTurn } from 'node:timers/promises';

/** Work that may rest at each `yield`, and returns something in the end. */
export type Work<T> = Generator<void, T, void>;

/** Work goes on for so long at a time. */
const sliceMs = 2;
/** The clock is looked at after so many. */
const itemsAtOnce = 64;

/** Does work without a rest. */
export function runToEnd<T>(work: Work<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}

/** Does work a slice at a time. */
export async function workInSlices<T>(work: Work<T>): Promise<T> {
  const pace = new Pace();
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
    if (pace.isSliceOver) await pace.rest();
  }
}

/** One after the other; what comes to `items` meanwhile is part of it. */
export async function inSlices<Item>(items: Iterable<Item>, act: (item: Item) => void): Promise<void> {
  const pace = new Pace();
  for (const item of items) {
    act(item);
    if (pace.isSliceOver) await pace.rest();
  }
}

/** Counts what is done, and looks at the clock now and then. */
class Pace {
  #done = 0;
  #sliceEnd = performance.now() + sliceMs;

  /** To be asked once after each thing that is done. */
  get isSliceOver(): boolean {
    this.#done += 1;
    return this.#done % itemsAtOnce === 0 && performance.now() >= this.#sliceEnd;
  }

  async rest(): Promise<void> {
    await nextTurn();
    this.#sliceEnd = performance.now() + sliceMs;
  }
}
