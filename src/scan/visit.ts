/**
 * The way through one unit's directories: what is visited, what is counted, what is left out.
 *
 * Depth first, by an explicit list of steps, so that neither the depth of a tree nor the length of
 * its paths is a limit.
 */

import { accessSync, closeSync, constants, fstatSync, lstatSync, openSync, type Stats } from 'node:fs';
import { systemCode } from '../errors.ts';
import { beforeLook, list, locationOf } from '../layout/index.ts';
import { isFanOut, isQuarantine, isUnfinishedPack, isYoung, showsRepack } from './gitfiles.ts';
import { type Names, namesWithin, noNames } from './inner-names.ts';
import { isAsBefore, isYoungDirectory, type ListingCheck } from './listing-check.ts';
import type { Leftover, UnreadInUnit, WalkRequest } from './outcome.ts';
import { SignatureDraft } from './signature.ts';
import { addDirectory, namesTo, newSums, type Sums, type UnreadSum } from './sums.ts';

/** The counts so far. */
interface WalkTally {
  readonly directories: number;
  readonly files: number;
  readonly bytes: number;
}

/** Called for each directory and every few hundred entries; says whether to go on. */
export type Pulse = (tally: WalkTally) => boolean;

const entriesPerPulse = 512;
export const mostListed = 100;

/** The unit of `st_blocks`, whatever the file system's own blocks are. */
const blockBytes = 512;

/**
 * Longer paths are continued from a directory that is held open: the system takes 4095 bytes, of
 * which a name can take 255, and a UTF-16 unit of the path up to three.
 */
const longestPath = 1200;

/** Paths that lead through an open descriptor begin so. */
const held = '/proc/self/fd/';

/** The use of a directory in a repository; `other-objects` lies anywhere else in `objects`. */
type Role = 'repository' | 'objects' | 'pack' | 'loose' | 'other-objects' | 'settings' | 'other';

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
}

/** Way of reading a directory. */
interface Reading {
  readonly path: string;
  readonly odd: boolean;
  readonly sizeBytes: number;
  /** Tells whether its listing is believed. */
  readonly isBelieved: boolean;
}

/** A file of `objects/pack` that is no pack yet. */
interface UnfinishedFile extends Omit<Leftover, 'path'> {
  readonly directory: number;
  readonly name: string;
}

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
  readonly unfinished: UnfinishedFile[];
  unreadCount: number;
  /** `objects/pack` has files that a repack is writing. */
  isRepacked: boolean;
  readonly signature: SignatureDraft;
  /** The bytes of `objects`. */
  objectBytes: number;
  entries: number;
  directories: number;
  files: number;
  bytes: number;
}

class Stopped extends Error {}
/** The directories that were read may lie elsewhere. */
class Replaced extends Error {}

/** A walk with the unit's directory as its first step. `now`: when it begins, in milliseconds since 1970. */
export function beginWalk(request: WalkRequest, isRepository: boolean, now: number, pulse: Pulse): Walk {
  const { path } = request.unit;
  const first: Place = {
    parent: -1,
    name: '',
    path,
    odd: !path.isWellFormed(),
    role: isRepository ? 'repository' : 'other',
    isUnsigned: false,
    isBelieved: false,
    inner: namesWithin(path, request.inner),
  };
  return {
    request,
    pulse,
    now,
    steps: [first],
    sums: newSums(),
    seenFiles: new Set(),
    unread: [],
    unreadPlaces: [],
    unfinished: [],
    unreadCount: 0,
    isRepacked: false,
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
function countDirectory(state: Walk, { role }: Place, directory: number, { blocks }: Stats): void {
  if (state.request.measure === 'allocated') addBytes(state, role, directory, blocks * blockBytes);
}

function addBytes(state: Walk, role: Role, directory: number, bytes: number): void {
  state.sums.bytes[directory] = (state.sums.bytes[directory] ?? 0) + bytes;
  countBytes(state, role, bytes);
}

function countBytes(state: Walk, role: Role, bytes: number): void {
  state.bytes += bytes;
  if (isOfObjects(role)) state.objectBytes += bytes;
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
  if (at.role === 'objects' && isQuarantine(name)) {
    // The content of a quarantine is a push's: see `quarantine.ts`.
    state.signature.doubt();
    return;
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
  });
}

function roleOf(above: Role, name: string): Role {
  if (above === 'repository') {
    if (name === 'objects') return 'objects';
    return name === 'hooks' || name === 'info' ? 'settings' : 'other';
  }
  if (!isOfObjects(above)) return 'other';
  if (above !== 'objects') return 'other-objects';
  if (name === 'pack') return 'pack';
  return isFanOut(name) ? 'loose' : 'other-objects';
}

function isOfObjects(role: Role): boolean {
  return role === 'objects' || role === 'pack' || role === 'loose' || role === 'other-objects';
}

function countFile(
  state: Walk,
  { role }: Place,
  directory: number,
  name: string,
  location: string | Buffer,
): void {
  const stats = lstatSync(location, { throwIfNoEntry: false });
  if (stats === undefined || !stats.isFile()) return;
  state.signature.addFile(stats.ctimeMs);
  const bytes = state.request.measure === 'apparent' ? stats.size : stats.blocks * blockBytes;
  if (role === 'pack') state.isRepacked ||= showsRepack(name, stats.mtimeMs, state.now);
  if (role === 'pack' && isUnfinishedPack(name)) {
    state.signature.doubt();
    state.unfinished.push({ directory, name, bytes, modifiedAt: stats.mtimeMs });
    return;
  }
  if (stats.nlink === 1) addBytes(state, role, directory, bytes);
  else {
    const file = fileOf(location, stats);
    state.sums.links.push({ directory, file, bytes });
    if (state.seenFiles.has(file)) return;
    state.seenFiles.add(file);
    countBytes(state, role, bytes);
  }
  state.files += 1;
}

/**
 * Counts the unfinished files of `objects/pack` that were left behind, and names them. One repack writes
 * several, so they are as young as the youngest.
 */
export function countLeftovers(state: Walk): readonly Leftover[] {
  const { unfinished, now } = state;
  if (unfinished.some(({ modifiedAt }) => isYoung(modifiedAt, now))) return [];
  for (const { directory, bytes } of unfinished) addBytes(state, 'pack', directory, bytes);
  state.files += unfinished.length;
  return unfinished.map(({ directory, name, bytes, modifiedAt }) => {
    return { path: pathOf(state, directory, name), bytes, modifiedAt };
  });
}

/** Device and inode, exact beyond 2^53 too. */
function fileOf(location: string | Buffer, stats: Stats): string {
  if (Number.isSafeInteger(stats.ino) && Number.isSafeInteger(stats.dev)) return `${stats.dev}:${stats.ino}`;
  const exact = lstatSync(location, { bigint: true });
  return `${exact.dev}:${exact.ino}`;
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
