/**
 * What a walker shares with the main thread while it is too busy for messages: whether to go on,
 * how far it is, and since when it has been at its present unit.
 *
 * The counts only grow over the thread's life. They are for showing; nothing is decided by them.
 */

export interface Shared {
  readonly buffer: SharedArrayBuffer;
  readonly signals: Int32Array;
  readonly counts: Float64Array;
}

/** Places in `signals`. */
export const signal = {
  /** 1: leave off at once. */
  stop: 0,
  /** 1: something urgent waits; hand back what is not begun. */
  yield: 1,
} as const;

/** Places in `counts`. */
export const count = {
  directories: 0,
  files: 1,
  bytes: 2,
  /** The task's id; 0 for none. */
  task: 3,
  /** When it was begun, in milliseconds of `monotonic`. */
  since: 4,
} as const;

const signalsLength = Object.keys(signal).length;
const countsLength = Object.keys(count).length;

export function newShared(): Shared {
  return viewOf(new SharedArrayBuffer(8 * (signalsLength + countsLength)));
}

export function viewOf(buffer: SharedArrayBuffer): Shared {
  return {
    buffer,
    signals: new Int32Array(buffer, 0, signalsLength),
    counts: new Float64Array(buffer, 8 * signalsLength, countsLength),
  };
}

/** Milliseconds of a clock that nobody sets, the same in all threads. */
export function monotonic(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}
