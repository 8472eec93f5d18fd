/** Reads from which directories a directory of objects borrows, by its `info/alternates`. */

import { realpathSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { readBounded } from '../bounded/index.ts';
import { decodePath, encodePath } from '../layout/index.ts';

export const mostAlternates = 100;
/** git follows no longer chain of alternates. */
export const mostAlternateSteps = 6;

const mostBytes = 64 * 1024;

/**
 * Reads from which directories a directory of objects borrows. `follow`: its `info/alternates` may be a link;
 * `fault`: why they cannot be told.
 */
export function readAlternates(
  objects: string,
  follow: boolean,
): { readonly directories: readonly string[]; readonly fault: string | null } {
  const file = readBounded(encodePath(`${objects}/info/alternates`), { mostBytes, follow });
  if (file.kind !== 'file') return { directories: [], fault: null };
  const lines = decodePath(file.bytes)
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#'));
  if (!file.whole || lines.length > mostAlternates)
    return { directories: [], fault: `has more than ${mostAlternates} lines` };
  // git would read such a line like a string of C.
  if (lines.some(line => line.startsWith('"'))) return { directories: [], fault: 'has a path in quotes' };
  return { directories: lines.map(line => alternateAt(objects, line)), fault: null };
}

/** Resolves a line of `info/alternates` as git does: from the real path of the directory of objects. */
function alternateAt(objects: string, line: string): string {
  if (isAbsolute(line)) return line;
  try {
    return resolve(decodePath(realpathSync(encodePath(objects), { encoding: 'buffer' })), line);
  } catch {
    return resolve(objects, line);
  }
}
