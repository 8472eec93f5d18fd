/**
 * Writes to standard output and standard error, and asks on a terminal. If a write fails, the exit status is
 * 74. A reader that is gone, as with `softquota usage | head`, is no failure.
 *
 * Each write is complete when the function returns: on a full disk, the streams of Node would write a part
 * without an error.
 */

import { once } from 'node:events';
import { fstatSync, fsyncSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { exitCodes, SoftquotaError, systemCode } from '../errors.ts';
import { systemWords } from '../system-words.ts';
import { counted, printable } from '../text.ts';

const standardOutput = 1;
const standardError = 2;

let errorFault: SoftquotaError | null = null;

/**
 * Prints text on standard output. Throws `input_output` if it cannot be written. If its reader is gone, the
 * command ends silently.
 */
export function print(text: string): void {
  try {
    writeAll(standardOutput, text);
  } catch (error) {
    if (systemCode(error) === 'EPIPE') process.exit(exitCodes.done);
    throw faultOf('standard output', error);
  }
}

/**
 * Prints output that must not get lost, such as a new token, and puts it on the disk if it is a file. Throws
 * `input_output`, also if the reader is gone.
 */
export function printKept(text: string): void {
  try {
    writeAll(standardOutput, text);
    if (fstatSync(standardOutput).isFile()) syncOutput();
  } catch (error) {
    throw faultOf('standard output', error);
  }
}

function syncOutput(): void {
  try {
    fsyncSync(standardOutput);
  } catch (error) {
    // Some file systems have no fsync.
    if (systemCode(error) !== 'EINVAL' && systemCode(error) !== 'EROFS') throw error;
  }
}

/** Writes text to standard error. If that fails, the command continues, and ends with status 74. */
export function tell(text: string): void {
  try {
    writeAll(standardError, text);
  } catch (error) {
    if (systemCode(error) !== 'EPIPE') errorFault = faultOf('standard error', error);
  }
}

/** Writes a line for people to standard error. */
export function tellNote(line: string): void {
  tell(`softquota: ${line}\n`);
}

/** Number of places that are named; others are only counted. */
const mostNamed = 20;

/** Names the first places that could not be read, and counts the others. */
export function tellUnread(places: readonly { readonly path: string; readonly reason: string }[]): void {
  for (const { path, reason } of places.slice(0, mostNamed)) tellNote(printable(`${path}: ${reason}`));
  const others = places.length - mostNamed;
  if (others > 0) tellNote(`… and ${counted(others, 'other place', 'other places')} that could not be read`);
}

/** The exit status of a command; not 0 if something could not be written to standard error. */
export function statusTold(status: number): number {
  return status === exitCodes.done && errorFault !== null ? errorFault.exitCode : status;
}

const fullPipeMs = 10;

function writeAll(descriptor: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.length; ) {
    try {
      written += writeSync(descriptor, bytes, written);
    } catch (error) {
      // Another program may have made the pipe or the terminal one that does not wait.
      if (systemCode(error) !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, fullPipeMs);
    }
  }
}

function faultOf(stream: string, cause: unknown): SoftquotaError {
  const why = systemWords(cause);
  if (why === null) throw cause;
  return new SoftquotaError('input_output', `${stream} cannot be written: ${why}`, { cause });
}

/**
 * Asks on a terminal if something may be done; the end of input means no. Without a terminal, it may.
 * `about`: whole lines to read before the question.
 */
export async function confirmed(question: string, about = ''): Promise<boolean> {
  const { stdin: input, stderr: output } = process;
  if (!input.isTTY || !output.isTTY) return true;
  tell(about);
  const lines = createInterface({ input, output });
  // Ctrl-C and Ctrl-D reject. If the input ends otherwise, the question is never answered.
  const given = lines.question(`${question} [y/N] `).catch((error: unknown) => {
    if (systemCode(error) === 'ABORT_ERR') return '';
    throw error;
  });
  const ended = once(lines, 'close').then(() => '');
  try {
    return /^y(es)?$/i.test((await Promise.race([given, ended])).trim());
  } finally {
    lines.close();
  }
}
