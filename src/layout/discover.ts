/**
 * Finds all units of a layout by walking the directories above them.
 *
 * One walk serves all templates: each directory is listed once, and only if a template that is walked here
 * can still match below. It follows only the links of the layout, looks into a unit only for the literal
 * places that other templates name, and throws for nothing on the disk. Synchronous, for worker threads; a
 * caller stops the walk by taking no more values.
 */

import { runToEnd, type Work } from '../turns.ts';
import { entryAt, follow, namesByType } from './disk.ts';
import {
  advance,
  isComplete,
  isUnchanged,
  type Layout,
  layoutWithoutLinks,
  onlyNext,
  type Root,
  type State,
  type StorageSettings,
  statesAt,
  walkedRoots,
} from './layout.ts';
import { targetOf, withLink } from './links.ts';
import { locate } from './locate.ts';
import { below, isWithin, namesOf } from './path.ts';
import {
  holdsRepositories,
  type PlacedUnit,
  type Unit,
  type Units,
  type Unread,
  unfollowed,
  unitsAt,
  unreadAt,
} from './units.ts';

/** Returns a directory with the states of its path. */
export function directoryAt(layout: Layout, path: string): Directory {
  return { path, states: statesAt(layout, namesOf(path)) };
}

export type Discovered =
  | ({ readonly type: 'unit' } & PlacedUnit)
  /** The place cannot be read, so units that are known there or below must be kept. */
  | ({ readonly type: 'unread' } & Unread)
  /** A link that may be followed, and that the layout does not follow yet. */
  | { readonly type: 'link'; readonly path: string }
  /** A fault at this path; `what` describes it for a person. */
  | { readonly type: 'fault'; readonly path: string; readonly what: string }
  /** A directory above the units was looked through. */
  | { readonly type: 'listed'; readonly path: string };

/** Yields every unit exactly once, and all places that could not be read. */
export function* discover(layout: Layout): Generator<Discovered, void> {
  const roots = walkedRoots(layout);
  const present = roots.filter(root => root.state === 'present');
  for (const { state, path, error } of roots) {
    if (state !== 'present') yield { type: 'unread', path, error: error ?? absence[state] };
  }
  const told = new Set<string>();
  for (const root of outermost(present)) {
    for (const found of walk(layout, root.path)) {
      if (found.type === 'fault') {
        // A fault of an owner's directory is reported once, not for each unit in it.
        const fault = `${found.path}\0${found.what}`;
        if (told.has(fault)) continue;
        told.add(fault);
      }
      yield found;
    }
  }
  // Checked at the end, for a root that was unmounted during the walk looks like one without units.
  for (const root of present) {
    try {
      if (!isUnchanged(root)) yield { type: 'unread', path: root.path, error: 'ESTALE' };
    } catch (error) {
      yield { type: 'unread', ...unreadAt(root.path, error) };
    }
  }
}

const absence = { missing: 'ENOENT', unreadable: 'EACCES', 'not a directory': 'ENOTDIR' } as const;

export interface Directory {
  readonly path: string;
  /** States that may still match below; never empty. */
  readonly states: readonly State[];
}

function* walk(layout: Layout, root: string): Generator<Discovered, void> {
  const pending: Directory[] = [];
  yield* look(layout, directoryAt(layout, root), pending);
  for (let directory = pending.pop(); directory !== undefined; directory = pending.pop()) {
    const { names, links, unread } = namesInTemplate(directory);
    for (const place of unread) yield { type: 'unread', ...place };
    for (const name of links) {
      const child = childOf(layout, directory, name);
      if (child !== null) yield* lookAtLink(layout, child);
    }
    for (const name of names) {
      const child = childOf(layout, directory, name);
      if (child !== null) yield* look(layout, child, pending);
    }
    yield { type: 'listed', path: directory.path };
  }
}

/** Returns a directory in a listed one; null if no template that is walked here can match it or below it. */
export function childOf(layout: Layout, { path, states }: Directory, name: string): Directory | null {
  const next = advance(layout, states, name);
  return next.some(({ track }) => track.isWalked) ? { path: below(path, name), states: next } : null;
}

/** Yields the units of a directory, or adds the directory to `pending` if units may lie below it. */
export function* look(
  layout: Layout,
  { path, states }: Directory,
  pending: Directory[],
): Generator<Discovered, void> {
  if (states.some(isComplete)) {
    let here: Units | null;
    try {
      here = unitsAt(layout, path, states);
    } catch (error) {
      yield { type: 'unread', ...unreadAt(path, error) };
      return;
    }
    if (here !== null) {
      const walked = here.units.filter(({ unit }) => isWalked(layout, unit, states));
      for (const placed of walked) {
        yield { type: 'unit', ...placed };
        yield* linkedObjects(layout, placed.unit);
      }
      for (const place of here.unread) yield { type: 'unread', ...place };
      if (walked.length === 0) return;
      for (const fault of here.ownerFaults) yield { type: 'fault', ...fault };
      yield* lostTemplates(layout, path, here.matches);
      return;
    }
  }
  const unfinished = states.filter(state => !isComplete(state));
  if (unfinished.length > 0) pending.push({ path, states: unfinished });
}

