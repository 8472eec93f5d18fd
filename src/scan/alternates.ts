/** The directories that a directory of objects borrows from, by its `info/alternates`. */

import { realpathSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { readBounded } from '../bounded/index.ts';
import { decodePath, encodePath } from '../layout/index.ts';

export const mostAlternates = 100;
/** git goes no further from one to the next. */
export const mostAlternateSteps = 6;

const mostBytes = 64 * 1024;

/** Returns them as far as they can be told. */
export function alternatesOf(objects: string): readonly string[] {
  const { lines } = readAlternates(objects, true);
  return lines.slice(0, mostAlternates).map(line => alternateAt(objects, line));
}

/** `follow`: the list may be a link. */
export function readAlternates(
  objects: string,
  follow: boolean,
): { readonly lines: readonly string[]; readonly isWhole: boolean } {
  const file = readBounded(encodePath(`${objects}/info/alternates`), { mostBytes, follow });
  if (file.kind !== 'file') return { lines: [], isWhole: true };
  const lines = decodePath(file.bytes).split('\n');
  return { lines: lines.filter(line => line !== '' && !line.startsWith('#')), isWhole: file.whole };
}

/** git resolves a path from where the directory lies, whatever links lead to it. */
export function alternateAt(objects: string, line: string): string {
  if (isAbsolute(line)) return line;
  try {
    return resolve(decodePath(realpathSync(encodePath(objects), { encoding: 'buffer' })), line);
  } catch {
    return resolve(objects, line);
  }
}
