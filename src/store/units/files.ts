/**
 * The files that sets are in: one for each source, named after it, in a directory of their own.
 *
 * A set is made under another name, and gets its own when it is whole and on the disk. What a daemon left
 * that was killed meanwhile is told by its name.
 */

import { hash, randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, mkdirSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const whole = /^[0-9a-f]{40}\.db$/;
const unfinished = /^[0-9a-f]{40}\.db\.new-/;

/** Any name may be a source's, no name becomes a path. */
export function setFile(directory: string, source: string): string {
  return join(directory, `${hash('sha256', source).slice(0, 40)}.db`);
}

/** Where a set is made. */
export function unfinishedFile(directory: string, source: string): string {
  return `${setFile(directory, source)}.new-${randomBytes(6).toString('hex')}`;
}

/**
 * The directory, made where there is none, without what was never finished; gives the files of sets in it.
 */
export function readyFiles(directory: string): readonly string[] {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const names = readdirSync(directory);
  for (const name of names) if (unfinished.test(name)) rmSync(join(directory, name), { force: true });
  return names.filter(name => whole.test(name)).map(name => join(directory, name));
}

/** Puts the one in the place of the other; once this returns, it is on the disk. */
export function replaceFile(file: string, made: string, directory: string): void {
  sync(made);
  renameSync(made, file);
  sync(directory);
}

export function removeFile(file: string, directory: string): void {
  rmSync(file, { force: true });
  sync(directory);
}

function sync(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
