/**
 * Waits with a time limit, clocks with an alarm, queues of tasks, and long work in slices.
 *
 * Long work is done in slices, so that checks and other requests are answered in between. All work together
 * has one slice in a turn of the event loop. A request that arrives waits for one slice, however many tasks
 * are under way.
 */

import { SoftquotaError } from './errors.ts';

/**
 * Waits for an answer for at most so many milliseconds, then returns `late` and ignores the answer. Rejects
 * as the answer does. If the process itself was blocked for longer, an answer that arrived meanwhile counts.
 */
export async function within<Answer, Late>(
  answer: Promise<Answer>,
  milliseconds: number,
  late: Late,
): Promise<Answer | Late> {
  const { promise: over, resolve } = Promise.withResolvers<Late>();
  // The event loop runs timers before it reads sockets; setImmediate runs after reading.
  const timer = setTimeout(() => setImmediate(resolve, late), milliseconds);
  try {
    return await Promise.race([answer, over]);
  } finally {
    clearTimeout(timer);
  }
}

/** Limits the time of several waits together; the time between them does not count. */
export class Deadline {
  #leftMs: number;

  constructor(ms: number) {
    this.#leftMs = ms;
  }

  /** Rejects with `store_away` if the answer is late. The late answer is ignored. */
  async wait<T>(answer: Promise<T>, refusal: string): Promise<T> {
    const begun = performance.now();
    const late = Symbol('late');
    try {
      const found = await within<T, typeof late>(answer, Math.max(this.#leftMs, 0), late);
      if (found === late) throw new SoftquotaError('store_away', refusal);
      return found;
    } finally {
      this.#leftMs -= performance.now() - begun;
    }
  }
}

/** A clock in milliseconds, with an alarm. */
export interface AlarmClock {
  now(): number;
  /** Calls back once, after some milliseconds; returns a function that cancels it. Keeps no process alive. */
  after(milliseconds: number, callback: () => void): () => void;
}

export const monotonicClock: AlarmClock = {
  now: () => performance.now(),
  after: (milliseconds, callback) => {
    const timer = setTimeout(callback, milliseconds).unref();
    return () => clearTimeout(timer);
  },
};

interface SerialQueueBound {
  /** Most tasks that may wait or run at a time. */
  readonly most: number;
  /** Makes the error with which further tasks are rejected. */
  full(): Error;
}

/** Runs asynchronous tasks one after the other, in the order in which they were added. */
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
