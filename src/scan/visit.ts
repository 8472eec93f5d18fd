/**
 * The way through one unit's directories: what is visited, what is counted, what is left out.
 *
 * Depth first, by an explicit list of steps, so that neither the depth of a tree nor the length of
 * its paths is a limit.
 */

import { accessSync, closeSync, constants, fstatSync, lstatSync, openSync, type Stats } from 'node:fs';
import { systemCode } from '../errors.ts';
import { beforeLook, list, locationOf } from '../layout/index.ts';
import type { Arrivals, ArrivedFile } from './arrivals.ts';
import { isBeingWritten, isFanOut, isQuarantine, isUnfinishedPack, isYoung } from './gitfiles.ts';
import { type Names, namesWithin, noNames } from './inner-names.ts';
import { isAsBefore, isYoungDirectory, type ListingCheck } from './listing-check.ts';
import { held, newestWithin } from './newest.ts';
import type { Leftover, UnreadInUnit, WalkRequest } from './outcome.ts';
import { SignatureDraft } from './signature.ts';
import { addDirectory, namesTo, newSums, type Sums, type UnreadSum } from './sums.ts';

/** The counts so far. */
export interface WalkTally {
  readonly directories: number;
  readonly files: number;
  readonly bytes: number;
}

/** Called for each directory and every few hundred entries; says whether to go on. */
export type Pulse = (tally: WalkTally) => boolean;

const entriesPerPulse = 512;
const mostListed = 100;

/** The unit of `st_blocks`, whatever the file system's own blocks are. */
const blockBytes = 512;

/**
 * Longer paths are continued from a directory that is held open: the system takes 4095 bytes, of
 * which a name can take 255, and a UTF-16 unit of the path up to three.
 */
const longestPath = 1200;

/** Where git's own files are, in a unit that is a repository. */
type Role = 'repository' | 'objects' | 'pack' | 'loose' | 'byproduct' | 'settings' | 'other';

/** A directory to visit. */
interface Place {
  /** Index of the directory that it lies in. */
  readonly parent: number;
  readonly name: string;
  /** A path that leads there, not always from `/`. */
  readonly path: string;
  /** Tells whether the path may hold names that are not UTF-8. */
  readonly odd: boolean;
  readonly role: Role;
  /** It holds loose objects or settings, or lies in such a directory: the signature leaves its status out. */
  readonly isUnsigned: boolean;
  /** The listing that named it is believed: it is not asked what it is. */
  readonly isBelieved: boolean;
  /** The directories inside that do not belong to the unit. */
  readonly inner: Names;
  /** Which leftover it is part of. */
  readonly leftover: MutableLeftover | null;
}

/** How a directory is read. */
interface Reading {
  readonly path: string;
  readonly odd: boolean;
  readonly sizeBytes: number;
  /** Tells whether its listing is believed. */
  readonly isBelieved: boolean;
}

type MutableLeftover = { -readonly [Key in keyof Leftover]: Leftover[Key] };

/** A walk under way. */
export interface Walk extends WalkTally {
  readonly request: WalkRequest;
  readonly pulse: Pulse;
  readonly now: number;
  /**
   * The remaining work, the last item first: a directory to visit, one to compare with what it was, or a
   * descriptor to close.
   */
  readonly steps: (Place | ListingCheck | number)[];
  readonly sums: Sums;
  readonly seenFiles: Set<string>;
  readonly unread: UnreadInUnit[];
  readonly unreadPlaces: UnreadSum[];
  readonly leftovers: MutableLeftover[];
  unreadCount: number;
  leftoverCount: number;
  /** Names of packs that a repack is writing, so many that they can be told from those of another one. */
  readonly packsBeingWritten: string[];
  /** The files that arrived recently in a repository. */
  readonly arrivals: Arrivals | null;
  readonly signature: SignatureDraft;
  objectBytes: number;
  entries: number;
  directories: number;
  files: number;
  bytes: number;
}

class Stopped extends Error {}
/** The directories that were read may lie elsewhere. */
class Replaced extends Error {}

/** A walk with the unit's directory as its first step; only a repository has `arrivals`. */
export function beginWalk(request: WalkRequest, arrivals: Arrivals | null, pulse: Pulse): Walk {
  const { path } = request.unit;
  const first: Place = {
    parent: -1,
    name: '',
    path,
    odd: !path.isWellFormed(),
    role: arrivals === null ? 'other' : 'repository',
    isUnsigned: false,
    isBelieved: false,
    inner: namesWithin(path, request.inner),
    leftover: null,
  };
  const now = Date.now();
  return {
    request,
    pulse,
    now,
    steps: [first],
    sums: newSums(),
    seenFiles: new Set(),
    unread: [],
    unreadPlaces: [],
    leftovers: [],
    unreadCount: 0,
    leftoverCount: 0,
    packsBeingWritten: [],
    arrivals,
    signature: new SignatureDraft(request, now),
    objectBytes: 0,
    entries: 0,
    directories: 0,
    files: 0,
    bytes: 0,
  };
}

