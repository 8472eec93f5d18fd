/** Standard error as a sink that never holds up the event loop, whatever is at its other end. */

import fs from 'node:fs';
import tty from 'node:tty';
import { systemCode } from '../errors.ts';
import type { Sink } from './bounded-writer.ts';

const descriptor = 2;
const againMs = 100;

export interface StandardError {
  readonly sink: Sink;
  /** Tells whether a write that hangs keeps the process from ending by itself. */
  readonly holdsExit: boolean;
}

/**
 * A pipe or socket, such as the journal's, is written to as Node itself does: without waiting, and told when
 * there is room. A file or a terminal has no such way: a thread writes it, and a thread that hangs in the
 * system cannot be ended.
 */
export function standardError(): StandardError {
  if (isByThread())
    return { sink: (lines, written) => writeAll(Buffer.from(lines), written), holdsExit: true };
  const { stderr } = process;
  // A reader that went away is no reason to stop answering; each write is told of it.
  stderr.on('error', () => {});
  return { sink: (lines, written) => void stderr.write(lines, written), holdsExit: false };
}

function isByThread(): boolean {
  if (tty.isatty(descriptor)) return true;
  try {
    const about = fs.fstatSync(descriptor);
    return !about.isFIFO() && !about.isSocket();
  } catch {
    // It is closed: each write says so.
    return true;
  }
}

function writeAll(bytes: Buffer, written: (error?: Error | null) => void): void {
  fs.write(descriptor, bytes, (error, count) => {
    if (error !== null) {
      // Another process made it so that it does not wait.
      if (systemCode(error) !== 'EAGAIN') return written(error);
      setTimeout(() => writeAll(bytes, written), againMs).unref();
      return;
    }
    if (count < bytes.length) writeAll(bytes.subarray(count), written);
    else written();
  });
}
