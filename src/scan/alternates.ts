/** Finds the directories from which a directory of objects borrows, as git does (`info/alternates`). */

import { existsSync, realpathSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { readBounded } from '../bounded/index.ts';
import { beforeLook, decodePath, encodePath } from '../layout/index.ts';
import { CannotTell } from './pack-index.ts';

const mostAlternates = 100;
/** git follows no longer chain. */
const mostSteps = 6;
const mostBytes = 64 * 1024;

/**
 * Yields the directories from which a directory of objects borrows, also indirectly, each path once. The list
 * of a directory is read only after the caller has taken it. `follow`: lists may be links. Throws
 * `CannotTell` if a list cannot be followed as git does.
 */
export function* alternatesOf(objects: string, follow: boolean): Generator<string, void> {
  const seen = new Set([objects]);
  let from = [objects];
  for (let step = 0; step < mostSteps && from.length > 0; step++) {
    const next: string[] = [];
    for (const directory of from)
      for (const alternate of alternatesIn(directory, follow)) {
        if (seen.has(alternate)) continue;
        if (seen.size > mostAlternates)
          throw new CannotTell(`${objects} borrows from more than ${mostAlternates} directories`);
        seen.add(alternate);
        yield alternate;
        if (existsSync(encodePath(alternate))) next.push(alternate);
      }
    from = next;
  }
}

function alternatesIn(objects: string, follow: boolean): readonly string[] {
  beforeLook(objects);
  const path = `${objects}/info/alternates`;
  const file = readBounded(encodePath(path), { mostBytes, follow });
  if (file.kind !== 'file') return [];
  const lines = decodePath(file.bytes)
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#'));
  if (!file.whole || lines.length > mostAlternates)
    throw new CannotTell(`${path} has more than ${mostAlternates} lines`);
  // git would read such a line like a string of C.
  if (lines.some(line => line.startsWith('"'))) throw new CannotTell(`${path} has a path in quotes`);
  return lines.map(line => alternateAt(objects, line));
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
