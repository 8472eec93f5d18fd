/**
 * Space on the file systems of the storage.
 *
 * A file server that hangs takes the I/O worker that asks it with it, and no other disk's answer: it is told
 * as unknown, and is not asked again before that I/O worker has come back.
 */

import { isWithin, type Layout, leavesOf } from '../layout/index.ts';
import type { Leaf } from '../quota/index.ts';
import { within } from '../within.ts';
import type { Hangs } from './hangs.ts';
import type { IoWorkers } from './io-workers.ts';
import type { DiskSpace } from './messages.ts';
import { monotonic } from './shared.ts';

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

interface Disks {
  /** Each file system once. Takes at most `deadlineMs` for each root that hangs, once. Never rejects. */
  spaces(layout: Layout, deadlineMs: number): Promise<readonly WatchedDisk[]>;
  /** From now on nothing is asked. */
  close(): void;
}

/** Number of I/O workers that may hang; then no other root is asked. */
const mostHanging = 4;

export function openDisks(hangs: Hangs, ioWorkers: Pick<IoWorkers, 'take'>): Disks {
  /** The roots that have not answered. */
  const hanging = new Set<string>();
  let asking: Promise<readonly WatchedDisk[]> | null = null;
  let isClosed = false;

  function isBesideHanging(path: string): boolean {
    return hangs.avoidedInHaste().some(place => isWithin(path, place));
  }

  async function spaceAt(path: string, deadlineMs: number): Promise<DiskSpace | null> {
    if (isClosed || hanging.has(path) || isBesideHanging(path) || hanging.size >= mostHanging) return null;
    const client = ioWorkers.take();
    const asked = client.ask({ ask: 'disk', path }, { avoided: hangs.avoided() }).catch(() => null);
    const answer = await within(asked, deadlineMs, 'late' as const);
    if (answer !== 'late') {
      void client.close(0);
      return answer;
    }
    hanging.add(path);
    const at = client.at();
    const release = at === null ? () => {} : hangs.track(path, monotonic() - at.milliseconds);
    void asked.then(() => {
      release();
      // A disk that was only slow, or a thread that was long in starting.
      hanging.delete(path);
      void client.close(0);
    });
    return null;
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
    return [...disks.values()].map(({ path, roots, leaves, space }) => ({
      path,
      roots,
      leaves: [...leaves],
      sizeBytes: space?.sizeBytes ?? null,
      freeBytes: space?.freeBytes ?? null,
      sizeFiles: space?.sizeFiles ?? null,
      freeFiles: space?.freeFiles ?? null,
    }));
  }

  return {
    // Several who ask at the same time are told the same.
    spaces: (layout, deadlineMs) => {
      asking ??= ask(layout, deadlineMs).finally(() => {
        asking = null;
      });
      return asking;
    },
    close: () => {
      isClosed = true;
    },
  };
}
