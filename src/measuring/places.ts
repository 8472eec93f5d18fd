/** Storage that several hosts mount and one of them walks, by the names that all have for it. */

import { isWithin } from '../layout/index.ts';
import type { TemplatePlace } from '../scan/index.ts';
import type { HostRoot } from '../store/index.ts';

/** Tells whether another host walks what lies at a path, links resolved. */
export function isElsewhere(path: string, places: readonly TemplatePlace[]): boolean {
  const around = places.filter(place => isWithin(path, place.path));
  return around.length > 0 && around.every(({ isWalked }) => !isWalked);
}

/** The directories that templates begin with; null where it is not known what is mounted. */
export function rootsIn(places: readonly TemplatePlace[]): readonly HostRoot[] | null {
  const roots = new Map<string, HostRoot>();
  for (const { source, isOfNetwork, isWalked } of places) {
    if (source === null) return null;
    roots.set(source, { source, isOfNetwork, isWalked: isWalked || roots.get(source)?.isWalked === true });
  }
  return [...roots.values()];
}

/** The name that all hosts have for a path of this one; null: it has none. */
export function sharedPathOf(path: string, places: readonly TemplatePlace[]): string | null {
  const place = places.find(one => isWithin(path, one.path));
  return place === undefined || place.source === null ? null : place.source + path.slice(place.path.length);
}

/** The paths that a name of all hosts may stand for among those that are walked here. */
export function ownPathsOf(sharedPath: string, places: readonly TemplatePlace[]): readonly string[] {
  const paths = places.flatMap(({ path, isWalked, source }) =>
    isWalked && source !== null && isWithin(sharedPath, source)
      ? [path + sharedPath.slice(source.length)]
      : [],
  );
  return [...new Set(paths)];
}
