/**
 * One place by several paths: storage that several hosts mount and one of them walks, by the names that all
 * have for it; and a unit's directory by another path, such as a bind mount or a linked worktree.
 */

import { isWithin } from '../layout/index.ts';
import type { Ledger } from '../ledger/index.ts';
import { isRepository } from '../quota/index.ts';
import type { Scanner, TemplatePlace } from '../scan/index.ts';
import { inSlices } from '../slices.ts';
import type { HostRoot } from '../store/index.ts';

interface SameDirectoriesOptions {
  readonly scanner: () => Pick<Scanner, 'ask'>;
  readonly ledger: Pick<Ledger, 'units'>;
  /** Milliseconds on a clock that nobody sets. */
  now(): number;
}

const lookDeadlineMs = 5000;
const unitsPerQuestion = 1000;
const mostCandidates = 20_000;
const mostUnmanaged = 1000;
/** Milliseconds for which a repository that is no unit is not searched for again. */
const unmanagedMs = 10_000;

/** Gives what compares device and inode; units with the same last name first. Null: none is the directory. */
export function sameDirectories({
  scanner,
  ledger: { units },
  now,
}: SameDirectoriesOptions): (path: string) => Promise<string | null> {
  /** Repositories that are no units, and until when they are not searched for. */
  const unmanaged = new Map<string, number>();

  const repositories = (paths: readonly string[], path: string) =>
    scanner()
      .ask('repositories', [paths], path, lookDeadlineMs)
      .catch(() => []);

  return async path => {
    const [there = null] = await repositories([path], path);
    if (there === null) return null;
    if (units.unit(there.path)?.kind === 'walked') return there.path;
    if ((unmanaged.get(there.path) ?? 0) > now()) return null;
    const ending = there.path.slice(there.path.lastIndexOf('/'));
    const alike: string[] = [];
    const others: string[] = [];
    await inSlices(units.walkedBefore(Number.POSITIVE_INFINITY), ({ name, leaf }) => {
      if (isRepository(leaf)) (name.endsWith(ending) ? alike : others).push(name);
    });
    const candidates = [...alike, ...others].slice(0, mostCandidates);
    for (let at = 0; at < candidates.length; at += unitsPerQuestion) {
      const some = candidates.slice(at, at + unitsPerQuestion);
      const found = await repositories(some, path);
      const same = some.find((_, index) => found[index]?.id === there.id);
      if (same !== undefined) return same;
    }
    if (unmanaged.size >= mostUnmanaged) unmanaged.clear();
    unmanaged.set(there.path, now() + unmanagedMs);
    return null;
  };
}

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
