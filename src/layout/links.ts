/**
 * Decides which links in place of an owner, a unit, or the `objects` of a repository are followed.
 *
 * Strangers may make links, and must not cause anything else to be read, counted for somebody, or deleted. So
 * a link is followed only if root or the owner of its target made it, only to a directory below one of
 * `[storage] FOLLOW`, and only to one that no template or other link leads to. Of two links to one target,
 * the first by path wins. The target becomes a root of its own, where the templates go on: so all units have
 * physical paths.
 */

import { lstatSync } from 'node:fs';
import { dirname } from 'node:path';
import { systemCode } from '../errors.ts';
import { beforeLook, coarsestTimeMs, follow } from './disk.ts';
import {
  continuationsOf,
  isComplete,
  type Layout,
  type Root,
  rootAt,
  type Segment,
  statesAt,
  type Track,
} from './layout.ts';
import { encodePath, isWithin, namesOf, pathOf } from './path.ts';
import { holdsRepositories } from './units.ts';

const mostLinks = 1000;

/** Adds a link to those that are followed, if it may be followed. */
export function withLink(layout: Layout, path: string): Layout {
  if (layout.links.has(path) || layout.links.size >= mostLinks) return layout;
  const target = targetOf(layout, path);
  if (target === null) return layout;
  const root: Root = { ...rootAt(target), written: path, isLink: true };
  // The target may have been replaced by a link.
  if (root.path !== target) return layout;
  const links = new Map([...layout.links, [path, root]]);
  if (isOfObjects(layout, path)) return { ...layout, links };
  const tracks = tracksAt(layout, path, target);
  // The link lies behind another one that is not followed now.
  if (tracks.length === 0) return layout;
  const continued = tracks.map(track => ({
    ...track,
    continuations: continuationsOf(track, tracks, layout.exclude).map(next => ({
      ...next,
      track: layout.tracks.length + next.track,
    })),
  }));
  return { ...layout, links, roots: [...layout.roots, root], tracks: [...layout.tracks, ...continued] };
}

/** Returns the tracks of the templates that continue at the target of a link, as they would in its place. */
function tracksAt(layout: Layout, path: string, target: string): readonly Track[] {
  const fixed = namesOf(target).map((text): Segment => ({ is: 'literal', text }));
  return statesAt(layout, namesOf(path)).map(({ track, at, open, owner }) => {
    const rest = track.pattern.slice(at);
    const [begun] = rest;
    if (open && begun?.is === 'repo') rest[0] = { ...begun, before: '' };
    return {
      ...track,
      root: layout.roots.length,
      pattern: [...fixed, ...rest],
      fixedLength: fixed.length,
      linkedOwner: owner,
      continuations: [],
    };
  });
}

/** Tells whether a path is the `objects` of a directory that a template takes for a repository. */
function isOfObjects(layout: Layout, path: string): boolean {
  const names = namesOf(path);
  return (
    names.at(-1) === 'objects' &&
    statesAt(layout, names.slice(0, -1)).some(
      state => isComplete(state) && holdsRepositories(state.track.kind),
    )
  );
}

/** Returns the target of a link; null if the link is not to be followed. */
export function targetOf(layout: Layout, path: string): string | null {
  try {
    const made = linkAt(path);
    const to = follow(path);
    if (made === null || to === null || (to.error === null && !to.directory)) return null;
    const target = pathOf(to.names);
    if (!layout.follow.some(place => place !== target && isWithin(target, place))) return null;
    const taken = [...layout.roots, ...layout.links.values()].map(root => root.path);
    if (taken.some(place => isWithin(target, place) || isWithin(place, target))) return null;
    // If the target's disk is not mounted, only the owner of the storage may make a link that keeps units.
    const isThere = to.error === null && to.existing === to.names.length;
    const place = isThere ? target : layout.roots.find(root => isWithin(path, root.path))?.path;
    const isTrusted = made.uid === 0n || (place !== undefined && statusOf(place).uid === made.uid);
    // If another link has replaced this one meanwhile, the time has changed.
    const isStill = linkAt(path)?.ctimeNs === made.ctimeNs && !mayBeSwapped(path, made.ctimeNs);
    return isTrusted && isStill ? target : null;
  } catch (error) {
    if (systemCode(error) === null) throw error;
    return null;
  }
}

/** Tells whether others than root can replace links there, and one may have been replaced unnoticed. */
function mayBeSwapped(path: string, changedNs: bigint): boolean {
  const { uid, mode } = statusOf(dirname(path));
  if (uid === 0n && (mode & 0o022n) === 0n) return false;
  return Math.abs(Date.now() - Number(changedNs / 1_000_000n)) < coarsestTimeMs;
}

function linkAt(path: string) {
  const stats = statusOf(path);
  return stats.isSymbolicLink() ? stats : null;
}

function statusOf(path: string) {
  beforeLook(path);
  return lstatSync(encodePath(path), { bigint: true });
}
