/** The names under which versions of large files also are, such as the one before a file was moved. */

import { ownText, type Version } from './large-versions.ts';
import type { RepositoryView, RunLimits } from './view.ts';

/** A version with as many names, such as an empty file, belongs to none of them. */
export const mostNamesKnown = 20;

/**
 * Puts all names into the versions, by their ids; false: the time was over before. Goes through every commit.
 */
export async function findOtherNames(
  view: RepositoryView,
  versions: ReadonlyMap<string, Version>,
  limits: RunLimits,
  deadline: number,
): Promise<boolean> {
  if (versions.size === 0) return true;
  const leftMs = Math.floor(deadline - performance.now());
  if (leftMs <= 0) return false;
  const overdue = AbortSignal.timeout(leftMs);
  // A change, and then its path, in turn.
  let id: string | null = null;
  const take = (record: string): void => {
    if (id === null) {
      // The new id is the last of two, or of as many as there are parents and one, in front of the status.
      const end = record.lastIndexOf(' ');
      id = record.slice(record.lastIndexOf(' ', end - 1) + 1, end);
      return;
    }
    const paths = versions.get(id)?.paths;
    id = null;
    // git itself cuts names off there.
    const [path = ''] = record.split('\n', 1);
    if (paths !== undefined && paths.size < mostNamesKnown) paths.add(ownText(path));
  };
  const args = ['--stdin', '--root', '-r', '-c', '-z', '--raw', '--no-renames', '--no-commit-id'];
  try {
    await view.lines(
      [{ args: ['rev-list', '--all', '--reflog'] }, { args: ['diff-tree', ...args] }],
      { ...limits, signal: AbortSignal.any([limits.signal, overdue]) },
      take,
      '',
      '\0',
    );
    return true;
  } catch (error) {
    if (overdue.aborted && !limits.signal.aborted) return false;
    throw error;
  }
}
