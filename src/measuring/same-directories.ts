/** Finds the unit that is the same directory as another path, such as a bind mount or a linked worktree. */

import type { Ledger } from '../ledger/index.ts';
import { isRepository } from '../quota/index.ts';
import type { Scanner } from '../scan/index.ts';
import { inSlices } from '../slices.ts';

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

/**
 * Returns a function that compares device and inode; units with the same last name come first. Null: no unit
 * is this directory.
 */
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
