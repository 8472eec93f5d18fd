/**
 * Questions of the layout to the disk: what exists, what a directory holds, where a path leads.
 *
 * That something is not there is an answer; any other failure of the system is thrown, since
 * nobody may take it for an absence.
 */

import { lstatSync, readlinkSync, type Stats } from 'node:fs';
import { systemCode } from '../errors.ts';
import { list } from './listing.ts';
import { below, decodePath, encodePath, namesOf, pathOf } from './path.ts';
import { beforeLook, DiskHangs, saysHangs } from './watched.ts';

type EntryType = 'directory' | 'link' | 'other';

/** A large directory that is read in pieces is looked at again and again. */
const entriesPerLook = 1024;

const absences: ReadonlySet<string | null> = new Set(['ENOENT', 'ENOTDIR']);

/** Returns the type of the entry at `path`, without following a link at its end; null if there is none. */
export function entryAt(path: string): EntryType | null {
  beforeLook(path);
  try {
    const stats = lstatSync(encodePath(path), { throwIfNoEntry: false });
    if (stats === undefined) return null;
    return stats.isDirectory() ? 'directory' : stats.isSymbolicLink() ? 'link' : 'other';
  } catch (error) {
    if (absences.has(systemCode(error))) return null;
    throw error;
  }
}

/** The status of the directory at `path`; null: there is none, or the system does not say. */
export function directoryStatus(path: string): Stats | null {
  try {
    beforeLook(path);
    const stats = lstatSync(encodePath(path), { throwIfNoEntry: false });
    return stats?.isDirectory() === true ? stats : null;
  } catch (error) {
    if (systemCode(error) === null) throw error;
    return null;
  }
}

/** The names of the directories in a directory; null where it is gone. */
export function directoriesIn(path: string): string[] | null {
  beforeLook(path);
  const location = encodePath(path);
  try {
    const stats = lstatSync(location, { throwIfNoEntry: false });
    if (stats?.isDirectory() !== true) return null;
    const names: string[] = [];
    let entries = 0;
    for (const entry of list(location, stats.size).entries) {
      entries += 1;
      if (entries % entriesPerLook === 0) beforeLook(path);
      if (entry.isDirectory()) names.push(entry.name);
    }
    return names;
  } catch (error) {
    if (absences.has(systemCode(error)) && entryAt(path) !== 'directory') return null;
    throw error;
  }
}

/** Destination of a path, as far as it exists. */
export interface Destination {
  /** The names from `/`, links resolved; those that do not exist follow as they were written. */
  readonly names: readonly string[];
  /** Number of the names that exist. */
  readonly existing: number;
  /** Tells whether the last existing one is a directory. */
  readonly directory: boolean;
  /** The system's code where it would not say what the next name is; null where that is not there. */
  readonly error: string | null;
}

const mostLinks = 40;

/** Follows an absolute path; null where `..` comes after what does not exist. */
export function follow(path: string): Destination | null {
  const pending = namesOf(path).reverse();
  let names: string[] = [];
  let directory = true;
  let links = 0;
  const stoppedAt = (error: string | null): Destination | null => {
    if (pending.includes('..')) return null;
    return { names: [...names, ...pending.reverse()], existing: names.length, directory, error };
  };
  for (let name = pending.at(-1); name !== undefined; name = pending.at(-1)) {
    if (name === '..') {
      if (!directory) return null;
      names.pop();
      pending.pop();
      continue;
    }
    const at = pathOf([...names, name]);
    try {
      const entry = entryAt(at);
      if (entry === null) return stoppedAt(null);
      if (entry === 'link') {
        links += 1;
        if (links > mostLinks) return stoppedAt('ELOOP');
        const target = decodePath(readlinkSync(encodePath(at), { encoding: 'buffer' }));
        if (target.startsWith('/')) names = [];
        pending.splice(-1, 1, ...namesOf(target).reverse());
        continue;
      }
      directory = entry === 'directory';
    } catch (error) {
      const code = systemCode(error);
      if (code === null) throw error;
      return stoppedAt(absences.has(code) ? null : code);
    }
    names.push(name);
    pending.pop();
  }
  return stoppedAt(null);
}

/**
 * Goes along a path before something else follows its links at once, so that the place which hangs is told,
 * and not a link that leads there.
 */
export function beforeFollow(path: string): void {
  const to = follow(path);
  const leadsTo = to === null ? path : pathOf(to.names);
  if (to !== null && saysHangs(to.error)) throw new DiskHangs(leadsTo);
  beforeLook(leadsTo);
}

/** Tells whether these names lead from a directory to another one, over directories alone, no links. */
export function leadToDirectory(directory: string, names: readonly string[]): boolean {
  let path = directory;
  for (const name of names) {
    path = below(path, name);
    if (entryAt(path) !== 'directory') return false;
  }
  return true;
}
