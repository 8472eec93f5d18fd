/** The whole report about one repository: what takes the space, and what would free how much. */

import { type LargePath, largestPaths } from './largest-paths.ts';
import { type LfsObjects, lfsObjects, type UnneededLfs, unneededLfs } from './lfs.ts';
import type { Reachability } from './measure.ts';
import { type HoldingNamespace, type HoldingRef, holdingRefs } from './refs.ts';
import { storedObjects } from './stored.ts';
import type { RepositoryView, RunLimits } from './view.ts';

export interface SpaceFindings extends Omit<Reachability, 'stored'> {
  readonly objectBytes: number;
  readonly objects: number;
  /** The bytes of each object in the index of a pack, which are freed with it. */
  readonly indexBytesPerObject: number;
  readonly packs: number;
  readonly looseObjects: number;
  readonly keptBytes: number;
  readonly leftoverBytes: number;
  readonly paths: readonly LargePath[];
  readonly refs: readonly HoldingRef[];
  readonly namespaces: readonly HoldingNamespace[];
  /** Null: nobody knows which LFS objects are the repository's. */
  readonly lfs: UnneededLfs | null;
  /** There was not enough time to examine everything. */
  readonly isCut: boolean;
}

/** Time for the files if somebody waits for the answer. */
const quickMs = 7000;
/** Time for files and refs together, and the least that refs get. */
const refsMs = 9000;
const leastMs = 1000;

/**
 * Bounded in memory whatever the repository holds, and in time by `limits`. `ownLfs`: finds the LFS objects
 * that are this repository's alone.
 */
export async function explainSpace(
  view: RepositoryView,
  limits: RunLimits,
  ownLfs: () => Promise<LfsObjects | null> = () => lfsObjects([`${view.path}/lfs`], limits.signal),
): Promise<SpaceFindings> {
  // A push meanwhile makes the unreachable bytes fewer, as in the measurement.
  const stored = await storedObjects(view.path, Date.now(), limits.signal);
  const lfs = await ownLfs();
  const begun = performance.now();
  const history = await largestPaths(view, limits, {
    wantsShortBlobs: lfs !== null,
    mostMs: limits.isUrgent === true ? quickMs : limits.timeoutMs / 2,
  });
  const reached = { bytes: history.bytes, objects: history.objects, tookMs: performance.now() - begun };
  const holders = await holdingRefs(
    view,
    reached,
    limits,
    Math.max(begun + refsMs, performance.now() + leastMs),
  );
  const overhead = (view.settings.objectFormat === 'sha1' ? 28 : 40) + (stored.hasReverseIndex ? 4 : 0);
  return {
    objectBytes: stored.bytes,
    reachableBytes: history.bytes,
    unreachableBytes: Math.max(0, stored.bytes - history.bytes),
    objects: history.objects,
    indexBytesPerObject: overhead,
    packs: stored.packs,
    looseObjects: stored.loose,
    keptBytes: stored.keptBytes,
    leftoverBytes: stored.leftoverBytes,
    paths: history.paths,
    refs: holders.refs,
    namespaces: holders.namespaces,
    lfs: lfs === null ? null : await unneededLfs(view, lfs, history.shortBlobs, limits),
    isCut: history.isCut || holders.isCut,
  };
}
