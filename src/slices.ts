/**
 * Long work in slices, so that checks, and all else, get their turn in between.
 *
 * All work together has one slice in a turn of the event loop, however many kinds of it there are: so what
 * has come to a socket waits for one slice, and not for one of each.
 */

/** Work that may rest at each `yield`, and returns something in the end. */
export type Work<T> = Generator<void, T, void>;

const sliceMs = 1;
/** The clock is looked at after so many items, and after each step of other work. */
const itemsAtOnce = 8;

/** Goes on until then, on the monotonic clock; true: it has ended. */
type Task = (until: number) => boolean;

/** `filterMapInSlices` gives a null after so many entries in which it finds nothing. */
const restEvery = 64;

/** Tasks that go on in the next turn, one after the other. */
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

/** One after the other; what comes to `items` meanwhile is part of it. */
export async function inSlices<Item>(items: Iterable<Item>, act: (item: Item) => void): Promise<void> {
  const left = items[Symbol.iterator]();
  await stepsInSlices(itemsAtOnce, () => {
    const step = left.next();
    if (!step.done) act(step.value);
    return step;
  });
}

/** The clock is looked at after every so many steps. */
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
 * Gives what is found in each entry; undefined: nothing. In between it gives a null now and then, so that
 * long lists in which little is found can rest there.
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

/** Begins at once where the slice of this turn has time left. */
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
