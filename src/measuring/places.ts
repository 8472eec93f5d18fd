/**
 * Paths of units: of storage that several hosts mount and one walks, as people read them, and after their
 * owners were renamed. A shared path is the same on all hosts.
 */

import { posix } from 'node:path';
import { given } from '../given.ts';
import { isWithin } from '../layout/index.ts';
import type { Ledger, OwnerRename } from '../ledger/index.ts';
import type { TemplatePlace } from '../scan/index.ts';
import type { HostRoot } from '../store/index.ts';
import type { KnownPlace } from './forge/visibility.ts';

/** Tells whether another host walks a path, in which links are resolved. */
export function isElsewhere(path: string, places: readonly TemplatePlace[]): boolean {
  const around = places.filter(place => isWithin(path, place.path));
  return around.length > 0 && around.every(({ isWalked }) => !isWalked);
}

/** Returns the fixed directories of the templates by shared paths; null while the mounts are not known. */
export function rootsIn(places: readonly TemplatePlace[]): readonly HostRoot[] | null {
  const roots = new Map<string, HostRoot>();
  for (const { source, isOfNetwork, isWalked } of places) {
    if (source === null) return null;
    roots.set(source, { source, isOfNetwork, isWalked: isWalked || roots.get(source)?.isWalked === true });
  }
  return [...roots.values()];
}

/** Returns the shared path of a path on this host; null if it has none. */
export function sharedPathOf(path: string, places: readonly TemplatePlace[]): string | null {
  const place = places.find(one => isWithin(path, one.path));
  return place === undefined || place.source === null ? null : place.source + path.slice(place.path.length);
}

/** Returns the paths on this host that a shared path may mean, of those that this host walks. */
export function ownPathsOf(sharedPath: string, places: readonly TemplatePlace[]): readonly string[] {
  const paths = places.flatMap(({ path, isWalked, source }) =>
    isWalked && source !== null && isWithin(sharedPath, source)
      ? [path + sharedPath.slice(source.length)]
      : [],
  );
  return [...new Set(paths)];
}

/**
 * Returns the name that the forge has for a walked unit; without one, the part of its path below the fixed
 * directory of its template, which is one of `roots`.
 */
export function unitName(
  { kind, name }: { readonly kind: 'walked' | 'reported'; readonly name: string },
  roots: readonly string[],
  placed: KnownPlace | null,
): string {
  if (kind === 'reported') return name;
  if (placed !== null && placed.title !== null) return placed.title;
  const below = roots
    .map(root => (root === '/' ? root : `${root}/`))
    .filter(root => name.startsWith(root) && name.length > root.length)
    .map(root => name.slice(root.length))
    .sort((a, b) => a.length - b.length);
  // No root is above it: its template has no variable part, or another host has other templates.
  return below[0] ?? posix.basename(name);
}

/**
 * Moves units in the ledger after a forge has renamed owners and their directories: records them under their
 * new paths and owners. Returns the new paths, then the old ones.
 */
export function moveUnits(
  { units, walks }: Pick<Ledger, 'units' | 'walks'>,
  renames: readonly OwnerRename[],
): readonly string[] {
  const seq = walks.nextSeq();
  const moved = renames.flatMap(({ from, to }) =>
    units.unitsOf(from).flatMap(unit => {
      const path = unit.kind === 'walked' ? renamedPath(unit.name, from, to) : unit.name;
      return path === unit.name ? [] : [{ ...unit, before: unit.name, path, owner: to, seq }];
    }),
  );
  // Owners may have swapped names: all old paths are removed before any new one is recorded.
  for (const { before } of moved) walks.recordGone(before, seq);
  for (const { path, owner, leaf, bytes, files, partial, measuredAt, reach, isBilledElsewhere } of moved) {
    // A walk may have found it there already.
    if (units.unitAt(path)?.name === path) continue;
    const kept = given({ reach, isBilledElsewhere });
    walks.record({ path, owner, leaf, bytes, files, partial, measuredAt, seq, ...kept });
  }
  return [...moved.map(({ path }) => path), ...moved.map(({ before }) => before)];
}

/** Returns the path `…/owner/name` with the owner's new name, in lower case as forges store it. */
function renamedPath(path: string, from: string, to: string): string {
  const names = path.split('/');
  const at = names.length - 2;
  return names[at] === from.toLowerCase() ? names.with(at, to.toLowerCase()).join('/') : path;
}
