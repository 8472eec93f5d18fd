/**
 * Memory that a thread shares with the main thread, since it is too busy for messages: when it began its
 * current unit, and when and where it last looked at the disk. The time of the last look decides whether the
 * disk hangs.
 */

export interface Shared {
  readonly buffer: SharedArrayBuffer;
  readonly numbers: Float64Array;
  /** The path of the last look, ended by a NUL. */
  readonly at: Buffer;
}

/** Indexes in `numbers`. */
const slot = {
  /** The number of the unit in the batch, from 1 on; 0 for none. */
  unit: 0,
  /** The beginning of the walk of that unit, in milliseconds of `monotonic`. */
  since: 1,
  /** The time of the last progress, likewise; 0 while the thread is idle. */
  moved: 2,
} as const;

const numbersLength = Object.keys(slot).length;
const atBegins = 8 * numbersLength;
const atLength = 4096;

/** Returns views of a thread's memory for both sides; allocates it unless given. */
export function sharedMemory(buffer = new SharedArrayBuffer(atBegins + atLength)): Shared {
  return {
    buffer,
    numbers: new Float64Array(buffer, 0, numbersLength),
    at: Buffer.from(buffer, atBegins, atLength),
  };
}

/** Records that the thread makes progress. */
export function move({ numbers }: Shared): void {
  numbers[slot.moved] = monotonic();
}

/** Records that the thread begins with something, before its first look. */
export function beginTask(shared: Shared): void {
  shared.at[0] = 0;
  move(shared);
}

/** Records that the thread is idle, and walks no unit. */
export function rest({ numbers }: Shared): void {
  numbers[slot.unit] = 0;
  numbers[slot.moved] = 0;
}

/** Records that the thread begins with this unit of its batch, from 1 on. */
export function beginUnit(shared: Shared, number: number): void {
  beginTask(shared);
  shared.numbers[slot.since] = monotonic();
  shared.numbers[slot.unit] = number;
}

/** The state of a thread, as the main thread reads it. */
export function progressOf({ numbers, at }: Shared) {
  const now = monotonic();
  const moved = numbers[slot.moved] ?? 0;
  return {
    /** The number of the unit in the batch, from 1 on; 0 for none. */
    unit: numbers[slot.unit] ?? 0,
    /** Milliseconds for which it has walked that unit. */
    walkedMs: Math.max(0, now - (numbers[slot.since] ?? now)),
    /** Milliseconds without progress; 0 while it is idle. */
    stuckMs: moved === 0 ? 0 : Math.max(0, now - moved),
    /** The path at which it last looked; empty where it has not yet. */
    path: at.toString('utf8', 0, Math.max(0, at.indexOf(0))),
  };
}

/** Milliseconds of the monotonic clock, the same in all threads. */
function monotonic(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}
