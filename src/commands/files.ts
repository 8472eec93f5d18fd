/** Files that a command reads or leaves behind: whole, or not at all. */

import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncDirectory, withDraft } from '../draft.ts';
import { messageOf, SoftquotaError, systemCode } from '../errors.ts';
import { printable } from '../text/index.ts';

/** `-` is standard input. Throws `input_output` or `not_permitted`. */
export function readWhole(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw fileFault(file, error);
  }
}

/**
 * Under another name first, then in one step under its own; on the disk when this returns. A device or a pipe
 * is written to, and never replaced. Throws `input_output` or `not_permitted`.
 */
export function writeWhole(file: string, text: string, mode: number): void {
  try {
    if (isSpecial(file)) {
      writeFileSync(file, text);
      return;
    }
    withDraft(file, text, mode, draft => renameSync(draft, file));
    syncDirectory(dirname(file));
  } catch (error) {
    throw fileFault(file, error);
  }
}

function isSpecial(file: string): boolean {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats !== undefined && !stats.isFile() && !stats.isDirectory();
}

/** The JSON of a text. Throws `code`, with the place of the text. */
export function jsonIn(text: string, where: string, code: 'usage' | 'invalid'): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new SoftquotaError(code, printable(`${where}: not valid JSON: ${messageOf(cause)}`), { cause });
  }
}

/** `what`: the beginning of the sentence, which the reason ends. */
export function fileFault(what: string, cause: unknown): SoftquotaError {
  const denied = ['EACCES', 'EPERM', 'EROFS'].includes(systemCode(cause) ?? '');
  const message = printable(`${what}: ${messageOf(cause)}`);
  return new SoftquotaError(denied ? 'not_permitted' : 'input_output', message, { cause });
}
