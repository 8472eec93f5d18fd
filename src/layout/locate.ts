/**
 * Finds the unit that a path is or lies in.
 *
 * Links are followed, so that a link in one owner's tree to another's leads to the other's unit. A path that
 * does not exist yet is matched by its names alone. Synchronous, and a disk may hang: for worker threads.
 */

import { realpathSync, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { readBounded } from '../bounded/index.ts';
import { systemCode } from '../errors.ts';
import { withoutEnd } from '../text.ts';
import { beforeLook, type Destination, follow, notFollowed } from './disk.ts';
import { advance, isComplete, isUnchanged, type Layout, type State, startStates } from './layout.ts';
import { mountsNow, pathsTo } from './mounts.ts';
import { below, canonicalPath, decodePath, encodePath, isWithin, namesOf, pathOf } from './path.ts';
import {
  continuedPlaces,
  type PlacedUnit,
  type Units,
  type Unread,
  unitOf,
  unitsAt,
  unreadAt,
} from './units.ts';

export type Located =
  /** `exists` is false for a unit that is yet to be made. */
  | ({ readonly found: 'unit'; readonly exists: boolean } & PlacedUnit)
  | { readonly found: 'none' }
  /** A place could not be read, so a unit may be there or not. */
  | ({ readonly found: 'unread' } & Unread);

const none: Located = { found: 'none' };

/** Finds the unit of an absolute path: that of a unit, of anything in one, or of something not made yet. */
export function locate(layout: Layout, path: string): Located {
  const canonical = canonicalPath(path);
  if (canonical === null || !canonical.startsWith('/')) return none;
  const destination = follow(canonical);
  return destination === null ? none : unitOnTheWay(layout, destination);
}

/** Finds the unit of a path that no template matches, by device and inode of its directory; see `pathsTo`. */
export function locateByMounts(layout: Layout, path: string, mounts = mountsNow()): Located {
  const there = repositoryAt(path);
  if (there === null) return none;
  for (const other of pathsTo(there.path, mounts)) {
    if (repositoryAt(other)?.id !== there.id) continue;
    const located = locate(layout, other);
    if (located.found !== 'none') return located;
  }
  return none;
}

/**
 * Returns the directory at a path, links resolved; for a linked worktree the directory of its repository,
 * which `commondir` names. Null if there is none, or it cannot be read.
 */
function repositoryAt(path: string): { readonly path: string; readonly id: string } | null {
  try {
    beforeLook(path);
    const real = decodePath(realpathSync(encodePath(commonDirectory(path)), { encoding: 'buffer' }));
    const stats = statSync(encodePath(real), { bigint: true });
    return stats.isDirectory() ? { path: real, id: `${stats.dev}:${stats.ino}` } : null;
  } catch (error) {
    if (systemCode(error) === null) throw error;
    return null;
  }
}

const mostPathBytes = 4096;

function commonDirectory(path: string): string {
  const file = readBounded(encodePath(`${path}/commondir`), { mostBytes: mostPathBytes });
  if (file.kind !== 'file' || !file.whole) return path;
  const named = withoutEnd(decodePath(file.bytes), '\n');
  return isAbsolute(named) ? named : join(path, named);
}

/**
 * Returns the unit that the directory at this path is now; `none` if it is no unit any more. If its storage
 * is not mounted, or has been replaced, the answer is `unread`.
 */
export function inspect(layout: Layout, path: string): Located {
  for (const root of layout.roots) {
    if (!isWithin(path, root.path)) continue;
    try {
      if (!isUnchanged(root)) return { found: 'unread', path: root.path, error: 'ESTALE' };
    } catch (error) {
      return { found: 'unread', ...unreadAt(root.path, error) };
    }
  }
  const located = locate(layout, path);
  if (located.found === 'none' && leadsElsewhere(path)) return { found: 'unread', path, error: notFollowed };
  return located.found === 'unit' && !(located.exists && located.unit.path === path) ? none : located;
}

/** Tells whether a link is in place of a unit or above it: the unit may have been moved behind the link. */
function leadsElsewhere(path: string): boolean {
  const to = follow(path);
  return to !== null && pathOf(to.names) !== path;
}

interface Way extends Destination {
  /** The path that the names make. */
  readonly target: string;
}

/** Finds the outermost match on the way from `/`, then the place inside it that the way leads to. */
function unitOnTheWay(layout: Layout, destination: Destination): Located {
  const way = { ...destination, target: pathOf(destination.names) };
  let path = '/';
  let states = startStates(layout);
  for (let depth = 0; states.length > 0; depth++) {
    if (depth === way.existing && !way.directory) return none;
    const complete = states.filter(isComplete);
    if (complete.length > 0) {
      const located =
        depth <= way.existing
          ? unitHere(layout, path, complete, way)
          : (continuationLater(layout, path, complete, way) ?? later(path, complete, way));
      if (located !== null) return located;
    }
    const name = way.names[depth];
    if (name === undefined) return none;
    path = below(path, name);
    if (depth === way.existing && way.error !== null) return { found: 'unread', path, error: way.error };
    states = advance(layout, states, name);
  }
  return none;
}

/** Returns the unit of an existing directory in which the path ends; null if there is none. */
function unitHere(layout: Layout, path: string, states: readonly State[], way: Way): Located | null {
  let here: Units | null;
  try {
    here = unitsAt(layout, path, states);
  } catch (error) {
    return { found: 'unread', ...unreadAt(path, error) };
  }
  if (here === null) return null;
  const unread = here.unread.find(place => isWithin(way.target, place.path));
  if (unread !== undefined) return { found: 'unread', ...unread };
  const continued = continuationLater(layout, path, here.matches, way);
  if (continued !== null) return continued;
  const [deepest] = here.units
    .filter(({ unit }) => isWithin(way.target, unit.path))
    .sort((a, b) => b.unit.path.length - a.unit.path.length);
  return deepest === undefined ? null : { found: 'unit', ...deepest, exists: true };
}

/** Returns the place inside a unit that the way leads to, if it does not exist yet; nor need the unit. */
function continuationLater(
  layout: Layout,
  path: string,
  matches: readonly State[],
  way: Way,
): Located | null {
  if (!way.directory) return null;
  const [deepest] = [...continuedPlaces(layout, path, matches)]
    .filter(([place]) => isWithin(way.target, place) && namesOf(place).length > way.existing)
    .sort(([a], [b]) => b.length - a.length);
  if (deepest === undefined) return null;
  const [place, states] = deepest;
  return way.error === null ? later(place, states, way) : { found: 'unread', path: place, error: way.error };
}

/** Returns the unit that a directory will be which does not exist yet. */
function later(path: string, states: readonly State[], { names, existing }: Way): Located | null {
  const [winner] = states;
  if (winner === undefined) return null;
  const { fixedLength } = winner.track;
  if (fixedLength > existing) {
    // The storage itself is missing, so nothing is known of its content once it is mounted.
    return { found: 'unread', path: pathOf(names.slice(0, fixedLength)), error: 'ENOENT' };
  }
  try {
    return { found: 'unit', unit: unitOf(path, winner), inner: [], exists: false };
  } catch (error) {
    return { found: 'unread', ...unreadAt(path, error) };
  }
}
