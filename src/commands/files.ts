/** Reads and writes whole files for commands. A file is written completely, or not at all. */

import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncDirectory, withDraft } from '../draft.ts';
import { messageOf, SoftquotaError, systemCode } from '../errors.ts';
import { printable } from '../text.ts';

/** `-` is standard input. Throws `input_output` or `not_permitted`. */
export function readWhole(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw fileFault(file, error);
  }
}

/**
 * Writes a file under a temporary name, then renames it; returns when both are on the disk. A device or a
 * pipe is written to, and never replaced. Throws `input_output` or `not_permitted`.
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

/** Parses JSON. Throws `code`; the message begins with `where`. */
export function jsonIn(text: string, where: string, code: 'usage' | 'invalid'): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new SoftquotaError(code, printable(`${where}: not valid JSON: ${messageOf(cause)}`), { cause });
  }
}

/** The fault of a file operation. `what` is the beginning of the message; the reason follows. */
export function fileFault(what: string, cause: unknown): SoftquotaError {
  const denied = ['EACCES', 'EPERM', 'EROFS'].includes(systemCode(cause) ?? '');
  const message = printable(`${what}: ${messageOf(cause)}`);
  return new SoftquotaError(denied ? 'not_permitted' : 'input_output', message, { cause });
}
