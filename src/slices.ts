/**
 * Does long work in slices, so that checks and other requests are answered in between.
 *
 * All work together has one slice in a turn of the event loop. A request that arrives waits for one slice,
 * however many tasks are under way.
 */

/** Work that can pause at each `yield`, and returns its result at the end. */
export type Work<T> = Generator<void, T, void>;

const sliceMs = 1;
/** `inSlices` checks the clock after each group of so many items; `workInSlices` does after each step. */
const itemsAtOnce = 8;

/** Works until that moment of the monotonic clock; returns true when the work is done. */
type Task = (until: number) => boolean;

/** `filterMapInSlices` yields a null after so many entries in which it finds nothing. */
const restEvery = 64;

/** Tasks that continue in the next turn, one after the other. */
const waiting: Task[] = [];
let isSliceOpen = false;
let sliceEnd = 0;

export function runToEnd<T>(work: Work<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}

export function workInSlices<T>(work: Work<T>): Promise<T> {
  return stepsInSlices(1, () => work.next());
}

/** Calls `act` for each item. Items that are added to a Map or Set meanwhile are included. */
export async function inSlices<Item>(items: Iterable<Item>, act: (item: Item) => void): Promise<void> {
  const left = items[Symbol.iterator]();
  await stepsInSlices(itemsAtOnce, () => {
    const step = left.next();
    if (!step.done) act(step.value);
    return step;
  });
}

/** Runs `next` until it is done; checks the clock after each `every` steps. */
function stepsInSlices<T>(every: number, next: () => IteratorResult<unknown, T>): Promise<T> {
  return new Promise((resolve, reject) => {
    begin(until => {
      try {
        for (let steps = 1; ; steps++) {
          const step = next();
          if (step.done) {
            resolve(step.value);
            return true;
          }
          if (steps % every === 0 && performance.now() >= until) return false;
        }
      } catch (error) {
        reject(error);
        return true;
      }
    });
  });
}

/**
 * Yields the results of `find`, except undefined. In between it yields some nulls, so that work on a long
 * list with few results can pause there.
 */
export function* filterMapInSlices<Entry, Found>(
  entries: Iterable<Entry>,
  find: (entry: Entry) => Found | undefined,
): Generator<Found | null> {
  let others = 0;
  for (const entry of entries) {
    const found = find(entry);
    if (found !== undefined) yield found;
    else if (++others % restEvery === 0) yield null;
  }
}

/** Cuts a list into parts of at most `most` entries. */
export function* parts<T>(list: readonly T[], most: number): Generator<readonly T[]> {
  for (let start = 0; start < list.length; start += most) yield list.slice(start, start + most);
}

/** Begins at once if the slice of this turn has time left. */
function begin(task: Task): void {
  if (!isSliceOpen) openSlice();
  if (performance.now() >= sliceEnd || !task(sliceEnd)) waiting.push(task);
}

function openSlice(): void {
  isSliceOpen = true;
  sliceEnd = performance.now() + sliceMs;
  setImmediate(nextTurn);
}

function nextTurn(): void {
  isSliceOpen = false;
  if (waiting.length === 0) return;
  openSlice();
  while (performance.now() < sliceEnd) {
    const task = waiting.shift();
    if (task === undefined) return;
    if (!task(sliceEnd)) waiting.push(task);
  }
}
