/**
 * The process that does the work: it tells where it looks at the disk as it is about to look.
 *
 * A disk that hangs holds it in the midst of a call. Then the last path that it told is where it waits; and
 * the beats stop, which it tells as long as it waits for none.
 */

import { readFileSync, writeSync } from 'node:fs';
import { SoftquotaError } from '../../errors.ts';
import { isWithin } from '../path.ts';
import { DiskHangs, isLooking, watchLooks } from '../watched.ts';
import { descriptor, type Report, type TaskOrder } from './messages.ts';

const beatMs = 1000;

/** The parts of the work that are done one after the other, and once. */
export interface Parts<Value> {
  /** What a part came to that an earlier process did. */
  done(name: string): Value | undefined;
  /** Tells that a part is done. */
  keep(name: string, value: Value): void;
}

/**
 * Does what standard input orders, and tells what it comes to. To be called once, by a process of its own.
 */
export async function work<Task>(
  act: (task: Task, parts: Parts<unknown>) => Promise<unknown>,
): Promise<void> {
  // Only `runInTime` writes it.
  const { task, avoided, parts } = JSON.parse(readFileSync(0, 'utf8')) as TaskOrder<Task>;
  watchLooks(path => {
    if (avoided.some(place => isWithin(path, place))) throw new DiskHangs(path);
    tell({ type: 'look', path });
  });
  const beats = setInterval(() => {
    if (!isLooking()) tell({ type: 'beat' });
  }, beatMs);
  const known = new Map(parts);
  try {
    const value = await act(task, {
      done: name => known.get(name),
      keep: (name, value) => tell({ type: 'part', name, value }),
    });
    tell({ type: 'result', value });
  } catch (error) {
    const { code, message } = faultOf(error);
    tell({ type: 'fault', code, message });
  } finally {
    clearInterval(beats);
  }
}

/** Anything but a fault of ours and a disk that hangs is a mistake of ours and is thrown on. */
function faultOf(error: unknown): Pick<SoftquotaError, 'code' | 'message'> {
  if (error instanceof SoftquotaError) return error;
  if (!(error instanceof DiskHangs)) throw error;
  return { code: 'not_ready', message: error.message };
}

/** Where nobody listens any more, nobody wants the work done either. */
function tell(report: Report): void {
  const line = Buffer.from(`${JSON.stringify(report)}\n`);
  try {
    for (let written = 0; written < line.length; ) written += writeSync(descriptor, line, written);
  } catch {
    process.kill(process.pid, 'SIGKILL');
  }
}
