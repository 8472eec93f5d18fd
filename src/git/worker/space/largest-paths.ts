/** Finds the paths that take most on the disk in the whole history, by what removing each would free. */

import { decodePath } from '../../../layout/index.ts';
import type { SpaceReport } from '../../../wire/index.ts';
import { longestPointer } from './lfs.ts';
import { allTips } from './measure.ts';
import type { RepositoryView } from './view.ts';

export type LargePath = Omit<SpaceReport['paths'][number], 'frees' | 'commands'>;

interface PathHistory {
  readonly paths: readonly LargePath[];
  readonly objects: number;
  readonly bytes: number;
  /** Ids of objects that may be pointers of git-lfs: short blobs, and all of alternates; null: too many. */
  readonly possiblePointers: readonly string[] | null;
  /** The time was over before all names were found: less may be freed. */
  readonly isCut: boolean;
}

const mostPaths = 20;
/** Room for other names of the largest files. */
const mostCandidates = 60;
/** Numbers beyond which the smaller half is forgotten: of more, one sort keeps judgements waiting. */
const mostVersions = 20_000;
const mostRemembered = 20_000;
/** Longer ones belong to nobody's files, and so many of them would fill the memory. */
const longestPath = 1024;
const mostPossiblePointers = 500_000;
/** A version with as many names, such as an empty file, belongs to none of them. */
const mostNamesKnown = 20;
const mostOthers = 5;
/** Share of a file's bytes below which removing another name of it is not worth while. */
const leastShare = 0.02;

