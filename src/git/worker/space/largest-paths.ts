/** The paths that take most on the disk over all of the history. */

import { decodePath } from '../../../layout/index.ts';
import type { SpaceReport } from '../../../wire/index.ts';
import { LargeVersions, ownText } from './large-versions.ts';
import { allTips } from './measure.ts';
import { findOtherNames } from './other-names.ts';
import { pathGroups, type Sum } from './path-groups.ts';
import type { RepositoryView, RunLimits } from './view.ts';

export type LargePath = Omit<SpaceReport['paths'][number], 'frees' | 'commands'>;

interface PathHistory {
  readonly paths: readonly LargePath[];
  readonly objects: number;
  /** The bytes of all of them. */
  readonly bytes: number;
  /** Object ids of blobs that are short enough for pointers of git-lfs, up to a number. */
  readonly shortBlobs: readonly string[];
  /** The time was over before all names were found: less may be freed. */
  readonly isCut: boolean;
}

const mostPaths = 20;
/** Room for other names of the largest files. */
const mostCandidates = 60;
const mostVersions = 50_000;
/** Once so many are known, the smaller half is forgotten. */
const mostRemembered = 200_000;
const longestPointer = 1024;
const mostShortBlobs = 500_000;

interface PathOptions {
  /** There is an LFS store. */
  readonly wantsShortBlobs: boolean;
  /** Milliseconds that the whole may take, if what is not found out then can be done without. */
  readonly mostMs: number;
}

/** Goes through every object once, and then through every commit. */
export async function largestPaths(
  view: RepositoryView,
  limits: RunLimits,
  { wantsShortBlobs, mostMs }: PathOptions,
): Promise<PathHistory> {
  const begun = performance.now();
  const sums = new Map<string, Sum>();
  const versions = new LargeVersions(mostVersions);
  const shortBlobs: string[] = [];
  let objects = 0;
  let bytes = 0;
  const format =
    '--batch-check=%(objecttype) %(objectsize:disk) %(objectsize) %(deltabase) %(objectname) %(rest)';
  await view.lines(
    [
      { args: ['rev-list', '--objects', ...allTips] },
      { args: ['cat-file', '--buffer', format], isLocal: true },
    ],
    limits,
    line => {
      const [, type, disk, size, base = '', name = '', path = ''] =
        /^(blob|tree|commit|tag) (\d+) (\d+) ([0-9a-f]+) ([0-9a-f]+)(?: (.*))?$/s.exec(line) ?? [];
      if (type === undefined) return;
      objects += 1;
      bytes += Number(disk);
      if (type !== 'blob') return;
      if (wantsShortBlobs && Number(size) < longestPointer && shortBlobs.length < mostShortBlobs)
        shortBlobs.push(name);
      if (path === '') return;
      const sum = sums.get(path);
      if (sum === undefined) sums.set(ownText(path), { bytes: Number(disk), versions: 1 });
      else {
        sum.bytes += Number(disk);
        sum.versions += 1;
      }
      if (sums.size > mostRemembered) forgetSmaller(sums);
      versions.add({ id: name, path, bytes: Number(disk), size: Number(size), base });
    },
  );
  const first = [...sums].sort(([, a], [, b]) => b.bytes - a.bytes).slice(0, mostCandidates);
  const known = versions.of(new Set(first.map(([path]) => path)));
  const isWhole = await findOtherNames(view, known, limits, begun + mostMs);
  const largest = pathGroups(first, [...known.values()], sums, versions.all).slice(0, mostPaths);
  const present = await inDefaultBranch(
    view,
    largest.map(({ path }) => path),
    limits,
  );
  return {
    objects,
    bytes,
    shortBlobs,
    isCut: !isWhole,
    paths: largest.map(({ path, otherNames, ...sum }) => ({
      ...sum,
      path: nameIn(path),
      other_names: otherNames.map(nameIn),
      in_default_branch: present.has(path),
    })),
  };
}

function nameIn(path: string): string {
  return decodePath(Buffer.from(path, 'latin1'));
}

function forgetSmaller(sums: Map<string, { bytes: number }>): void {
  const bytes = [...sums.values()].map(sum => sum.bytes).sort((a, b) => a - b);
  const middle = bytes[Math.floor(bytes.length / 2)] ?? 0;
  let left = Math.floor(bytes.length / 2);
  for (const [path, sum] of sums) {
    if (left === 0) return;
    if (sum.bytes > middle) continue;
    sums.delete(path);
    left -= 1;
  }
}

/** Those of the paths, as bytes in Latin-1, that HEAD has. */
async function inDefaultBranch(
  view: RepositoryView,
  paths: readonly string[],
  limits: RunLimits,
): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  if (paths.length === 0) return found;
  const input = paths.map(path => `HEAD:${path}\n`).join('');
  let index = 0;
  // One line for each: what is there, or that it is missing, as it is where HEAD is unborn.
  await view.lines(
    [{ args: ['cat-file', '--batch-check=%(objecttype)'] }],
    limits,
    line => {
      const path = paths[index++];
      if (line === 'blob' && path !== undefined) found.add(path);
    },
    Buffer.from(input, 'latin1'),
  );
  return found;
}
