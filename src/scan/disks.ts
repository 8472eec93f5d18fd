/**
 * Space on the file systems of the storage.
 *
 * A file server that hangs costs no other disk its answer: it is told as unknown, and is not asked while a
 * thread waits for it.
 */

import { type Layout, leavesOf } from '../layout/index.ts';
import type { Leaf } from '../quota/index.ts';
import type { DiskThreads } from './disk-threads.ts';
import type { Hangs } from './hangs.ts';
import type { DiskSpace } from './messages.ts';

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

/**
 * Returns a function that gives each file system once. It takes at most `deadlineMs` for each root that
 * hangs, once, and never rejects.
 */
export function openDisks(
  hangs: Pick<Hangs, 'isWaitedFor'>,
  threads: Pick<DiskThreads, 'ask'>,
): (layout: Layout, deadlineMs: number) => Promise<readonly WatchedDisk[]> {
  let asking: Promise<readonly WatchedDisk[]> | null = null;

  async function spaceAt(path: string, deadlineMs: number): Promise<DiskSpace | null> {
    if (hangs.isWaitedFor(path)) return null;
    return threads.ask({ ask: 'disk', path }, path, deadlineMs).catch(() => null);
  }

  async function ask({ roots, tracks }: Layout, deadlineMs: number): Promise<readonly WatchedDisk[]> {
    const disks = new Map<
      string,
      { path: string; roots: string[]; leaves: Set<Leaf>; space: DiskSpace | null }
    >();
    for (const [index, { path }] of roots.entries()) {
      const space = await spaceAt(path, deadlineMs);
      const name = space === null ? path : `device ${space.device}`;
      const disk = disks.get(name) ?? { path, roots: [], leaves: new Set(), space };
      disk.roots.push(path);
      disks.set(name, disk);
      for (const track of tracks) {
        if (track.root === index) for (const leaf of leavesOf(track)) disk.leaves.add(leaf);
      }
    }
    return [...disks.values()].map(({ path, roots, leaves, space }) => {
      const { sizeBytes, freeBytes, sizeFiles, freeFiles } = space ?? unknown;
      return { path, roots, leaves: [...leaves], sizeBytes, freeBytes, sizeFiles, freeFiles };
    });
  }

  // Several who ask at the same time are told the same.
  return (layout, deadlineMs) => {
    asking ??= ask(layout, deadlineMs).finally(() => {
      asking = null;
    });
    return asking;
  };
}
