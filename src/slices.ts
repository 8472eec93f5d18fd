/** Long work in slices, so that checks, and all else, get their turn in between. */

import { setImmediate as nextTurn } from 'node:timers/promises';

/** Work goes on for so long at a time. */
const sliceMs = 2;
/** The clock is looked at after so many. */
const itemsAtOnce = 64;

/** One after the other; what comes to `items` meanwhile is part of it. */
export async function inSlices<Item>(items: Iterable<Item>, act: (item: Item) => void): Promise<void> {
  let sliceEnd = performance.now() + sliceMs;
  let done = 0;
  for (const item of items) {
    act(item);
    if (++done % itemsAtOnce !== 0 || performance.now() < sliceEnd) continue;
    await nextTurn();
    sliceEnd = performance.now() + sliceMs;
  }
}
