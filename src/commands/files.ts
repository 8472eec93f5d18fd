/** Files that a command reads or leaves behind: whole, or not at all. */

import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
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
  const draft = join(dirname(file), `.${basename(file)}.${process.pid}`);
  try {
    if (isSpecial(file)) {
      writeFileSync(file, text);
      return;
    }
    const descriptor = openSync(draft, 'wx', mode);
    try {
      // Unlike writeSync, which on a disk that fills up writes a part and says nothing.
      writeFileSync(descriptor, text);
      fsyncSync(descriptor);
      renameSync(draft, file);
    } catch (error) {
      rmSync(draft, { force: true });
      throw error;
    } finally {
      closeSync(descriptor);
    }
    syncDirectory(dirname(file));
  } catch (error) {
    throw fileFault(file, error);
  }
}

function isSpecial(file: string): boolean {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats !== undefined && !stats.isFile() && !stats.isDirectory();
}

function syncDirectory(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function fileFault(file: string, cause: unknown): SoftquotaError {
  const why = messageOf(cause);
  const denied = ['EACCES', 'EPERM', 'EROFS'].includes(systemCode(cause) ?? '');
  return new SoftquotaError(denied ? 'not_permitted' : 'input_output', printable(`${file}: ${why}`), {
    cause,
  });
}
