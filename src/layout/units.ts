/**
 * Finds the units of a matched directory: itself, and those of its own inside it.
 *
 * The outermost directory that a whole template matches, and that is what its section keeps, is
 * the unit. Nothing inside is a unit, except where a template continues, by literal segments
 * alone, one that took the unit; so no name that somebody chose for a branch makes a unit.
 */

import { systemCode } from '../errors.ts';
import type { Leaf } from '../quota/index.ts';
import { entryAt, leadToDirectory } from './disk.ts';
import type { Layout, StorageKind, Track } from './layout.ts';
import { isComplete, type State } from './match.ts';
import { ownerOf } from './owner.ts';
import { below, isWithin, namesOf, pathOf } from './path.ts';

/** A directory that is a unit. */
export interface Unit {
  /** Physical and absolute (see path.ts for bytes that are not UTF-8). */
  readonly path: string;
  readonly kind: StorageKind;
  /** Null where nobody can be told; `ownerFault` says why, unless a forge's database tells. */
  readonly owner: string | null;
  readonly ownerFault?: string;
  readonly leaf: Leaf;
}

/** A place that could not be looked into: nothing is known of what lies there or below. */
export interface Unread {
  readonly path: string;
  /** The system's code. */
  readonly error: string;
}

export interface PlacedUnit {
  readonly unit: Unit;
  /** The places inside that are not the unit's own; what lies below one of them is not listed. */
  readonly inner: readonly string[];
}

export interface Units {
  /** The outermost first. */
  readonly units: readonly PlacedUnit[];
  /** Places inside of which it could not be told whether they are units; each is in an `inner`. */
  readonly unread: readonly Unread[];
  /** The directories of owners, or units, whose owners could not be found, and why. */
  readonly ownerFaults: readonly { readonly path: string; readonly what: string }[];
  /** The complete states that took the outermost directory. */
  readonly matches: readonly State[];
}

/**
 * The units that the directory `path` and its inside are, from the states in it; null where no
 * template takes it. Throws the system's error where the directory could not be looked into.
 */
export function unitsAt(layout: Layout, path: string, states: readonly State[]): Units | null {
  const matches = matchesOf(path, states);
  const [winner] = matches;
  if (winner === undefined) return null;
  const taken = [{ unit: unitOf(path, winner), state: winner }];
  const unread: Unread[] = [];
  for (const [place, continuing] of continuedPlaces(layout, path, matches)) {
    try {
      const [state] = leadToDirectory(path, namesOf(place.slice(path.length)))
        ? matchesOf(place, continuing)
        : [];
      if (state !== undefined) taken.push({ unit: unitOf(place, state), state });
    } catch (error) {
      unread.push(unreadAt(place, error));
    }
  }
  const places = [...taken.map(({ unit }) => unit.path), ...unread.map(place => place.path)];
  return {
    units: taken.map(({ unit }) => ({ unit, inner: nearestWithin(unit.path, places) })),
    unread,
    ownerFaults: taken.flatMap(({ unit, state }) =>
      unit.ownerFault === undefined ? [] : [{ path: ownerPlace(unit, state), what: unit.ownerFault }],
    ),
    matches,
  };
}

/** Returns the places where templates continue those that took the directory, with the states there. */
export function continuedPlaces(
  layout: Layout,
  path: string,
  matches: readonly State[],
): ReadonlyMap<string, readonly State[]> {
  const continued = matches.flatMap(({ track, owner }) =>
    track.continuations.map(({ track: index, names }) => ({
      index,
      place: names.reduce(below, path),
      owner,
    })),
  );
  const places = new Map<string, State[]>();
  for (const [index, track] of layout.tracks.entries()) {
    for (const { place, owner } of continued.filter(next => next.index === index)) {
      const state = { track, at: track.pattern.length, open: false, owner };
      places.set(place, [...(places.get(place) ?? []), state]);
    }
  }
  return places;
}

/** An `Unread` from what a call to the system threw; anything else that is thrown goes on. */
export function unreadAt(path: string, error: unknown): Unread {
  const code = systemCode(error);
  if (code === null) throw error;
  return { path, error: code };
}

/** Tells whether a directory holds a repository; throws the system's error where that could not be told. */
export function holdsRepository(path: string): boolean {
  return ['HEAD', 'objects', 'refs'].every(name => entryAt(below(path, name)) !== null);
}

function matchesOf(path: string, states: readonly State[]): State[] {
  const complete = states.filter(isComplete);
  if (!complete.some(({ track }) => holdsRepositories(track.kind))) return complete;
  return holdsRepository(path) ? complete : complete.filter(({ track }) => !holdsRepositories(track.kind));
}

/** Tells whether units of this kind are repositories of git. */
export function holdsRepositories(kind: StorageKind): boolean {
  return kind === 'repos' || kind === 'wiki';
}

/**
 * The unit that a complete state makes of the directory `path`, which need not exist yet. Throws
 * the system's error where what it is, or whose, could not be read.
 */
export function unitOf(path: string, { track, owner: captured }: State): Unit {
  const leaf = leafOf(track, path);
  const ownership = ownerOf(track.owner, path, captured);
  if (ownership.owner !== null) return { path, kind: track.kind, owner: ownership.owner, leaf };
  const fault = ownership.fault === null ? {} : { ownerFault: ownership.fault };
  return { path, kind: track.kind, owner: null, ...fault, leaf };
}

const leafOfKind: Readonly<Record<Exclude<StorageKind, 'repos'>, Leaf>> = {
  wiki: 'size:assets:wiki',
  lfs: 'size:git:lfs',
  'attachments.issues': 'size:assets:attachments:issues',
  'attachments.releases': 'size:assets:attachments:releases',
  artifacts: 'size:assets:artifacts',
  packages: 'size:assets:packages:all',
};

/** All leaves that units of a track may be of. */
export function leavesOf({ kind, visibility }: Pick<Track, 'kind' | 'visibility'>): readonly Leaf[] {
  if (kind !== 'repos') return [leafOfKind[kind]];
  const leaves = { public: 'size:repos:public', private: 'size:repos:private' } as const;
  const isOne = visibility === 'public' || visibility === 'private';
  return isOne ? [leaves[visibility]] : [leaves.public, leaves.private];
}

function leafOf({ kind, visibility }: Track, path: string): Leaf {
  if (kind !== 'repos') return leafOfKind[kind];
  const isPublic =
    visibility === 'export-ok'
      ? entryAt(below(path, 'git-daemon-export-ok')) !== null
      : visibility === 'public';
  return isPublic ? 'size:repos:public' : 'size:repos:private';
}

/** The directory that names the unit's owner, where one does. */
function ownerPlace({ path }: Unit, { track, owner }: State): string {
  if (track.owner.by !== 'path' || owner === null) return path;
  const at = track.pattern.findIndex(segment => segment.is === 'owner');
  return pathOf(namesOf(path).slice(0, at + 1));
}

/** Returns those of these places inside `path` that are in no other one inside it. */
function nearestWithin(path: string, places: readonly string[]): string[] {
  const inside = places.filter(place => place !== path && isWithin(place, path));
  return inside.filter(place => !inside.some(other => other !== place && isWithin(place, other)));
}
