/**
 * Walks one unit and adds up its bytes.
 *
 * Follows no symbolic link but one in place of a repository's `objects`, if the request says so. Counts
 * regular files only, and a file with several names once. Never stops at a place that cannot be read: such
 * places come back in `unread`, the larger of the known and the found bytes counts, and the result is marked
 * partial. A file that vanishes meanwhile is no fault.
 *
 * Depth first, by an explicit list of steps, so that neither the depth of a tree nor the length of its paths
 * is a limit. Synchronous, for worker threads.
 */

import { closeSync, constants, fstatSync, lstatSync, openSync, type Stats } from 'node:fs';
import { systemCode } from '../errors.ts';
import {
  beforeLook,
  directoryStatus,
  encodePath,
  entryAt,
  holdsRepositories,
  identityAt,
  isSearchable,
  list,
  notFollowed,
  type Unread,
} from '../layout/index.ts';
import {
  isFanOut,
  isQuarantine,
  isUnfinishedPack,
  isYoung,
  noSigns,
  showsRepack,
  showWork,
  watchSigns,
} from './gitfiles.ts';
import { measuredBytes, noQuarantines, quarantinesOf } from './quarantine.ts';
import type { Cache } from './signature.ts';
import { isSignatureCurrent, SignatureDraft } from './signature.ts';
import { type Leftover, nothingListed, type Walked, type WalkRequest } from './task.ts';

/** Called for each directory and every few hundred entries. */
type Pulse = () => void;

const entriesPerPulse = 512;
const mostListed = 100;

/**
 * Longer paths continue from a directory that is held open. The system takes 4095 bytes: up to three for each
 * UTF-16 unit of the path, and 255 for a name.
 */
const longestPath = 1200;

/** Prefix of paths that lead through an open descriptor. */
const held = '/proc/self/fd/';

/** The use of a directory in a repository; `other-objects` lies anywhere else in `objects`. */
type Role = 'repository' | 'objects' | 'pack' | 'loose' | 'other-objects' | 'settings' | 'other';

/**
 * Tree of the directories in a unit that do not belong to it, by name. A node without children is such a
 * directory.
 */
type Names = ReadonlyMap<string, Names>;

const noNames: Names = new Map();

/** A directory to visit. */
interface Place {
  /** The directory that it lies in; null: it is the unit itself. */
  readonly parent: Place | null;
  readonly name: string;
  /** A path that leads there, not always from `/`. */
  readonly path: string;
  readonly role: Role;
  /** It holds loose objects or settings, or lies in such a directory: the signature leaves its status out. */
  readonly isUnsigned: boolean;
  /** The directories inside that do not belong to the unit. */
  readonly inner: Names;
  /** Its index in the signature; -1 where the signature leaves it out. */
  signed: number;
}

/** A walk under way, with the unit's directory as its first step. */
class Walk {
  readonly request: WalkRequest;
  readonly pulse: Pulse;
  /** The time when it began, in milliseconds since 1970. */
  readonly now: number;
  /** The remaining work, the last item first: a directory to visit, or a descriptor to close. */
  readonly steps: (Place | number)[];
  readonly seenFiles = new Set<string>();
  readonly unread: Unread[] = [];
  /** Files of `objects/pack` that are no packs yet. */
  readonly unfinished: Leftover[] = [];
  unreadCount = 0;
  areObjectsUnread = false;
  /** `objects/pack` has files that a repack is writing. */
  isRepacked = false;
  readonly signature: SignatureDraft;
  objectBytes = 0;
  entries = 0;
  directories = 0;
  files = 0;
  bytes = 0;

  constructor(request: WalkRequest, isRepository: boolean, now: number, pulse: Pulse) {
    const { path } = request.unit;
    this.request = request;
    this.pulse = pulse;
    this.now = now;
    this.signature = new SignatureDraft(request, now);
    const role = isRepository ? 'repository' : 'other';
    const inner = namesWithin(path, request.inner);
    this.steps = [{ parent: null, name: '', path, role, isUnsigned: false, inner, signed: -1 }];
  }
}

/** Makes the tree of names for these paths in a unit. */
function namesWithin(unit: string, inner: readonly string[]): Names {
  const top = new Map<string, Names>();
  for (const path of inner) {
    let at: Map<string, Names> = top;
    for (const name of path.slice(unit.length).split('/')) {
      if (name === '') continue;
      // The cast is safe: every map below `top` is made here.
      const next = (at.get(name) as Map<string, Names> | undefined) ?? new Map<string, Names>();
      at.set(name, next);
      at = next;
    }
  }
  return top;
}

/**
 * Walks a unit, calling `pulse` on the way. If the signature of the last walk is current, returns the result
 * of that walk. Returns null if the directory is gone, or was gone or replaced during the walk.
 */
export function walk(request: WalkRequest, cache: Cache, pulse: Pulse): Walked | null {
  return unchanged(request, cache, pulse) ?? walkThrough(request, cache, pulse);
}