/** Goes through every object once, and then through every commit, unless `mostMs` are over. */
export async function largestPaths(
  view: RepositoryView,
  { wantsPointers, mostMs }: { readonly wantsPointers: boolean; readonly mostMs: number },
): Promise<PathHistory> {
  const begun = performance.now();
  const sums = new Map<string, Sum>();
  /** The largest ones; of those below `leastSize` some were forgotten. */
  const versions: StoredVersion[] = [];
  let leastSize = 0;
  const addVersion = ({ id, path, base, ...sizes }: StoredVersion): void => {
    if (sizes.size < leastSize) return;
    versions.push({ id: ownText(id), path: ownText(path), base: ownText(base), ...sizes });
    if (versions.length <= mostVersions) return;
    versions.sort((a, b) => b.size - a.size);
    versions.length = Math.floor(mostVersions / 2);
    leastSize = versions.at(-1)?.size ?? 0;
  };
  const possiblePointers: string[] = [];
  const addPossible = (id: string): void => {
    if (wantsPointers && possiblePointers.length <= mostPossiblePointers) possiblePointers.push(ownText(id));
  };
  let objects = 0;
  let bytes = 0;
  const format =
    '--batch-check=%(objecttype) %(objectsize:disk) %(objectsize) %(deltabase) %(objectname) %(rest)';
  await view.lines(
    [
      { args: ['rev-list', '--objects', ...allTips] },
      { args: ['cat-file', '--buffer', format], isLocal: true },
    ],
    line => {
      const [, type, disk, size, base = '', name = '', path = ''] =
        /^(blob|tree|commit|tag) (\d+) (\d+) ([0-9a-f]+) ([0-9a-f]+)(?: (.*))?$/s.exec(line) ?? [];
      if (type === undefined) {
        // Only an alternate has it.
        const [, borrowed] = /^([0-9a-f]+) missing$/.exec(line) ?? [];
        if (borrowed !== undefined) addPossible(borrowed);
        return;
      }
      objects += 1;
      bytes += Number(disk);
      if (type !== 'blob') return;
      if (Number(size) < longestPointer) addPossible(name);
      if (path === '' || path.length > longestPath) return;
      const sum = sums.get(path);
      if (sum === undefined) sums.set(ownText(path), { bytes: Number(disk), versions: 1 });
      else {
        sum.bytes += Number(disk);
        sum.versions += 1;
      }
      if (sums.size > mostRemembered) forgetSmaller(sums);
      addVersion({ id: name, path, bytes: Number(disk), size: Number(size), base });
    },
  );
  const first = [...sums].sort(([, a], [, b]) => b.bytes - a.bytes).slice(0, mostCandidates);
  const candidates = new Set(first.map(([path]) => path));
  const known = versions
    .filter(({ path }) => candidates.has(path))
    .map(version => ({ ...version, paths: new Set([version.path]) }));
  const isWhole = await findOtherNames(view, known, begun + mostMs);
  const largest = pathGroups(first, known, sums, versions).slice(0, mostPaths);
  const present = await inDefaultBranch(
    view,
    largest.map(({ path }) => path),
  );
  return {
    objects,
    bytes,
    possiblePointers: possiblePointers.length > mostPossiblePointers ? null : possiblePointers,
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

function forgetSmaller(sums: Map<string, Sum>): void {
  const larger = [...sums].sort(([, a], [, b]) => b.bytes - a.bytes).slice(0, Math.ceil(sums.size / 2));
  sums.clear();
  for (const [path, sum] of larger) sums.set(path, sum);
}

/** Returns the paths that HEAD has, as bytes in Latin-1. */
async function inDefaultBranch(view: RepositoryView, paths: readonly string[]): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  if (paths.length === 0) return found;
  const input = paths.map(path => `HEAD:${path}\n`).join('');
  let index = 0;
  // git prints one line for each path: its type, or that it is missing, as all are if HEAD is unborn.
  await view.lines(
    [{ args: ['cat-file', '--batch-check=%(objecttype)'] }],
    line => {
      const path = paths[index++];
      if (line === 'blob' && path !== undefined) found.add(path);
    },
    Buffer.from(input, 'latin1'),
  );
  return found;
}

/** A version of a file; the name is in bytes, as Latin-1. */
interface StoredVersion {
  readonly id: string;
  /** The one name that git lists for it. */
  readonly path: string;
  readonly bytes: number;
  readonly size: number;
  /** The id of the version that this one is stored as a difference from; only zeros: it is stored whole. */
  readonly base: string;
}

interface Version extends StoredVersion {
  readonly paths: Set<string>;
}

/** Copies a text in Latin-1: a part of a longer text would keep all of that in memory. */
function ownText(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}

/** Goes through every commit and adds all names to the versions; false if the time was over before. */
async function findOtherNames(
  view: RepositoryView,
  versions: readonly Version[],
  deadline: number,
): Promise<boolean> {
  if (versions.length === 0) return true;
  const byId = new Map(versions.map(version => [version.id, version]));
  const leftMs = Math.floor(deadline - performance.now());
  if (leftMs <= 0) return false;
  const { signal } = view.limits;
  const overdue = AbortSignal.timeout(leftMs);
  // Records alternate: a change, then its path.
  let id: string | null = null;
  const take = (record: string): void => {
    if (id === null) {
      // The new id stands in front of the status, behind the ids in the parents.
      const end = record.lastIndexOf(' ');
      id = record.slice(record.lastIndexOf(' ', end - 1) + 1, end);
      return;
    }
    const paths = byId.get(id)?.paths;
    id = null;
    // rev-list cuts names off at a line feed, too.
    const [path = ''] = record.split('\n', 1);
    if (paths !== undefined && paths.size < mostNamesKnown && path.length <= longestPath)
      paths.add(ownText(path));
  };
  const args = ['--stdin', '--root', '-r', '-c', '-z', '--raw', '--no-renames', '--no-commit-id'];
  try {
    await view.lines(
      [{ args: ['rev-list', '--all', '--reflog'] }, { args: ['diff-tree', ...args] }],
      take,
      '',
      { end: '\0', signal: AbortSignal.any([signal, overdue]) },
    );
    return true;
  } catch (error) {
    if (overdue.aborted && !signal.aborted) return false;
    throw error;
  }
}

interface Sum {
  bytes: number;
  versions: number;
}

interface PathGroup extends Sum {
  readonly path: string;
  readonly otherNames: readonly string[];
}

/**
 * Puts the files into groups of names that have to be removed together, with the bytes that this frees; no
 * name is in two groups. `all`: all versions that may be stored as differences from these.
 */
function pathGroups(
  first: readonly (readonly [string, Sum])[],
  versions: readonly Version[],
  sums: ReadonlyMap<string, Sum>,
  all: readonly StoredVersion[],
): readonly PathGroup[] {
  const taken = new Set<string>();
  const found: PathGroup[] = [];
  const byPath = Map.groupBy(versions, ({ path }) => path);
  const byBase = Map.groupBy(all, ({ base }) => base);
  for (const [path, sum] of first) {
    if (taken.has(path)) continue;
    const otherNames = otherNamesOf(path, sum, byPath.get(path) ?? []);
    const names = new Set([path, ...otherNames]);
    const group = { path, otherNames, bytes: 0, versions: 0 };
    const freed = new Map<string, Version>();
    for (const name of names) {
      taken.add(name);
      group.bytes += sums.get(name)?.bytes ?? 0;
      group.versions += sums.get(name)?.versions ?? 0;
      for (const version of byPath.get(name) ?? []) {
        if ([...version.paths].every(each => names.has(each))) {
          freed.set(version.id, version);
          continue;
        }
        // Removing this name does not free a version that has others.
        group.bytes -= version.bytes;
        group.versions -= 1;
      }
    }
    group.bytes = Math.max(0, group.bytes - Math.round(storedAnew(freed, byBase)));
    if (group.versions > 0) found.push(group);
  }
  return found.sort((a, b) => b.bytes - a.bytes);
}

/** Returns the other names that hold a large enough share of a file; none if there are too many. */
function otherNamesOf(path: string, { bytes }: Sum, versions: readonly Version[]): readonly string[] {
  const held = new Map<string, number>();
  for (const version of versions) {
    if (version.paths.size >= mostNamesKnown) continue;
    for (const name of version.paths)
      if (name !== path) held.set(name, (held.get(name) ?? 0) + version.bytes);
  }
  const names = [...held].filter(([, each]) => each >= bytes * leastShare).map(([name]) => name);
  return names.length > mostOthers ? [] : names;
}

/**
 * Estimates the bytes that versions take anew which were stored as differences from removed ones: the largest
 * of them is then stored whole.
 */
function storedAnew(
  freed: ReadonlyMap<string, Version>,
  byBase: ReadonlyMap<string, readonly StoredVersion[]>,
): number {
  const heirs = new Map<Version, StoredVersion>();
  for (const version of freed.values())
    for (const dependent of byBase.get(version.id) ?? []) {
      if (freed.has(dependent.id)) continue;
      const root = rootOf(version, freed);
      if ((heirs.get(root)?.size ?? 0) < dependent.size) heirs.set(root, dependent);
    }
  let bytes = 0;
  for (const [root, heir] of heirs)
    bytes += Math.max(0, root.bytes * (heir.size / Math.max(1, root.size)) - heir.bytes);
  return bytes;
}

/** Follows the differences from which a version is stored to the last one that is removed, too. */
function rootOf(version: Version, freed: ReadonlyMap<string, Version>): Version {
  let root = version;
  // git's own chains are shorter.
  for (let steps = 0; steps < 5000; steps++) {
    const base = freed.get(root.base);
    if (base === undefined) break;
    root = base;
  }
  return root;
}