/** Yields a link in place of a repository's `objects` if it may be followed; walks report any other. */
function* linkedObjects(layout: Layout, { path: unit, kind }: Unit): Generator<Discovered, void> {
  if (layout.follow.length === 0 || !holdsRepositories(kind)) return;
  const path = below(unit, 'objects');
  if (!layout.links.has(path) && targetOf(layout, path) !== null) yield { type: 'link', path };
}

/** Tells whether this host walks a unit, by the template that matched it. */
function isWalked({ tracks }: Layout, { kind }: Unit, states: readonly State[]): boolean {
  const taken = states.find(state => isComplete(state) && state.track.kind === kind);
  return taken?.track.isWalked ?? tracks.some(track => track.kind === kind && track.isWalked);
}

/** Yields what a link means in place of an owner or a unit: its target must not be taken for missing. */
function* lookAtLink(layout: Layout, { path, states }: Directory): Generator<Discovered, void> {
  if (layout.links.has(path)) return;
  const to = follow(path);
  const isWhole = to !== null && to.error === null && to.existing === to.names.length;
  if (isWhole && !to.directory) return;
  const located = locate(layout, path);
  if (located.found === 'unit' && located.exists) {
    yield { type: 'fault', path, what: `a symbolic link to ${located.unit.path}, whose data counts there` };
    return;
  }
  if (targetOf(layout, path) !== null) yield { type: 'link', path };
  else yield { type: 'unread', ...unfollowed(path, states) };
}

interface NamesInTemplate {
  readonly names: readonly string[];
  readonly links: readonly string[];
  readonly unread: readonly Unread[];
}

/** Lists the names in a directory that may lead to units: directories, links, and unreadable places. */
export function namesInTemplate({ path, states }: Directory): NamesInTemplate {
  const only = states.map(onlyNext);
  const literals = new Set(only.filter(name => name !== null));
  if (!only.includes(null)) return those(literals, path);
  try {
    const { directories, links } = namesByType(path) ?? { directories: [], links: [] };
    return { names: directories, links, unread: [] };
  } catch (error) {
    // A directory that cannot be listed may still be searched for known names.
    return { ...those(literals, path), unread: [unreadAt(path, error)] };
  }
}

function those(names: Iterable<string>, directory: string): NamesInTemplate {
  const there: string[] = [];
  const links: string[] = [];
  const unread: Unread[] = [];
  for (const name of names) {
    const path = below(directory, name);
    try {
      const entry = entryAt(path);
      if (entry === 'directory') there.push(name);
      if (entry === 'link') links.push(name);
    } catch (error) {
      unread.push(unreadAt(path, error));
    }
  }
  return { names: there, links, unread };
}

/** Yields a fault for each template that begins inside a unit, where it can match nothing. */
function* lostTemplates(
  layout: Layout,
  unit: string,
  matches: readonly State[],
): Generator<Discovered, void> {
  const inside = layout.roots.filter(root => isWithin(root.path, unit) && !root.isLink);
  if (inside.length === 0) return;
  const heard = new Set(
    matches.flatMap(({ track }) => [track, ...track.continuations.map(next => layout.tracks[next.track])]),
  );
  for (const track of layout.tracks) {
    const root = layout.roots[track.root];
    if (root === undefined || !inside.includes(root) || heard.has(track)) continue;
    const isSamePlace = root.path === unit && track.pattern.length === track.fixedLength;
    if (isSamePlace) continue;
    const what = `${track.template.text} matches nothing here, because ${unit} as a whole is one unit`;
    yield { type: 'fault', path: root.path, what };
  }
}

/** Returns the roots that lie in no other root; of several at one path, the first. */
export function outermost(roots: readonly Root[]): Root[] {
  return roots.filter(
    (root, index) =>
      !roots.some((other, at) => {
        if (other.path === root.path) return at < index;
        return isWithin(root.path, other.path);
      }),
  );
}

/** A link may lie behind another one. */
const mostRounds = 4;

/**
 * Makes the layout from the current state of the disk. `known`: the links to follow, each if that is still
 * allowed; unless given, all links are searched, which takes as long as `discover`. Throws `configuration`
 * for an invalid template.
 */
export function resolveLayout(...given: Parameters<typeof resolving>): Layout {
  return runToEnd(resolving(...given));
}

/** Does the work of `resolveLayout` in steps. */
export function* resolving(
  storages: readonly StorageSettings[],
  exclude: readonly string[],
  known: readonly string[] | null = null,
): Work<Layout> {
  let layout = layoutWithoutLinks(storages, exclude);
  for (let round = 0; round < mostRounds && layout.follow.length > 0; round++) {
    const before = layout;
    // Known links are in the order in which they were found, so one that lies behind another comes after it.
    for (const path of known ?? (yield* linksIn(layout))) {
      layout = withLink(layout, path);
      yield;
    }
    if (layout === before) break;
  }
  return layout;
}

/** Finds the links that may be followed and are not yet, in the order of their paths. */
function* linksIn(layout: Layout): Work<readonly string[]> {
  const links: string[] = [];
  for (const found of discover(layout)) {
    if (found.type === 'link') links.push(found.path);
    yield;
  }
  return links.sort();
}