/** Returns the result of the last walk if the signature shows no change since; otherwise null. */
function unchanged(request: WalkRequest, cache: Cache, pulse: Pulse): Walked | null {
  const { unit, knownBytes, trustsSignature = false } = request;
  const signature = trustsSignature ? cache.readSignature(unit.path) : null;
  if (signature === null || signature.bytes !== knownBytes) return null;
  if (!isSignatureCurrent(request, signature, pulse)) return null;
  const { bytes, files, directories, objectBytes } = signature;
  const nothing = { signs: noSigns, before: noQuarantines, after: noQuarantines };
  return {
    outcome: 'measured',
    bytes,
    files,
    directories,
    partial: false,
    unread: nothingListed,
    leftovers: nothingListed,
    objects: holdsRepositories(unit.kind) ? { bytes: objectBytes, ...nothing } : null,
  };
}

function walkThrough(request: WalkRequest, cache: Cache, pulse: Pulse): Walked | null {
  const { unit, quarantines = [], measure, hasOwnTimes = true } = request;
  const { objectsAt = `${unit.path}/objects` } = request;
  const identity = identityAt(unit.path);
  if (identity === null) return null;
  const objectsIdentity = identityAt(objectsAt);
  const isRepository = holdsRepositories(unit.kind);
  const before = isRepository ? quarantinesOf(unit.path, quarantines, measure, objectsAt) : noQuarantines;
  const startedAt = Date.now();
  const endSigns = isRepository ? watchSigns(unit.path, startedAt, hasOwnTimes, objectsAt) : null;
  const state = new Walk(request, isRepository, startedAt, pulse);
  takeSteps(state);
  // If the unit was removed or unmounted meanwhile, the walk saw only a part of it.
  const isSame = identityAt(unit.path) === identity && identityAt(objectsAt) === objectsIdentity;
  if (!isSame) return null;
  const leftovers = countLeftovers(state);
  const bytes = state.unreadCount === 0 ? state.bytes : Math.max(state.bytes, request.knownBytes ?? 0);
  const isExact = Number.isSafeInteger(bytes);
  const objects = endSigns && {
    bytes: state.objectBytes + (state.areObjectsUnread ? bytes - state.bytes : 0),
    signs: endSigns(state.isRepacked),
    before,
    after: quarantinesOf(unit.path, quarantines, measure, objectsAt),
  };
  const { files, directories } = state;
  const objectBytes = objects?.bytes ?? 0;
  // The signature itself notices directories that changed just before.
  const isQuiet = objects === null || !showWork(objects.signs);
  const isSettled = isExact && state.unreadCount === 0 && isQuiet;
  const signature = isSettled ? state.signature.finish({ bytes, files, directories, objectBytes }) : null;
  if (signature !== null) cache.writeSignature(unit.path, signature);
  return {
    outcome: isExact ? 'measured' : 'too large',
    bytes: isExact ? bytes : 0,
    files,
    directories,
    partial: state.unreadCount > 0,
    unread: { first: state.unread, count: state.unreadCount },
    leftovers: { first: leftovers.slice(0, mostListed), count: leftovers.length },
    objects,
  };
}

/** Takes all steps. A thread that is ended meanwhile loses the descriptors that it holds. */
function takeSteps(state: Walk): void {
  try {
    for (let step = state.steps.pop(); step !== undefined; step = state.steps.pop()) {
      if (typeof step === 'number') closeSync(step);
      else takeStep(state, step);
    }
    state.pulse();
  } finally {
    for (const step of state.steps) if (typeof step === 'number') closeSync(step);
  }
}

function takeStep(state: Walk, place: Place): void {
  state.pulse();
  state.directories += 1;
  const { entries } = state;
  try {
    visit(state, place);
  } catch (error) {
    const code = systemCode(error);
    // One vanished entry can make a later piece of a listing fail, though the directory is there.
    if (code === 'ENOENT' && state.entries > entries && directoryStatus(place.path) !== null)
      addUnreadPlace(state, place, code, place.role);
    else addUnread(state, place, error);
  }
}

