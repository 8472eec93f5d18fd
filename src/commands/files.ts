/** Files that a command reads or leaves behind: whole, or not at all. */

import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { SoftquotaError, systemCode } from '../errors.ts';
import { printable } from '../quota/index.ts';

/** `-` is standard input. Throws `invalid` or `not_permitted`. */
export function readWhole(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw fileFault(file, error);
  }
}

/** Under another name first, then in one step under its own. Throws `invalid` or `not_permitted`. */
export function writeWhole(file: string, text: string, mode: number): void {
  const draft = join(dirname(file), `.${basename(file)}.${process.pid}`);
  try {
    const descriptor = openSync(draft, 'wx', mode);
    try {
      // Unlike writeSync, which on a disk that fills up writes a part and says nothing.
      writeFileSync(descriptor, text);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw fileFault(file, error);
  }
}

function fileFault(file: string, cause: unknown): SoftquotaError {
  const why = cause instanceof Error ? cause.message : String(cause);
  const denied = ['EACCES', 'EPERM', 'EROFS'].includes(systemCode(cause) ?? '');
  return new SoftquotaError(denied ? 'not_permitted' : 'invalid', printable(`${file}: ${why}`), { cause });
}
