/**
 * Writes to standard output and standard error. If that fails, the exit status is 74. A reader that is gone,
 * as with `softquota usage | head`, is no failure.
 */

import { once } from 'node:events';
import { fstatSync, fsyncSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { isatty } from 'node:tty';
import { exitCodes, SoftquotaError, systemCode } from '../errors.ts';
import { systemWords } from '../system-words.ts';
import { counted, printable } from '../text.ts';

const standardOutput = 1;
const standardError = 2;

/** True while `printKept` waits for its output, and handles a failure itself. */
let awaited = false;

let errorFault: SoftquotaError | null = null;

/** Prints text on standard output. Throws `input_output` if a file or a device cannot be written. */
export function print(text: string): void {
  if (isFile(standardOutput)) {
    writeAll(standardOutput, text);
  } else {
    process.stdout.write(text);
  }
}

/**
 * Prints output that must not get lost, such as a new token. Resolves when all is written, and on the disk if
 * it is a file. Rejects with `input_output`, also if the reader is gone.
 */
export async function printKept(text: string): Promise<void> {
  if (isFile(standardOutput)) {
    writeAll(standardOutput, text);
    if (fstatSync(standardOutput).isFile()) syncOutput();
    return;
  }
  awaited = true;
  await new Promise<void>((resolve, reject) => {
    process.stdout.write(text, error => {
      if (error) reject(outputFault(error));
      else resolve();
    });
  });
  awaited = false;
}

/** Writes text to standard error. If that fails, the command continues, and ends with status 74. */
export function tell(text: string): void {
  try {
    if (isFile(standardError)) writeAll(standardError, text);
    else process.stderr.write(text);
  } catch (error) {
    if (!(error instanceof SoftquotaError)) throw error;
    errorFault = error;
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

/** Handles errors of both streams. If the reader of standard output is gone, the command ends silently. */
export function watchStreams(): void {
  process.stdout.on('error', (error: Error) => {
    if (awaited) return;
    if (systemCode(error) === 'EPIPE') process.exit(exitCodes.done);
    const { message, exitCode } = outputFault(error);
    tellNote(message);
    process.exit(exitCode);
  });
  process.stderr.on('error', (error: Error) => {
    if (systemCode(error) !== 'EPIPE') errorFault = faultOf('standard error', error);
  });
}

/** The exit status of a command; not 0 if something could not be written to standard error. */
export function statusTold(status: number): number {
  return status === exitCodes.done && errorFault !== null ? errorFault.exitCode : status;
}

/** True for files, and devices except terminals: on a full disk, Node would write a part without an error. */
function isFile(descriptor: number): boolean {
  const stats = fstatSync(descriptor);
  return stats.isFile() || (stats.isCharacterDevice() && !isatty(descriptor));
}

function writeAll(descriptor: number, text: string): void {
  const bytes = Buffer.from(text);
  try {
    for (let written = 0; written < bytes.length; ) written += writeSync(descriptor, bytes, written);
  } catch (error) {
    throw descriptor === standardOutput ? outputFault(error) : faultOf('standard error', error);
  }
}

function syncOutput(): void {
  try {
    fsyncSync(standardOutput);
  } catch (error) {
    // Some file systems have no fsync.
    if (systemCode(error) !== 'EINVAL' && systemCode(error) !== 'EROFS') throw outputFault(error);
  }
}

function outputFault(error: unknown): SoftquotaError {
  return faultOf('standard output', error);
}

function faultOf(stream: string, cause: unknown): SoftquotaError {
  const why = systemWords(cause);
  if (why === null) throw cause;
  return new SoftquotaError('input_output', `${stream} cannot be written: ${why}`, { cause });
}

/** Asks on a terminal if something may be done; the end of input means no. Without a terminal, it may. */
export async function confirmed(question: string): Promise<boolean> {
  const { stdin: input, stderr: output } = process;
  if (!input.isTTY || !output.isTTY) return true;
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
