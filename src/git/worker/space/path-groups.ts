/** Files by what removing each from the history frees. */

import type { StoredVersion, Version } from './large-versions.ts';
import { mostNamesKnown } from './other-names.ts';

const mostOthers = 5;
/** Share of a file's bytes below which removing another name of it is not worth while. */
const leastShare = 0.02;

/** The bytes of all versions with a name, and how many they are. */
export interface Sum {
  bytes: number;
  versions: number;
}

interface PathGroup extends Sum {
  readonly path: string;
  readonly otherNames: readonly string[];
}

/**
 * Puts the files into groups of names that go together, with what removing each group frees; no file is in
 * two of them. `all` are the versions of any file that may be stored as differences from these.
 */
export function pathGroups(
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

/** Those that hold enough of it; none where they are many. */
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
 * The bytes that others take which are stored as differences from what goes: the largest of them takes its
 * place, and the rest are stored as differences from that one.
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

/** The last that goes of those from which this one is stored as a difference. */
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
