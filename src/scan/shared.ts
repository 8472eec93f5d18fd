/**
 * The memory that a thread shares with the main thread while it is too busy for messages: how far it is, since
 * when it has been at its present unit, and where and when it last looked at the disk.
 *
 * The counts only grow over the thread's life. They are for showing; nothing is decided by them. By the time
 * of the last look it is decided that a disk hangs.
 */

import { DiskHangs, isWithin, watchLooks } from '../layout/index.ts';

export interface Shared {
  readonly buffer: SharedArrayBuffer;
  readonly counts: Float64Array;
  /** The path of the last look, ended by a NUL. */
  readonly at: Buffer;
}

/** Places in `counts`. */
export const count = {
  directories: 0,
  files: 1,
  bytes: 2,
  /** The place of the unit in the batch, from 1 on; 0 for none. */
  unit: 3,
  /** The beginning of the walk of that unit, in milliseconds of `monotonic`. */
  since: 4,
  /** The time of its last progress, likewise; 0 while it has nothing to do. */
  moved: 5,
} as const;

const countsLength = Object.keys(count).length;
const atBegins = 8 * countsLength;
const atLength = 4096;

/** Gives the memory of a thread as both sides see it; a new one unless given. */
export function sharedMemory(buffer = new SharedArrayBuffer(atBegins + atLength)): Shared {
  return {
    buffer,
    counts: new Float64Array(buffer, 0, countsLength),
    at: Buffer.from(buffer, atBegins, atLength),
  };
}

/** Numbers of what was walked up to a moment. */
export interface Counts {
  readonly directories: number;
  readonly files: number;
  readonly bytes: number;
}

export const noCounts: Counts = { directories: 0, files: 0, bytes: 0 };

export function countsOf({ counts }: Shared): Counts {
  return {
    directories: counts[count.directories] ?? 0,
    files: counts[count.files] ?? 0,
    bytes: counts[count.bytes] ?? 0,
  };
}

export function countsSince(before: Counts, now: Counts): Counts {
  return {
    directories: now.directories - before.directories,
    files: now.files - before.files,
    bytes: now.bytes - before.bytes,
  };
}

export function sumOf(a: Counts, b: Counts): Counts {
  return { directories: a.directories + b.directories, files: a.files + b.files, bytes: a.bytes + b.bytes };
}

/** Says that the thread gets on. */
export function move({ counts }: Shared): void {
  counts[count.moved] = monotonic();
}

/** Says that the thread begins with something, before its first look. */
export function beginTask(shared: Shared): void {
  shared.at[0] = 0;
  move(shared);
}

/** Says that the thread has nothing to do. */
export function rest({ counts }: Shared): void {
  counts[count.moved] = 0;
}

/**
 * From now on this thread says where it looks, and looks at nothing below the directories that `avoided`
 * gives.
 */
export function shareLooks(shared: Shared, avoided: () => readonly string[]): void {
  watchLooks(path => {
    if (avoided().some(place => isWithin(path, place))) throw new DiskHangs(path);
    const length = shared.at.write(path, 0, atLength - 1);
    shared.at[length] = 0;
    move(shared);
  });
}

/** The path at which a thread last looked; empty where it has not yet. */
export function lookedAt({ at }: Shared): string {
  return at.toString('utf8', 0, Math.max(0, at.indexOf(0)));
}

/** Milliseconds for which a thread has made no progress; 0 while it has nothing to do. */
export function stuckMs({ counts }: Shared): number {
  const moved = counts[count.moved] ?? 0;
  return moved === 0 ? 0 : Math.max(0, monotonic() - moved);
}

/** Milliseconds of a clock that nobody sets, the same in all threads. */
export function monotonic(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}
