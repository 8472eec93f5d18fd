/**
 * Standard output and standard error. What cannot be written is a fault with exit status 74, and never passes
 * for done; only a reader that went away, as of `softquota usage | head`, is none.
 */

import { once } from 'node:events';
import { fstatSync, fsyncSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { isatty } from 'node:tty';
import { exitCodes, SoftquotaError, systemCode } from '../errors.ts';
import { systemWords } from '../system-words.ts';

const standardOutput = 1;
const standardError = 2;

/** Tells whether somebody waits for what was printed, and takes a fault of it. */
let awaited = false;

let errorFault: SoftquotaError | null = null;

/** Prints text on standard output; throws `input_output` where a file or a device does not take it. */
export function print(text: string): void {
  if (isFile(standardOutput)) {
    writeAll(standardOutput, text);
  } else {
    process.stdout.write(text);
  }
}

/**
 * Prints what cannot be had again; resolves once all of it is written, to the disk where it is a file.
 * Rejects with `input_output`, also where the reader went away.
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

/** Writes text to standard error; where that takes nothing the command goes on, and ends with 74. */
export function tell(text: string): void {
  try {
    if (isFile(standardError)) writeAll(standardError, text);
    else process.stderr.write(text);
  } catch (error) {
    if (!(error instanceof SoftquotaError)) throw error;
    errorFault = error;
  }
}

/** Tells a line that is no part of the output. */
export function tellNote(line: string): void {
  tell(`softquota: ${line}\n`);
}

/** Watches both streams from the start of a command: a reader that went away ends it without a word. */
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

/** The exit status of a command that did what it should: not 0 where something of it could not be told. */
export function statusTold(status: number): number {
  return status === exitCodes.done && errorFault !== null ? errorFault.exitCode : status;
}

/** Files, and devices but terminals: Node would write a part to a disk that fills up, and say nothing. */
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
    // File systems that have no such thing say so.
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

/** Tells whether the answer is yes; ended input is no. Where nobody can be asked, as in a script, it is. */
export async function confirmed(question: string): Promise<boolean> {
  const { stdin: input, stderr: output } = process;
  if (!input.isTTY || !output.isTTY) return true;
  const lines = createInterface({ input, output });
  // Ctrl-C and Ctrl-D reject; an input that ends otherwise leaves the question without an answer.
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
