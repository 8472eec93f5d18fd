/** The whole report about one repository: what takes the space, and what would free how much. */

import type { SpaceReport } from '../../../wire/index.ts';
import { pathAdvice, refAdvice } from './advice.ts';
import { largestPaths } from './largest-paths.ts';
import { lfsObjects, unneededLfs } from './lfs.ts';
import { holdingRefs } from './refs.ts';
import { storedObjects } from './stored.ts';
import type { RepositoryView, RunLimits } from './view.ts';

/** Time for the files if somebody waits for the answer. */
const quickMs = 7000;
/** Time for files and refs together, and the least that refs get. */
const refsMs = 9000;
const leastMs = 1000;

interface LfsPlaces {
  readonly stores: readonly string[];
  readonly ofForge: readonly { readonly oid: string; readonly bytes: number }[] | null;
}

/**
 * Bounded in memory whatever the repository holds, and in time by `limits`. `lfs`: the stores that are this
 * repository's alone, and the objects of a forge's store that only it has; null: these are not known.
 */
export async function explainSpace(
  view: RepositoryView,
  limits: RunLimits,
  { stores, ofForge }: LfsPlaces = { stores: [`${view.path}/lfs`], ofForge: null },
): Promise<SpaceReport> {
  // A push meanwhile makes the unreachable bytes fewer, as in the measurement.
  const stored = await storedObjects(view.path, limits.signal);
  const own = await lfsObjects(stores, limits.signal);
  const others = ofForge?.map(({ oid, bytes }) => [oid, bytes] as const) ?? [];
  const lfs = own === null && ofForge === null ? null : new Map([...(own ?? []), ...others]);
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
  // In the index of a pack, for each object.
  const overhead = (view.settings.objectFormat === 'sha1' ? 28 : 40) + (stored.hasReverseIndex ? 4 : 0);
  return {
    object_bytes: stored.bytes,
    reachable_bytes: history.bytes,
    unreachable_bytes: Math.max(0, stored.bytes - history.bytes),
    objects: history.objects,
    packs: stored.packs,
    loose_objects: stored.loose,
    kept_bytes: stored.keptBytes,
    leftover_bytes: stored.leftoverBytes,
    paths: history.paths.map(path => pathAdvice(path, overhead)),
    refs: holders.refs.map(ref => refAdvice(ref, overhead)),
    namespaces: holders.namespaces,
    lfs: lfs === null ? null : await unneededLfs(view, lfs, history.shortBlobs, limits),
    cut: history.isCut || holders.isCut,
  };
}