function visit(state: Walk, place: Place): void {
  let { path } = place;
  if (!path.startsWith(held)) beforeLook(path);
  let stats: Stats | undefined;
  if (path.length > longestPath && process.platform === 'linux') {
    const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
    const directoryHeld = openSync(encodePath(path), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    // Steps that are added later lie inside, and are taken before this descriptor is closed.
    state.steps.push(directoryHeld);
    path = `${held}${directoryHeld}`;
    stats = fstatSync(directoryHeld);
    state.signature.doubt();
  } else {
    stats = lstatSync(encodePath(path), { throwIfNoEntry: false });
    if (stats !== undefined && !place.isUnsigned)
      place.signed = state.signature.addDirectory(place.parent?.signed ?? -1, place.name, stats);
  }
  // It is gone, or a link has taken its place.
  if (stats?.isDirectory() !== true) {
    state.signature.doubt();
    return;
  }
  // The length of a directory means something else on each file system; its blocks hold its names.
  if (state.request.measure === 'allocated') addBytes(state, place.role, measuredBytes(stats, 'allocated'));
  read(state, place, path, stats.size);
}

/** Counts the files of a directory, and adds its directories to the steps. */
function read(state: Walk, place: Place, path: string, sizeBytes: number): void {
  const stepsBefore = state.steps.length;
  for (const entry of list(path, sizeBytes)) {
    state.entries += 1;
    if (state.entries % entriesPerPulse === 0) state.pulse();
    const { name } = entry;
    const child = path === '/' ? `/${name}` : `${path}/${name}`;
    try {
      if (entry.isFile()) countFile(state, place, name, encodePath(child));
      else if (entry.isDirectory()) enter(state, place, name, child);
      else if (entry.isSymbolicLink() && roleOf(place.role, name) === 'objects')
        enterObjects(state, place, name);
    } catch (error) {
      if (!isSearchable(path)) {
        // The directory can be listed, but no status in it can be read.
        state.steps.length = stepsBefore;
        throw error;
      }
      addUnread(state, place, error, name);
    }
  }
}

function addBytes(state: Walk, role: Role, bytes: number): void {
  state.bytes += bytes;
  if (isOfObjects(role)) state.objectBytes += bytes;
}

/** Adds a directory to the steps, unless it does not count. */
function enter(state: Walk, at: Place, name: string, path: string): void {
  if (state.request.exclude.has(name)) return;
  const inner = at.inner.get(name);
  if (inner?.size === 0) return;
  if (at.role === 'objects' && isQuarantine(name)) {
    // A quarantine counts for its push: see `quarantine.ts`.
    state.signature.doubt();
    return;
  }
  const role = roleOf(at.role, name);
  const isUnsigned = at.isUnsigned || role === 'loose' || role === 'settings';
  state.steps.push({ parent: at, name, path, role, isUnsigned, inner: inner ?? noNames, signed: -1 });
}

/** Handles a link in place of a repository's `objects`. */
function enterObjects(state: Walk, at: Place, name: string): void {
  const { objectsAt } = state.request;
  if (objectsAt === undefined) addUnreadPlace(state, at, notFollowed, 'objects', name);
  else if (entryAt(objectsAt) !== 'directory') addUnreadPlace(state, at, 'ENOENT', 'objects', name);
  else enter(state, at, name, objectsAt);
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

function countFile(state: Walk, place: Place, name: string, location: string | Buffer): void {
  const { role } = place;
  const stats = lstatSync(location, { throwIfNoEntry: false });
  if (stats === undefined || !stats.isFile()) return;
  state.signature.addFile(stats.ctimeMs);
  const bytes = measuredBytes(stats, state.request.measure);
  if (role === 'pack') state.isRepacked ||= showsRepack(name, stats.mtimeMs, state.now);
  if (role === 'pack' && isUnfinishedPack(name)) {
    state.signature.doubt();
    state.unfinished.push({ path: pathOf(state, place, name), bytes, modifiedAt: stats.mtimeMs });
    return;
  }
  if (stats.nlink > 1) {
    const file = fileOf(location, stats);
    if (state.seenFiles.has(file)) return;
    state.seenFiles.add(file);
  }
  addBytes(state, role, bytes);
  state.files += 1;
}

/**
 * Counts the unfinished files of `objects/pack` that were left behind, and returns them. One repack writes
 * several, so all are as young as the youngest.
 */
function countLeftovers(state: Walk): readonly Leftover[] {
  const { unfinished, now } = state;
  if (unfinished.some(({ modifiedAt }) => isYoung(modifiedAt, now))) return [];
  for (const { bytes } of unfinished) addBytes(state, 'pack', bytes);
  state.files += unfinished.length;
  return unfinished;
}

/** Device and inode, exact beyond 2^53 too. */
function fileOf(location: string | Buffer, stats: Stats): string {
  if (Number.isSafeInteger(stats.ino) && Number.isSafeInteger(stats.dev)) return `${stats.dev}:${stats.ino}`;
  const exact = lstatSync(location, { bigint: true });
  return `${exact.dev}:${exact.ino}`;
}

/** Records a place that cannot be read, unless it has vanished. */
function addUnread(state: Walk, place: Place, error: unknown, name?: string): void {
  const code = systemCode(error);
  if (code === null) throw error;
  if (code !== 'ENOENT' && code !== 'ENOTDIR') addUnreadPlace(state, place, code, place.role, name);
}

function addUnreadPlace(state: Walk, place: Place, code: string, role: Role, name?: string): void {
  state.unreadCount += 1;
  if (state.unread.length < mostListed) state.unread.push({ path: pathOf(state, place, name), error: code });
  state.areObjectsUnread ||= isOfObjects(role);
}

/** Returns the path of a directory or of a name in it; `place.path` may lead through a descriptor instead. */
function pathOf(state: Walk, place: Place, name?: string): string {
  const names = name === undefined ? [] : [name];
  for (let at = place; at.parent !== null; at = at.parent) names.push(at.name);
  return [state.request.unit.path, ...names.reverse()].join('/');
}
