/** The paths that take most on the disk over all of the history. */

import { decodePath } from '../../layout/index.ts';
import { allTips } from './measure.ts';
import type { RepositoryView, RunLimits } from './view.ts';

export interface LargePath {
  readonly path: string;
  /** Bytes of all versions, each once. */
  readonly bytes: number;
  readonly versions: number;
  /** The default branch still has it. */
  readonly isInDefaultBranch: boolean;
}

export interface PathHistory {
  readonly paths: readonly LargePath[];
  readonly objects: number;
  /** The bytes of all of them. */
  readonly bytes: number;
  /** Object ids of blobs that are short enough for pointers of git-lfs, up to a number. */
  readonly shortBlobs: readonly string[];
}

const mostPaths = 20;
/** Once so many are known, the smaller half is forgotten. */
const mostRemembered = 200_000;
const longestPointer = 1024;
const mostShortBlobs = 500_000;

/** Goes through every object once; `wantsShortBlobs` where there is an LFS store. */
export async function largestPaths(
  view: RepositoryView,
  limits: RunLimits,
  wantsShortBlobs: boolean,
): Promise<PathHistory> {
  const sums = new Map<string, { bytes: number; versions: number }>();
  const shortBlobs: string[] = [];
  let objects = 0;
  let bytes = 0;
  const format = '--batch-check=%(objecttype) %(objectsize:disk) %(objectsize) %(objectname) %(rest)';
  await view.lines(
    [
      { args: ['rev-list', '--objects', ...allTips] },
      { args: ['cat-file', '--buffer', format], isLocal: true },
    ],
    limits,
    line => {
      const [, type, disk, size, name = '', path = ''] =
        /^(blob|tree|commit|tag) (\d+) (\d+) ([0-9a-f]+)(?: (.*))?$/s.exec(line) ?? [];
      if (type === undefined) return;
      objects += 1;
      bytes += Number(disk);
      if (type !== 'blob') return;
      if (wantsShortBlobs && Number(size) < longestPointer && shortBlobs.length < mostShortBlobs)
        shortBlobs.push(name);
      if (path === '') return;
      const sum = sums.get(path);
      if (sum === undefined) sums.set(path, { bytes: Number(disk), versions: 1 });
      else {
        sum.bytes += Number(disk);
        sum.versions += 1;
      }
      if (sums.size > mostRemembered) forgetSmaller(sums);
    },
  );
  const largest = [...sums].sort(([, a], [, b]) => b.bytes - a.bytes).slice(0, mostPaths);
  const present = await inDefaultBranch(
    view,
    largest.map(([path]) => path),
    limits,
  );
  return {
    objects,
    bytes,
    shortBlobs,
    paths: largest.map(([path, sum]) => ({
      path: decodePath(Buffer.from(path, 'latin1')),
      ...sum,
      isInDefaultBranch: present.has(path),
    })),
  };
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
