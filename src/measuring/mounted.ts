/**
 * Paths of what several hosts mount, each at a place of its own: what they have in common is the part
 * below the directory that a template begins with.
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isOfNetwork, leavesOf, mountsIn, mountTable, type StorageSettings } from '../layout/index.ts';
import type { Leaf } from '../quota/index.ts';
import type { TemplatePlace } from '../scan/index.ts';

/** Returns the leaves of a section under any VISIBILITY, which may have been another at the last walk. */
export function leavesThere({ kind }: StorageSettings): readonly Leaf[] {
  return leavesOf({ kind, visibility: 'export-ok' });
}

interface Paths {
  /** Something that this host walks may lie there. */
  readonly isHere: boolean;
  /** The path as other hosts that walk there have it. */
  readonly elsewhere: readonly { readonly shared: string; readonly below: string }[];
}

/** Finds the sections of a path, links resolved: several may have templates for the same directory. */
export function pathsOf(
  path: string,
  places: readonly TemplatePlace[],
  storages: readonly StorageSettings[],
): Paths {
  const around = places.filter(place => path.startsWith(`${place.path}/`));
  const sections = around.map(place => ({
    place,
    storage: storages.find(({ kind }) => kind === place.kind),
  }));
  return {
    isHere: sections.some(({ storage }) => storage?.isWalked !== false),
    elsewhere: sections.flatMap(({ place, storage }) =>
      storage?.isWalked === false && storage.shared !== undefined
        ? [{ shared: storage.shared, below: path.slice(place.path.length + 1) }]
        : [],
    ),
  };
}

/**
 * The paths here of what another host tells by its path below: one for each directory that a template
 * begins with.
 */
export function pathsIn(
  shared: string,
  below: string,
  places: readonly TemplatePlace[],
  storages: readonly StorageSettings[],
): readonly string[] {
  const kinds = storages.filter(storage => storage.shared === shared).map(({ kind }) => kind);
  return [...new Set(places.filter(({ kind }) => kinds.includes(kind)).map(({ path }) => join(path, below)))];
}

/**
 * The directories that templates begin with, where `typeAt` gives a type of file system and SHARED no name.
 */
export function unsharedIn(
  places: readonly TemplatePlace[],
  storages: readonly StorageSettings[],
  typeAt: (path: string) => string | null,
): readonly { readonly path: string; readonly type: string; readonly section: string }[] {
  const named = new Set(storages.filter(({ shared }) => shared !== undefined).map(({ kind }) => kind));
  const told = new Set<string>();
  return places.flatMap(({ kind, path }) => {
    const type = named.has(kind) || told.has(`${kind} ${path}`) ? null : typeAt(path);
    told.add(`${kind} ${path}`);
    return type === null ? [] : [{ path, type, section: `storage.${kind}` }];
  });
}

/** Does as `unsharedIn`, with the file systems that are mounted now. */
export async function unsharedNow(
  places: readonly TemplatePlace[],
  storages: readonly StorageSettings[],
): Promise<ReturnType<typeof unsharedIn>> {
  const mountAt = mountTable(mountsIn(await readFile('/proc/self/mountinfo', 'utf8').catch(() => '')));
  return unsharedIn(places, storages, path => {
    const mount = mountAt(path);
    return mount !== null && isOfNetwork(mount) ? mount.type : null;
  });
}
