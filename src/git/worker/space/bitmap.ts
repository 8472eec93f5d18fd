/** Writes a bitmap, with which the next measurement takes a hundredth of the time. */

import { isAtLeast } from './git-programs.ts';
import { repack } from './repack.ts';
import { UnusableRepository } from './unusable-repository.ts';
import type { RepositoryView, RunLimits } from './view.ts';

/**
 * Covers all packs by one bitmap. Loose objects that something reaches go into a pack before; nothing is
 * deleted that is not in a pack. Where git cannot do that, everything stays as it is.
 */
export async function writeBitmap(view: RepositoryView, limits: RunLimits): Promise<void> {
  if (view.hasAlternates || !isAtLeast(view.program, 2, 34)) return;
  try {
    await repack(view, [], limits);
    await view.git(['multi-pack-index', 'write', '--bitmap', '--no-progress'], limits);
  } catch (error) {
    // Such as an object that no pack has: measuring goes on without one.
    if (!(error instanceof UnusableRepository)) throw error;
  }
}
