/** Measures how much of a repository's objects something still needs. */

import { type StoredObjects, storedObjects } from './stored.ts';
import type { RepositoryView, RunLimits } from './view.ts';

export interface Reachability {
  readonly stored: StoredObjects;
  /**
   * Bytes of the objects that refs, HEADs, reflogs or indexes reach, each once; without those of alternates.
   */
  readonly reachableBytes: number;
  /** All others: what no longer is reached, and second copies. */
  readonly unreachableBytes: number;
}

/** All that git's own collection takes for reachable, hidden refs included. */
export const allTips = ['--all', '--reflog', '--indexed-objects'] as const;

/** A push that comes meanwhile makes the unreachable bytes fewer, never more. */
export async function measure(view: RepositoryView, limits: RunLimits): Promise<Reachability> {
  const stored = await storedObjects(view.path, limits.signal);
  const reachableBytes = await bytesOf(view, allTips, limits);
  return { stored, reachableBytes, unreachableBytes: Math.max(0, stored.bytes - reachableBytes) };
}

/**
 * The bytes on the disk of the objects that these arguments of `git rev-list` reach, without those that only
 * alternates have. `input` goes to git, with `--stdin` among the arguments.
 */
export async function bytesOf(
  view: RepositoryView,
  tips: readonly string[],
  limits: RunLimits,
  input = '',
): Promise<number> {
  if (view.hasAlternates) return (await objectsOf(view, tips, limits, input)).bytes;
  const args = ['rev-list', '--objects', '--use-bitmap-index', '--disk-usage', ...tips];
  return Number((await view.git(args, limits, input)).trim());
}

/** Does as `bytesOf`, and counts the objects. */
export async function objectsOf(
  view: RepositoryView,
  tips: readonly string[],
  limits: RunLimits,
  input = '',
): Promise<{ readonly bytes: number; readonly objects: number }> {
  let bytes = 0;
  let objects = 0;
  await view.lines(
    [
      { args: ['rev-list', '--objects', '--no-object-names', '--use-bitmap-index', ...tips] },
      { args: ['cat-file', '--buffer', '--batch-check=%(objectsize:disk)'], isLocal: true },
    ],
    limits,
    // An object that only an alternate has is said to be missing.
    line => {
      if (!/^\d+$/.test(line)) return;
      bytes += Number(line);
      objects += 1;
    },
    input,
  );
  return { bytes, objects };
}
