/**
 * Space on the file systems of the storage.
 *
 * A file server that hangs costs no other disk its answer: it is told as unknown, and is not asked while a
 * thread waits for it.
 */

import { type Layout, leavesOf } from '../layout/index.ts';
import type { Leaf } from '../quota/index.ts';
import type { DiskThreads } from './disk-threads.ts';

/** A file system with storage roots on it; a root of which nothing is known stands for itself. */
export interface WatchedDisk {
  /** The first of its roots. */
  readonly path: string;
  readonly roots: readonly string[];
  /** The kinds of data below these roots. */
  readonly leaves: readonly Leaf[];
  /** In bytes, as `freeBytes`, which leaves out what is kept for root; null: it did not say. */
  readonly sizeBytes: number | null;
  readonly freeBytes: number | null;
  /**
   * Number of files that it has room for; `freeFiles`: for how many more. 0 if it makes room as it needs it.
   */
  readonly sizeFiles: number | null;
  readonly freeFiles: number | null;
}

const unknown = { sizeBytes: null, freeBytes: null, sizeFiles: null, freeFiles: null };

/** Gives each file system once. Takes at most `deadlineMs` for each root that hangs, and never rejects. */
export async function disksOf(
  { roots, tracks }: Layout,
  threads: Pick<DiskThreads, 'ask' | 'isWaitedFor'>,
  deadlineMs: number,
): Promise<readonly WatchedDisk[]> {
  const disks = new Map<string, WatchedDisk>();
  for (const [index, { path }] of roots.entries()) {
    const space = threads.isWaitedFor(path)
      ? null
      : await threads.ask('disk', [path], path, deadlineMs).catch(() => null);
    const name = space === null ? path : `device ${space.device}`;
    const { device, ...figures } = space ?? { device: null, ...unknown };
    const known = disks.get(name) ?? { path, roots: [], leaves: [], ...figures };
    const leaves = tracks.filter(({ root }) => root === index).flatMap(leavesOf);
    disks.set(name, {
      ...known,
      roots: [...known.roots, path],
      leaves: [...new Set([...known.leaves, ...leaves])],
    });
  }
  return [...disks.values()];
}
