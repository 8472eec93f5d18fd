/** Reads from which directories a directory of objects borrows, by its `info/alternates`. */

import { realpathSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { readBounded } from '../bounded/index.ts';
import { decodePath, encodePath } from '../layout/index.ts';

export const mostAlternates = 100;
/** git follows no longer chain of alternates. */
export const mostAlternateSteps = 6;

const mostBytes = 64 * 1024;

/** Reads the lines of `info/alternates`. `follow`: it may be a link; `isWhole`: false if it is too long. */
export function readAlternates(
  objects: string,
  follow: boolean,
): { readonly lines: readonly string[]; readonly isWhole: boolean } {
  const file = readBounded(encodePath(`${objects}/info/alternates`), { mostBytes, follow });
  if (file.kind !== 'file') return { lines: [], isWhole: true };
  const lines = decodePath(file.bytes).split('\n');
  return { lines: lines.filter(line => line !== '' && !line.startsWith('#')), isWhole: file.whole };
}

/** Resolves a line of `info/alternates` as git does: from the real path of the directory of objects. */
export function alternateAt(objects: string, line: string): string {
  if (isAbsolute(line)) return line;
  try {
    return resolve(decodePath(realpathSync(encodePath(objects), { encoding: 'buffer' })), line);
  } catch {
    return resolve(objects, line);
  }
}
