/** Finds the owners who are billed for data below a directory, and the data there that counts for nobody. */

import { type Dirent, lstatSync, readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { systemCode } from '../../errors.ts';
import {
  beforeLook,
  decodePath,
  discover,
  encodePath,
  holdsRepositories,
  isWithin,
  resolveLayout,
  type StorageSettings,
} from '../../layout/index.ts';
import { ownerKey } from '../../quota/index.ts';

/** Size of the regular files that were found. */
export interface Sized {
  readonly bytes: number;
  /** True if everything could be read, and the time was enough. */
  readonly whole: boolean;
}

/** A directory that is in no owner's usage. */
interface LeftOut extends Sized {
  /** The reason, for people. */
  readonly what: string;
  readonly path: string;
}

export interface Billing {
  /** The repositories of each owner, by `ownerKey`. */
  readonly owners: ReadonlyMap<string, OwnersPlaces>;
  /** The largest first. */
  readonly leftOut: readonly LeftOut[];
}

/** Number of repositories of an owner, and the directory with everything that counts for the owner. */
interface OwnersPlaces {
  readonly count: number;
  readonly directory: string;
}

/**
 * `root` is a physical path. `ownerless`: repositories that have no owner by these settings; `apart`:
 * physical directories that are listed elsewhere. A size that is not complete at `deadline` is not `whole`.
 */
export function billing(
  root: string,
  storages: readonly StorageSettings[],
  { ownerless, apart }: { readonly ownerless: readonly string[]; readonly apart: readonly string[] },
  excluded: readonly string[],
  deadline: number,
): Billing {
  const owners = new Map<string, OwnersPlaces>();
  const billed: string[] = [];
  for (const found of discover(resolveLayout(storages, excluded))) {
    if (found.type !== 'unit' || found.unit.ownerFault !== undefined) continue;
    const { path, owner, kind } = found.unit;
    billed.push(path);
    if (owner === null) continue;
    const before = owners.get(ownerKey(owner, true));
    const directory = before === undefined ? dirname(path) : commonDirectory(before.directory, path);
    const count = (before?.count ?? 0) + (holdsRepositories(kind) ? 1 : 0);
    owners.set(ownerKey(owner, true), { count, directory });
  }
  const rest = outside(root, [...billed, ...apart], ownerless);
  const leftOut = rest.directories.map(({ what, path }, index) => ({
    what,
    path,
    ...sizeOf(path, shareOf(deadline, rest.directories.length - index)),
  }));
  const loose = { what: 'files beside repositories', path: root, ...rest.files };
  const shown = [...leftOut, loose].filter(({ bytes, whole }) => bytes > 0 || !whole);
  return { owners, leftOut: shown.sort((a, b) => b.bytes - a.bytes) };
}

/** The deadline of the next of `left` tasks, so that none takes the time of the others. */
export function shareOf(deadline: number, left: number): number {
  const now = performance.now();
  return now + (deadline - now) / left;
}

function commonDirectory(directory: string, path: string): string {
  let common = directory;
  while (!isWithin(path, common)) common = dirname(common);
  return common;
}

/** The outermost directories without billed data, and the files beside directories with billed data. */
function outside(root: string, known: readonly string[], ownerless: readonly string[]) {
  const ends = new Set(known);
  const without = new Set(ownerless);
  const above = new Set<string>();
  for (const path of [...known, ...ownerless]) {
    for (let at = dirname(path); isWithin(at, root) && !above.has(at); at = dirname(at)) above.add(at);
  }
  const directories: Pick<LeftOut, 'what' | 'path'>[] = [];
  let bytes = 0;
  let whole = true;
  const waiting = [root];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (ends.has(path)) continue;
    if (without.has(path)) directories.push({ what: 'a repository without an owner', path });
    else if (!above.has(path)) directories.push({ what: 'no bare repository', path });
    else {
      const here = contentOf(path);
      bytes += here.bytes;
      whole &&= here.whole;
      waiting.push(...here.directories);
    }
  }
  return { directories, files: { bytes, whole } };
}

/** The size of the files in a directory, and the directories in it; links are not followed. */
function contentOf(directory: string): Sized & { readonly directories: readonly string[] } {
  const directories: string[] = [];
  let bytes = 0;
  try {
    beforeLook(directory);
    const entries: Dirent<Buffer>[] = readdirSync(encodePath(directory), {
      withFileTypes: true,
      encoding: 'buffer',
    });
    for (const entry of entries) {
      const path = `${directory === '/' ? '' : directory}/${decodePath(entry.name)}`;
      if (entry.isDirectory()) directories.push(path);
      else if (entry.isFile()) bytes += lstatSync(encodePath(path)).size;
    }
  } catch (error) {
    if (systemCode(error) === null) throw error;
    return { bytes, whole: false, directories };
  }
  return { bytes, whole: true, directories };
}

export function sizeOf(directory: string, deadline: number): Sized {
  const waiting = [directory];
  let bytes = 0;
  let whole = true;
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (performance.now() > deadline) return { bytes, whole: false };
    const here = contentOf(path);
    bytes += here.bytes;
    whole &&= here.whole;
    waiting.push(...here.directories);
  }
  return { bytes, whole };
}
