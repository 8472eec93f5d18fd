/**
 * Finds the units of a matched directory: the directory itself, and further units inside it.
 *
 * The outermost directory that a whole template matches, and that has the kind of content of its section, is
 * the unit. Nothing inside is a unit, unless another template continues, by literal segments alone, one that
 * matched the unit; so the name of a branch can never make a unit.
 *
 * An owner's name in the name of a directory may have any characters, for the bytes must count; one in a file
 * must be a valid name in softquota. Only a regular file of at most 4 KiB is read, never through a link, so
 * that reading cannot block or lead elsewhere.
 */

import { isUtf8 } from 'node:buffer';
import { readBounded } from '../bounded/index.ts';
import { systemCode } from '../errors.ts';
import type { Parsed } from '../parsed.ts';
import { type Leaf, nameFault } from '../quota/index.ts';
import { beforeLook, entryAt, entryBelow, notFollowed } from './disk.ts';
import { configValue } from './gitconfig.ts';
import type { Layout, OwnerSource, StorageKind, Track } from './layout.ts';
import { isComplete, type State } from './layout.ts';
import { below, encodePath, isWithin, namesOf, pathOf } from './path.ts';

/** The owner, or the reason in words why none can be found; neither if the path does not say it. */
type Ownership = Pick<Unit, 'owner' | 'ownerFault'>;

/**
 * Finds the owner of the unit at `path`; `captured` is the text that its template's `{owner}` matched. Throws
 * the system's error if the file with the name exists and cannot be read: then nothing is known, not even
 * that nobody owns the unit.
 */
export function ownerOf(source: OwnerSource, path: string, captured: string | null): Ownership {
  switch (source.by) {
    case 'fixed':
      return { owner: source.name };
    case 'forge':
      return { owner: null };
    case 'path':
      if (captured === null) return nobody('its template has no {owner}, and no other OWNER is set');
      return captured.isWellFormed() ? { owner: captured } : nobody("the owner's name is not UTF-8");
    case 'file': {
      const file = smallFile(path, source.name);
      if (!file.ok) return nobody(file.problem);
      const [line = ''] = file.value.split('\n', 1);
      return named(line.trim(), `the first line of the file ${source.name}`);
    }
    case 'git-config': {
      const file = smallFile(path, 'config');
      if (!file.ok) return nobody(file.problem);
      const value = configValue(file.value, source.key);
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
  return { owner: null, ownerFault: fault };
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

function smallFile(directory: string, name: string): Parsed<string> {
  beforeLook(directory);
  const fault = (why: string) => ({ ok: false as const, problem: `the file ${name} ${why}` });
  const file = readBounded(encodePath(below(directory, name)), { mostBytes });
  if (file.kind !== 'file') return fault(faults[file.kind]);
  if (!file.whole) return fault('is over 4 KiB');
  return isUtf8(file.bytes) ? { ok: true, value: file.bytes.toString() } : fault('is not UTF-8');
}

/** A directory that is a unit. */
export interface Unit {
  /** Physical and absolute (see path.ts for bytes that are not UTF-8). */
  readonly path: string;
  readonly kind: StorageKind;
  /** Null if no owner was found; `ownerFault` says why, unless the owner comes from a forge's database. */
  readonly owner: string | null;
  readonly ownerFault?: string;
  readonly leaf: Leaf;
}

/** A place that could not be read: nothing is known of what lies there or below. */
export interface Unread {
  readonly path: string;
  /** The system's code. */
  readonly error: string;
  /** The unit that a link stands for, if its path alone names the owner. */
  readonly unit?: Unit;
}

export interface PlacedUnit {
  readonly unit: Unit;
  /** The places inside that do not belong to the unit; none lies below another one. */
  readonly inner: readonly string[];
  /** The directory of a repository's objects, if its `objects` is a link that is followed. */
  readonly objectsAt?: string;
}

export interface Units {
  /** The outermost unit comes first. */
  readonly units: readonly PlacedUnit[];
  /** Places inside that may be units, but could not be read; all except links are in an `inner`. */
  readonly unread: readonly Unread[];
  /** The directories of owners, or units, whose owners could not be found, and why. */
  readonly ownerFaults: readonly { readonly path: string; readonly what: string }[];
  /** The complete states that match the outermost directory. */
  readonly matches: readonly State[];
}

/**
 * Returns the units that the directory `path` is and contains, from the states there; null if no template
 * matches it. Throws the system's error if the directory cannot be read.
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

/** Returns the places where templates continue those that match the directory, with the states there. */
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

/** Makes an `Unread` from a system error; throws any other error again. */
export function unreadAt(path: string, error: unknown): Unread {
  const code = systemCode(error);
  if (code === null) throw error;
  return { path, error: code };
}

/** Makes an `Unread` for a link that is not followed, from the states there. */
export function unfollowed(path: string, states: readonly State[]): Unread {
  const [unit] = states.flatMap(({ track, owner }): Unit[] => {
    if (track.owner.by !== 'path' || owner?.isWellFormed() !== true) return [];
    return leavesOf(track)
      .slice(-1)
      .map(leaf => ({ path, kind: track.kind, owner, leaf }));
  });
  return { path, error: notFollowed, ...(unit === undefined ? {} : { unit }) };
}

/** Tells whether a directory holds a repository; throws the system's error if that cannot be found out. */
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
 * Makes the unit of a complete state at the directory `path`, which need not exist yet. Throws the system's
 * error if its leaf or its owner cannot be read.
 */
export function unitOf(path: string, { track, owner: captured }: State): Unit {
  const leaf = leafOf(track, path);
  return { path, kind: track.kind, ...ownerOf(track.owner, path, captured), leaf };
}

const leafOfKind: Readonly<Record<Exclude<StorageKind, 'repos'>, Leaf>> = {
  wiki: 'size:assets:wiki',
  lfs: 'size:git:lfs',
  'attachments.issues': 'size:assets:attachments:issues',
  'attachments.releases': 'size:assets:attachments:releases',
  artifacts: 'size:assets:artifacts',
  packages: 'size:assets:packages:all',
};

/** Lists all leaves that units of a track may have. */
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

/** Returns the directory whose name is the owner's; the unit itself if none is. */
function ownerPlace({ path }: Unit, { track, owner }: State): string {
  if (track.owner.by !== 'path' || owner === null) return path;
  const at = track.pattern.findIndex(segment => segment.is === 'owner');
  return at === -1 ? path : pathOf(namesOf(path).slice(0, at + 1));
}

/** Returns the outermost of these places inside `path`. */
function nearestWithin(path: string, places: readonly string[]): string[] {
  const inside = places.filter(place => place !== path && isWithin(place, path));
  return inside.filter(place => !inside.some(other => other !== place && isWithin(place, other)));
}