/** Visits all there is to visit; `replaced`: a directory may have become another one meanwhile. */
export function takeSteps(state: Walk): 'done' | 'stopped' | 'replaced' {
  try {
    return takeEach(state) ? 'done' : 'stopped';
  } catch (error) {
    if (error instanceof Stopped) return 'stopped';
    if (error instanceof Replaced) return 'replaced';
    throw error;
  } finally {
    for (const step of state.steps) if (typeof step === 'number') closeSync(step);
  }
}

function takeEach(state: Walk): boolean {
  for (let step = state.steps.pop(); step !== undefined; step = state.steps.pop()) {
    if (typeof step === 'number') {
      closeSync(step);
      continue;
    }
    if ('before' in step) {
      if (!isAsBefore(step)) throw new Replaced();
      continue;
    }
    if (!state.pulse(state)) throw new Stopped();
    const directory = addDirectory(state.sums, step.parent, step.name);
    state.directories += 1;
    try {
      visit(state, step, directory);
    } catch (error) {
      if (error instanceof Stopped) throw error;
      addUnread(state, directory, 'whole', error);
    }
  }
  return state.pulse(state);
}

function visit(state: Walk, place: Place, directory: number): void {
  let { path, odd } = place;
  if (!path.startsWith(held)) beforeLook(path);
  if (place.isBelieved) {
    read(state, place, directory, { path, odd, sizeBytes: 0, isBelieved: false });
    return;
  }
  let stats: Stats | undefined;
  if (path.length > longestPath && process.platform === 'linux') {
    const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
    const directoryHeld = openSync(locationOf(path, odd), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    // All that is pushed later lies inside, and is done before this is closed.
    state.steps.push(directoryHeld);
    path = `${held}${directoryHeld}`;
    odd = false;
    stats = fstatSync(directoryHeld);
    state.signature.doubt();
  } else {
    stats = lstatSync(locationOf(path, odd), { throwIfNoEntry: false });
    if (stats !== undefined && !place.isUnsigned)
      state.signature.addDirectory(directory, place.parent, place.name, stats);
  }
  // It is gone, or a link has taken its place.
  if (stats?.isDirectory() !== true) {
    state.signature.doubt();
    return;
  }
  countDirectory(state, place, directory, stats);
  const isBelieved = mayBeBelieved(state, place, path, stats);
  // All that is pushed later is read before this is compared.
  if (isBelieved) state.steps.push({ path, odd, before: stats });
  read(state, place, directory, { path, odd, sizeBytes: stats.size, isBelieved });
}

/** Tells whether a directory is `objects`, and its listing can be believed. */
function mayBeBelieved({ request, now }: Walk, { role }: Place, path: string, stats: Stats): boolean {
  const { believesListing = false, measure } = request;
  // Blocks are asked for in any case.
  const isAsked = !believesListing || measure === 'allocated' || path.length > longestPath;
  return role === 'objects' && !isAsked && !isYoungDirectory(stats, now);
}

/** Counts the files of a directory, and puts its directories on the list of what is to visit. */
function read(
  state: Walk,
  place: Place,
  directory: number,
  { path, odd, sizeBytes, isBelieved }: Reading,
): void {
  const listing = list(locationOf(path, odd), sizeBytes);
  const stepsBefore = state.steps.length;
  for (const entry of listing.entries) {
    state.entries += 1;
    if (state.entries % entriesPerPulse === 0 && !state.pulse(state)) throw new Stopped();
    const { name } = entry;
    const child = path === '/' ? `/${name}` : `${path}/${name}`;
    const childIsOdd = odd || (listing.odd && !name.isWellFormed());
    try {
      if (entry.isFile()) countFile(state, place, directory, name, locationOf(child, childIsOdd));
      else if (entry.isDirectory()) enter(state, place, directory, name, child, childIsOdd, isBelieved);
    } catch (error) {
      if (!isSearchable(locationOf(path, odd))) {
        // Its names can be listed, but none of them can be asked about.
        state.steps.length = stepsBefore;
        throw error;
      }
      addUnread(state, directory, 'own', error, name);
    }
  }
}

/** Adds the blocks that hold a directory's names; its length says nothing that file systems agree on. */
function countDirectory(state: Walk, { leftover }: Place, directory: number, { blocks }: Stats): void {
  if (state.request.measure === 'apparent') return;
  const bytes = blocks * blockBytes;
  state.sums.bytes[directory] = (state.sums.bytes[directory] ?? 0) + bytes;
  state.bytes += bytes;
  if (leftover !== null) leftover.bytes += bytes;
}

/** Puts a directory on the list of what is to visit, unless it does not count. */
function enter(
  state: Walk,
  at: Place,
  directory: number,
  name: string,
  path: string,
  odd: boolean,
  isListingBelieved: boolean,
): void {
  if (state.request.exclude.has(name)) return;
  const inner = at.inner.get(name);
  if (inner?.size === 0) return;
  let { leftover } = at;
  const isUnfinished =
    (at.role === 'objects' && isQuarantine(name)) || (at.role === 'pack' && isUnfinishedPack(name));
  if (isUnfinished) {
    state.signature.doubt();
    // Asked for its own age first: git makes it unreadable for others, and while it is young its
    // contents are no one's business.
    const own = lstatSync(locationOf(path, odd), { throwIfNoEntry: false })?.mtimeMs;
    if (own === undefined || isYoung(own, state.now)) return;
    const newest = newestWithin(path, odd, own);
    if (isYoung(newest, state.now)) return;
    leftover = addLeftover(state, directory, name, newest);
  }
  const role = roleOf(at.role, name);
  const isUnsigned = at.isUnsigned || role === 'loose' || role === 'settings';
  state.steps.push({
    parent: directory,
    name,
    path,
    odd,
    role,
    isUnsigned,
    isBelieved: isListingBelieved && role === 'loose',
    inner: inner ?? noNames,
    leftover,
  });
}

function roleOf(above: Role, name: string): Role {
  if (above === 'byproduct') return 'byproduct';
  if (above === 'repository') {
    if (name === 'objects') return 'objects';
    if (name === 'reftable') return 'byproduct';
    return name === 'hooks' || name === 'info' ? 'settings' : 'other';
  }
  if (above !== 'objects') return 'other';
  if (name === 'pack') return 'pack';
  if (name === 'info') return 'byproduct';
  return isFanOut(name) ? 'loose' : 'other';
}

function countFile(state: Walk, at: Place, directory: number, name: string, location: string | Buffer): void {
  const stats = lstatSync(location, { throwIfNoEntry: false });
  if (stats === undefined || !stats.isFile()) return;
  let { leftover } = at;
  state.signature.addFile(stats.ctimeMs);
  if (at.role === 'pack' && isUnfinishedPack(name)) {
    state.signature.doubt();
    if (isBeingWritten(stats.mtimeMs, state.now) && state.packsBeingWritten.length < mostListed)
      state.packsBeingWritten.push(name);
    if (isYoung(stats.mtimeMs, state.now)) return;
    leftover = addLeftover(state, directory, name, stats.mtimeMs);
  }
  const bytes = state.request.measure === 'apparent' ? stats.size : stats.blocks * blockBytes;
  if (stats.nlink > 1) {
    const file = fileOf(location, stats);
    state.sums.links.push({ directory, file, bytes });
    if (state.seenFiles.has(file)) return;
    state.seenFiles.add(file);
  } else {
    state.sums.bytes[directory] = (state.sums.bytes[directory] ?? 0) + bytes;
  }
  state.files += 1;
  state.bytes += bytes;
  noteArrival(state, at, name, { bytes, modifiedAt: stats.mtimeMs, changedAt: stats.ctimeMs });
  if (leftover !== null) leftover.bytes += bytes;
}

function noteArrival(state: Walk, { role, name: directory }: Place, name: string, file: ArrivedFile): void {
  if (role === 'pack' || role === 'loose') state.objectBytes += file.bytes;
  if (role === 'pack') state.arrivals?.addPackFile(name, file);
  else if (role === 'loose') {
    state.arrivals?.addName(`${directory}${name}`);
    state.arrivals?.addLooseObject(file);
  } else if (role === 'byproduct' || (role === 'repository' && name === 'packed-refs'))
    state.arrivals?.addByproduct(file);
}

/** Device and inode, exact beyond 2^53 too. */
function fileOf(location: string | Buffer, stats: Stats): string {
  if (Number.isSafeInteger(stats.ino) && Number.isSafeInteger(stats.dev)) return `${stats.dev}:${stats.ino}`;
  const exact = lstatSync(location, { bigint: true });
  return `${exact.dev}:${exact.ino}`;
}

function addLeftover(state: Walk, directory: number, name: string, modifiedAt: number): MutableLeftover {
  const leftover = { path: pathOf(state, directory, name), bytes: 0, modifiedAt };
  state.leftoverCount += 1;
  if (state.leftovers.length < mostListed) state.leftovers.push(leftover);
  return leftover;
}

/** Notes a place that the system would not read; what has vanished is none. */
function addUnread(
  state: Walk,
  directory: number,
  extent: UnreadSum['extent'],
  error: unknown,
  name?: string,
): void {
  const code = systemCode(error);
  if (code === null) throw error;
  if (code === 'ENOENT' || code === 'ENOTDIR') return;
  state.unreadCount += 1;
  if (state.unread.length < mostListed)
    state.unread.push({ path: pathOf(state, directory, name), error: code });
  const last = state.unreadPlaces.at(-1);
  if (last?.directory !== directory || last.extent !== extent) state.unreadPlaces.push({ directory, extent });
}

function pathOf(state: Walk, directory: number, name?: string): string {
  const names = namesTo(state.sums, directory);
  return [state.request.unit.path, ...names, ...(name === undefined ? [] : [name])].join('/');
}

function isSearchable(location: string | Buffer): boolean {
  try {
    accessSync(location, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
