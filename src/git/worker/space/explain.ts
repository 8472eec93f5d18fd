/** The whole report about one repository: what takes the space, and what would free how much. */

import { printable, shellQuoted } from '../../../text/index.ts';
import type { SpaceReport } from '../../../wire/index.ts';
import { inLatin1 } from '../files.ts';
import { type LargePath, largestPaths } from './largest-paths.ts';
import { lfsObjects, unneededLfs } from './lfs.ts';
import { storedObjects } from './measure.ts';
import { type HoldingRef, holdingRefs } from './refs.ts';
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

const longestName = 4096;

/**
 * Adds the bytes that removing a file frees, and the lines to copy. `each`: the bytes of an object in the
 * index of a pack, which are freed with it.
 */
function pathAdvice(found: LargePath, each: number): SpaceReport['paths'][number] {
  const { path, other_names: otherNames, bytes, versions } = found;
  const names = [path, ...otherNames];
  return {
    ...found,
    path: path.slice(0, longestName),
    other_names: otherNames.map(name => name.slice(0, longestName)),
    frees: bytes + versions * each,
    // A shell takes no line that is much longer.
    commands: names.some(name => name.length > longestName) ? [] : pathCommands(names),
  };
}

function refAdvice({ objects, ...found }: HoldingRef, each: number): SpaceReport['refs'][number] {
  const { name, bytes } = found;
  return {
    ...found,
    name: name.slice(0, longestName),
    frees: bytes + objects * each,
    // Nobody can delete the default branch by a push, and nobody wants to.
    commands: found.default_branch ? [] : [`git push origin --delete ${bashQuoted(name)}`],
  };
}

/** One word for bash, in plain characters whatever the name holds. */
export function bashQuoted(text: string): string {
  if (printable(text) === text && text.isWellFormed()) return shellQuoted(text);
  const bytes = [...Buffer.from(inLatin1(text), 'latin1')];
  const escaped = bytes.map(byte =>
    byte >= 0x20 && byte < 0x7f && byte !== 0x27 && byte !== 0x5c
      ? String.fromCharCode(byte)
      : `\\x${byte.toString(16).padStart(2, '0')}`,
  );
  return `$'${escaped.join('')}'`;
}

function pathCommands(paths: readonly string[]): string[] {
  // It takes what begins with a dash for an option.
  const options = paths.map(path => `--path${path.startsWith('-') ? '=' : ' '}${bashQuoted(path)}`);
  return [
    `git filter-repo --invert-paths ${options.join(' ')}`,
    "git push --force origin 'refs/heads/*:refs/heads/*' 'refs/tags/*:refs/tags/*'",
  ];
}
