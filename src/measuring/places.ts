/** Paths of storage that several hosts mount and one walks. A shared path is the same on all hosts. */

import { isWithin } from '../layout/index.ts';
import type { TemplatePlace } from '../scan/index.ts';
import type { HostRoot } from '../store/index.ts';

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
