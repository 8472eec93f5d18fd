/** Looking at directories: what is not there, or may not be looked at, is no exception here. */

import { readFileSync, realpathSync, statSync } from 'node:fs';
import { relative } from 'node:path';
import { systemCode } from '../errors.ts';

/** Whether there is a directory, or a link to one. */
export function isDirectory(path: string): boolean {
  return ifReadable(() => statSync(path).isDirectory()) ?? false;
}

/** Where a path really is; itself where that cannot be told. */
export function physical(path: string): string {
  return ifReadable(() => realpathSync(path)) ?? path;
}

/** A small file's text; null where there is none that can be read. */
export function textOf(path: string): string | null {
  return ifReadable(() => readFileSync(path, 'utf8'));
}

/** Whether a place is a directory or lies in it, links resolved. */
export function liesIn(path: string, directory: string): boolean {
  const way = relative(physical(directory), physical(path));
  return way !== '..' && !way.startsWith('../');
}

/** Null for every failure of the system. */
function ifReadable<T>(look: () => T): T | null {
  try {
    return look();
  } catch (error) {
    if (systemCode(error) === null) throw error;
    return null;
  }
}
