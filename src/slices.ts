/** Long work in slices, so that checks, and all else, get their turn in between. */

import { setImmediate as nextTurn } from 'node:timers/promises';

/** Work that may rest at each `yield`, and returns something in the end. */
export type Work<T> = Generator<void, T, void>;

/** Work goes on for so long at a time. */
const sliceMs = 2;
/** The clock is looked at after so many. */
const itemsAtOnce = 64;

/** Does work without a rest. */
export function atOnce<T>(work: Work<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}

/** Does work a slice at a time. */
export async function workInSlices<T>(work: Work<T>): Promise<T> {
  let sliceEnd = performance.now() + sliceMs;
  for (let done = 1; ; done += 1) {
    const step = work.next();
    if (step.done) return step.value;
    if (done % itemsAtOnce !== 0 || performance.now() < sliceEnd) continue;
    await nextTurn();
    sliceEnd = performance.now() + sliceMs;
  }
}

/** One after the other; what comes to `items` meanwhile is part of it. */
export async function inSlices<Item>(items: Iterable<Item>, act: (item: Item) => void): Promise<void> {
  await workInSlices(each(items, act));
}

function* each<Item>(items: Iterable<Item>, act: (item: Item) => void): Work<void> {
  for (const item of items) {
    act(item);
    yield;
  }
}
