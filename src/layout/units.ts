/**
 * Finds the units of a matched directory: itself, and those of its own inside it.
 *
 * The outermost directory that a whole template matches, and that is what its section keeps, is
 * the unit. Nothing inside is a unit, except where a template continues, by literal segments
 * alone, one that took the unit; so no name that somebody chose for a branch makes a unit.
 *
 * An owner's name in a directory's name is taken whatever its characters are, for its bytes must count; one
 * in a file must be a name that softquota takes. A file is read only where reading cannot block or lead
 * elsewhere: a regular one of at most 4 KiB, never through a link.
 */

import { isUtf8 } from 'node:buffer';
import { readBounded } from '../bounded/index.ts';
import { systemCode } from '../errors.ts';
import { type Leaf, nameFault } from '../quota/index.ts';
import { beforeLook, entryAt, entryBelow, notFollowed } from './disk.ts';
import { configValue } from './gitconfig.ts';
import type { Layout, OwnerSource, StorageKind, Track } from './layout.ts';
import { isComplete, type State } from './layout.ts';
import { below, encodePath, isWithin, namesOf, pathOf } from './path.ts';

type Ownership =
  | { readonly owner: string }
  /** Nobody can be told; `fault` says why, for a person. */
  | { readonly owner: null; readonly fault: string }
  /** The path does not say it. */
  | { readonly owner: null; readonly fault: null };

/**
 * The owner of the unit at `path`; `captured` is what its template's `{owner}` stands for. Throws
 * the system's error where the file that tells could not be read though it is there: then
 * nothing is known, not even that nobody owns it.
 */
export function ownerOf(source: OwnerSource, path: string, captured: string | null): Ownership {
  switch (source.by) {
    case 'fixed':
      return { owner: source.name };
    case 'forge':
      return { owner: null, fault: null };
    case 'path':
      if (captured === null) return nobody('its template has no {owner}, and no other OWNER is set');
      return captured.isWellFormed() ? { owner: captured } : nobody("the owner's name is not UTF-8");
    case 'file': {
      const file = smallFile(path, source.name);
      if (!file.ok) return nobody(file.fault);
      const [line = ''] = file.text.split('\n', 1);
      return named(line.trim(), `the first line of the file ${source.name}`);
    }
    case 'git-config': {
      const file = smallFile(path, 'config');
      if (!file.ok) return nobody(file.fault);
      const value = configValue(file.text, source.key);
      if (value.found === 'value') return named(value.value, `${source.key} in the file config`);
      if (value.found === 'fault')
        return nobody(`line ${value.line} of the file config is not what git writes there`);
      return nobody(
        `the file config ${value.found === 'nothing' ? 'has no' : 'gives no value to'} ${source.key}`,
      );
    }
  }
}

function nobody(fault: string): Ownership {
  return { owner: null, fault };
}

function named(name: string, where: string): Ownership {
  const fault = nameFault(name);
  return fault === null ? { owner: name } : nobody(`${where} is not the name of an owner: ${fault}`);
}

const mostBytes = 4096;

const faults = {
  absent: 'is not there',
  link: 'is a link, not a regular file',
  directory: 'is not a regular file',
  special: 'is a pipe, a socket or a device, not a regular file',
} as const;

type SmallFile =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly fault: string };

function smallFile(directory: string, name: string): SmallFile {
  beforeLook(directory);
  const fault = (why: string): SmallFile => ({ ok: false, fault: `the file ${name} ${why}` });
  const file = readBounded(encodePath(below(directory, name)), { mostBytes });
  if (file.kind !== 'file') return fault(faults[file.kind]);
  if (!file.whole) return fault('is over 4 KiB');
  return isUtf8(file.bytes) ? { ok: true, text: file.bytes.toString() } : fault('is not UTF-8');
}

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
  /** The unit that a link stands for, if its path alone says whose it is. */
  readonly unit?: Unit;
}

export interface PlacedUnit {
  readonly unit: Unit;
  /** The places inside that are not the unit's own; what lies below one of them is not listed. */
  readonly inner: readonly string[];
  /** The directory of a repository's objects, where a link in place of its `objects` is followed. */
  readonly objectsAt?: string;
}

export interface Units {
  /** The outermost first. */
  readonly units: readonly PlacedUnit[];
  /** Places inside of which it could not be told whether they are units; each but links is in an `inner`. */
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
  const links: Unread[] = [];
  for (const [place, continuing] of continuedPlaces(layout, path, matches)) {
    try {
      const entry = entryBelow(path, namesOf(place.slice(path.length)));
      if (entry === 'link') links.push(unfollowed(place, continuing));
      const [state] = entry === 'directory' ? matchesOf(place, continuing) : [];
      if (state !== undefined) taken.push({ unit: unitOf(place, state), state });
    } catch (error) {
      unread.push(unreadAt(place, error));
    }
  }
  const places = [...taken.map(({ unit }) => unit.path), ...unread.map(place => place.path)];
  return {
    units: taken.map(({ unit }) => {
      const objectsAt = layout.links.get(`${unit.path}/objects`)?.path;
      const inner = nearestWithin(unit.path, places);
      return { unit, inner, ...(objectsAt === undefined ? {} : { objectsAt }) };
    }),
    unread: [...unread, ...links],
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
  for (const { index, place, owner } of continued.sort((a, b) => a.index - b.index)) {
    const track = layout.tracks[index];
    if (track === undefined) continue;
    const state = { track, at: track.pattern.length, open: false, owner };
    places.set(place, [...(places.get(place) ?? []), state]);
  }
  return places;
}

/** An `Unread` from what a call to the system threw; anything else that is thrown goes on. */
export function unreadAt(path: string, error: unknown): Unread {
  const code = systemCode(error);
  if (code === null) throw error;
  return { path, error: code };
}

/** A link that is not followed, in these states. */
export function unfollowed(path: string, states: readonly State[]): Unread {
  const [unit] = states.flatMap(({ track, owner }): Unit[] => {
    if (track.owner.by !== 'path' || owner?.isWellFormed() !== true) return [];
    return leavesOf(track)
      .slice(-1)
      .map(leaf => ({ path, kind: track.kind, owner, leaf }));
  });
  return { path, error: notFollowed, ...(unit === undefined ? {} : { unit }) };
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
  return at === -1 ? path : pathOf(namesOf(path).slice(0, at + 1));
}

/** Returns those of these places inside `path` that are in no other one inside it. */
function nearestWithin(path: string, places: readonly string[]): string[] {
  const inside = places.filter(place => place !== path && isWithin(place, path));
  return inside.filter(place => !inside.some(other => other !== place && isWithin(place, other)));
}
